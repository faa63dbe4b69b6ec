//! An MCP server: serves a catalog of tools, resources and prompts to every MCP client.
//!
//! A host builds a [`Catalog`] and publishes it. Clients connect over stdio, Streamable HTTP and HTTP+SSE,
//! with every protocol revision from 2024-11-05 to 2026-07-28. The host can publish another catalog at any
//! time: connected clients are notified of the lists that differ.
//!
//! ```
//! use mcp_serve::{AllowedOrigins, Call, Catalog, Identity, Limits, Outcome, Server, Tool};
//!
//! # async fn example() -> std::io::Result<()> {
//! let server = Server::new(Identity::new("greeter", "1.0"), Limits::default());
//! let hello = Tool::new("hello", "Greets the caller").read_only();
//! server.publish(Catalog::new().tool(hello, |call: Call| async move {
//!     Ok(Outcome::text(format!("Hello, {}!", call.principal)))
//! }));
//!
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
//! mcp_serve::serve_http(&server, listener, server.router(AllowedOrigins::loopback())).await
//! # }
//! ```
//!
//! For stdio replace the last two lines by `server.serve_stdio().await`. A host with a listener of its own
//! merges [`Server::router`] into its routes and sets `TCP_NODELAY` on accepted connections.
//!
//! # Overview
//!
//! | to | use |
//! |---|---|
//! | add a tool | [`Catalog::tool`]: a [`Tool`], and a closure or a [`CallTool`] |
//! | return a result | [`Outcome`]; an error for the model is an [`Outcome::error`], not a [`Fault`] |
//! | report progress | [`Context::progress`], with backpressure |
//! | stop cancelled work | nothing: the future is dropped; or [`Context::cancelled`] |
//! | request input from the user or the model | `Context::request_input` (feature `elicitation`) |
//! | run long calls | `Context::become_task` and [`Tool::tasks`] (feature `tasks`) |
//! | add resources | [`Catalog::resources`]: a [`Resources`] |
//! | serve a subset of the tools | [`Catalog::toolset`], at `/mcp/<toolset>` |
//! | add other names for a tool | [`Catalog::alias`]; [`Catalog::missing`] handles unknown names |
//! | identify callers | a [`Principal`] in the request's extensions, from the host's middleware |
//! | monitor the server | [`Server::sessions`], [`Server::metrics`] |
//!
//! # Guarantees
//!
//! - **Clients are independent.** Each request has its own stream. A slow client delays only its own calls,
//!   and a client that stops reading is disconnected after [`Limits::unread_time_max`].
//! - **Everything is limited** by [`Limits`]: messages, results, calls, sessions, tasks, unread messages.
//!   A refusal says when to try again.
//! - **Principals are isolated.** Sessions, tasks, cursors and input of one do not exist for another. Their
//!   ids are random and never logged.
//! - **Foreign pages and hosts are refused** on every route: see [`AllowedOrigins`].
//! - **Work ends with its caller.** A call ends when it is cancelled, its client disconnects or its time is
//!   over, and [`Context::cancellation`] stops what it started elsewhere.
//!
//! Arguments are not validated against a tool's schema: the tool can explain an error better. The crate
//! knows nothing of what tools do, of permissions, or of files that describe tools.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `elicitation` | requests for input during a call: forms, URLs, sampling, roots |
//! | `tasks` | calls that outlive their request (`io.modelcontextprotocol/tasks`); implies `elicitation` |

mod call;
mod catalog;
mod client;
mod complete;
mod content;
#[cfg(feature = "elicitation")]
mod elicitation;
mod fault;
mod handler;
mod host;
mod http;
mod identity;
mod limits;
mod listen;
mod metrics;
mod notifier;
mod origin;
mod outcome;
mod principal;
mod prompt;
mod published;
mod quota;
mod resource;
mod server;
mod session;
mod state;
mod stdio;
#[cfg_attr(not(feature = "tasks"), path = "no_tasks.rs")]
mod tasks;
mod tool;
mod wire;

pub use futures_util::future::BoxFuture;

#[cfg(feature = "elicitation")]
pub use crate::elicitation::{InputRequest, InputResponse};
pub use crate::{
    call::{Call, Client, Context, Level},
    catalog::Catalog,
    complete::{Complete, Completion, CompletionRequest, Reference},
    content::{Body, Content, Link, ResourceContent},
    fault::Fault,
    host::{Host, OriginError},
    identity::{Icon, Identity, Theme},
    limits::Limits,
    listen::serve_http,
    metrics::{Metrics, SessionInfo, Transport},
    origin::AllowedOrigins,
    outcome::Outcome,
    principal::Principal,
    prompt::{GetPrompt, Message, Prompt, PromptArgument, PromptCall, PromptText, Role},
    resource::{ResourceTemplate, Resources},
    server::Server,
    tool::{Annotations, CallTool, TaskSupport, Tool},
};

/// The guide's code is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/mcp-serve.md")]
struct Guide;
