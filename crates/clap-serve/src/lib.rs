//! Serves any clap command line as MCP tools.
//!
//! Every command becomes a tool, with a flat schema generated from clap's definition: types, ranges, choices,
//! defaults and conflicts. Only commands that declare that they read are offered, unless the user of the
//! program allows more. A call runs the program itself, without a shell, or a handler in the serving process
//! with a typed result.
//!
//! ```no_run
//! use clap::{CommandFactory, Parser};
//! use clap_serve::{CommandExt, Effect, Options};
//! use std::process::ExitCode;
//!
//! /// Keeps notes
//! #[derive(Parser)]
//! #[command(version, after_help = clap_serve::HELP)]
//! enum Cli {
//!     /// Lists the notes
//!     #[command(effect = Effect::Read)]
//!     List,
//!     /// Removes a note
//!     #[command(effect = Effect::Destructive)]
//!     Remove { name: String },
//! }
//!
//! fn main() -> ExitCode {
//!     if let Some(code) = clap_serve::serve_if_asked(Cli::command(), Options::new()) {
//!         return code;
//!     }
//!     match Cli::parse() {
//!         Cli::List => { /* … */ }
//!         Cli::Remove { name } => drop(name),
//!     }
//!     ExitCode::SUCCESS
//! }
//! ```
//!
//! `notes --serve` is then a server at `http://127.0.0.1:8088/mcp`, and `notes --serve=stdio` one for clients
//! that start it themselves. A call passes through:
//!
//! 1. `tree`: reads, once at the start, the commands that the [`Policy`] offers, with their arguments;
//! 2. `call`: validates the arguments, writes them as an argv and lets clap parse it, which verifies that no
//!    value became a flag or another command;
//! 3. [`program`]: runs the program within limits; or a handler of [`Options::handler`] runs;
//! 4. [`mcp_serve`]: sends the result over the client's transport.
//!
//! A call of a tool that is not offered fails as if the tool did not exist.

mod call;
mod effect;
mod error;
mod glob;
mod handler;
mod help;
pub mod manifests;
mod options;
mod policy;
pub mod program;
mod serve;
mod tools;
mod tree;

pub use mcp_serve;

pub use crate::{
    effect::{CommandExt, Effect},
    error::Error,
    handler::Invocation,
    options::{Options, Transport},
    policy::{Allow, Pattern, Policy},
    serve::{HELP, options_from_args, serve, serve_if_asked, serve_to_end},
    tools::Tools,
};

/// The guide's code is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/clap-serve.md")]
struct Guide;
