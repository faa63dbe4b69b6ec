//! The `edgemere` binary: flags and configuration, the running node, and the ways to talk to one.
//!
//! `cli` reads what is asked and does it; `server` is a running node; `client` asks one, and `remote`
//! has tools carried out by one. What goes wrong anywhere becomes a `failure`, which `terminal` tells and which decides the exit code.

mod backup;
mod cli;
mod client;
mod config;
mod failure;
mod logging;
mod remote;
mod server;
mod terminal;

use std::process::ExitCode;

use self::failure::Failure;

/// Answers are made of many small things that one thread makes and another one ends; this is what
/// DataFusion recommends too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(code) = cli::serve::if_asked() {
        return code;
    }
    cli::parse().run().unwrap_or_else(|error| {
        let failure = Failure::of(error);
        terminal::report(&failure);
        ExitCode::from(failure.kind.exit_code())
    })
}
