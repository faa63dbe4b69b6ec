//! The project's own chores: `cargo xtask CHORE`.
//!
//! One file per chore. Nothing here is shipped, and the chores link none of the product's crates:
//! they build it and run it from outside, as a user would.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to the person who runs it"
)]

mod bench;
mod cargo;
mod clients;
mod conformance;
mod docs;
mod fuzz;
mod golem;
mod guides;
mod http;
mod install;
mod interrupt;
mod node;
mod packages;
mod replay;
mod test;
mod torture;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

/// The project's own chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Chore {
    /// Run everything that a change must pass
    Test(test::Args),
    /// Replay EdgeLake's captured exchanges and compare the answers
    Replay(replay::Args),
    /// Ask again what agents asked EdgeLake's MCP servers, and compare the answers
    ReplayMcp(replay::mcp::Args),
    /// Drive the product with the clients that agents have
    Clients(clients::Args),
    /// Write the reference pages that are made from the code
    Docs(docs::Args),
    /// Measure a node: latency, throughput, memory, start
    Bench(bench::Args),
    /// Run the official conformance suite of MCP
    Conformance(conformance::Args),
    /// Drive the golem-shaped example of clap-serve with curl and the official clients
    Golem(golem::Args),
    /// Follow README.md and the guides as they are written, and check what is printed
    Guides(guides::Args),
    /// Feed random input to everything that reads bytes from outside
    Fuzz(fuzz::Args),
    /// Torment real nodes, and check every answer against a model
    Torture(torture::Args),
}

fn main() -> ExitCode {
    match run(Chore::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> Result<()> {
    match chore {
        Chore::Test(args) => test::run(&args),
        Chore::Replay(args) => replay::run(&args),
        Chore::ReplayMcp(args) => replay::mcp::run(&args),
        Chore::Clients(args) => clients::run(&args),
        Chore::Docs(args) => docs::run(&args),
        Chore::Bench(args) => bench::run(&args),
        Chore::Conformance(args) => conformance::run(&args),
        Chore::Golem(args) => golem::run(&args),
        Chore::Guides(args) => guides::run(&args),
        Chore::Fuzz(args) => fuzz::run(&args),
        Chore::Torture(args) => torture::run(&args),
    }
}
