//! Serves a catalog of tools, resources and prompts to every MCP client.

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
