//! Serves a catalog of tools, resources and prompts to every MCP client.
//!
//! A host puts a [`Catalog`] together and offers it; clients reach it over stdio, Streamable HTTP and
//! HTTP+SSE, in every revision of the protocol from 2024-11-05 to 2026-07-28. The catalog can be
//! replaced while clients are connected: they are told which lists differ.
//!
//! ```
//! use mcp_serve::{Access, Call, Catalog, Identity, Limits, Outcome, Server, Tool};
//!
//! # async fn example() -> std::io::Result<()> {
//! let server = Server::new(Identity::new("greeter", "1.0"), Limits::default());
//! let hello = Tool::new("hello", "Greets whoever calls").read_only();
//! server.offer(Catalog::new().tool(hello, |call: Call| async move {
//!     Ok(Outcome::text(format!("Hello, {}!", call.principal)))
//! }));
//!
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
//! mcp_serve::serve_http(&server, listener, server.router(Access::loopback())).await
//! # }
//! ```
//!
//! For stdio the last two lines are `server.serve_stdio().await`. A host with a listener of its own
//! merges [`Server::router`] into its routes and sets `TCP_NODELAY` on what it accepts.
//!
//! # What there is
//!
//! | to | use |
//! |---|---|
//! | offer a tool | [`Catalog::tool`]: a [`Tool`], and a closure or a [`CallTool`] |
//! | answer | [`Outcome`]; what a model should read is an [`Outcome::error`], not a [`Fault`] |
//! | say how far it is | [`Context::progress`], which waits for who reads slowly |
//! | stop when nobody waits | nothing: the future is dropped; or [`Context::cancelled`] |
//! | ask the person or the model | [`Context::ask`], alike in all revisions |
//! | take long | [`Tool::tasks`]: the call becomes a task that the client comes back for |
//! | offer resources | [`Catalog::resources`]: a [`Resources`], asked when a client asks |
//! | offer some tools alone | [`Catalog::toolset`], at `/mcp/<toolset>` |
//! | let a tool have other names | [`Catalog::alias`]; and [`Catalog::missing`] for names of none |
//! | know who calls | a [`Principal`] among the request's extensions, put there by the host |
//! | see what goes on | [`Server::sessions`], [`Server::figures`] |
//!
//! # What holds
//!
//! - **Nobody waits for another.** Each request has its own stream; a reader that is slow makes its own
//!   call wait, and one that is gone is cut off after [`Limits::unread_time_max`].
//! - **Everything is bounded** by [`Limits`]: messages, results, calls, sessions, tasks, what waits to be
//!   read. Who wants more is told when to try again.
//! - **What is a principal's is nobody else's**: sessions, tasks, cursors and answers of one are, for
//!   all others, not there. Their ids are random and never logged.
//! - **Foreign pages and hosts are refused** on every route: see [`Access`].
//! - **No work for nobody.** Who cancels, goes away or takes too long ends the call, and what it
//!   began elsewhere learns of it by [`Context::cancellation`].
//!
//! Arguments are not checked against a tool's schema: the code behind it knows better what to tell
//! the model. What the crate does not know: what tools do, who may call them, how a file of them is
//! read.

mod access;
mod ask;
mod asking;
mod call;
mod catalog;
mod client;
mod complete;
mod content;
mod core;
mod fault;
mod figures;
mod handler;
mod host;
mod http;
mod hub;
mod identity;
mod limits;
mod listen;
mod lock;
mod offer;
mod outcome;
mod principal;
mod prompt;
mod quota;
mod resource;
mod server;
mod session;
mod stdio;
mod tasks;
mod tool;
mod wire;

pub use futures_util::future::BoxFuture;

pub use crate::{
    access::Access,
    ask::{Answer, Question},
    call::{Call, Client, Context, Level},
    catalog::Catalog,
    complete::{Complete, Completing, Completion, Reference},
    content::{Body, Content, Link, ResourceContent},
    fault::Fault,
    figures::{Figures, SessionInfo, Transport},
    host::{Foreign, Host},
    identity::{Icon, Identity, Theme},
    limits::Limits,
    listen::serve_http,
    outcome::Outcome,
    principal::Principal,
    prompt::{GetPrompt, Message, Prompt, PromptArgument, PromptCall, PromptText, Role},
    resource::{ResourceTemplate, Resources},
    server::Server,
    tool::{Annotations, CallTool, TaskSupport, Tool},
};
