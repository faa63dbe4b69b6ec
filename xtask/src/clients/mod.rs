//! `cargo xtask clients`: the clients that agents really have, against the product.
//!
//! ```text
//! 1  stage       a network with rows for HTTP, and a folder with the same rows for stdio
//! 2  python      both lines of the official Python package, on every transport
//! 3  typescript  both lines of the official TypeScript packages, on every transport
//! 4  inspector   the Inspector, as a command
//! 5  frameworks  openai-agents, langchain-mcp-adapters, fastmcp, google-genai and pydantic-ai: whether each
//!               loads every tool, and a call
//! 6  conformance what of MCP's own suite needs no fixtures
//! ```
//!
//! What an agent does with them is in `xtask/clients`: discover, query, page, export, watch, stream,
//! cancel, be wrong, and find a tool that was not there before.

mod inspector;
mod python;
mod rows;
mod stage;
mod typescript;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use self::stage::{Stage, Transport};
use crate::{cargo, conformance, install, interrupt};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these clients
    #[arg(value_name = "CLIENTS")]
    clients: Vec<String>,
    /// Only this transport
    #[arg(long, value_enum)]
    transport: Option<Transport>,
    /// Drive this program instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// A client, and how it is driven over a transport.
struct Client {
    name: &'static str,
    transports: &'static [Transport],
    drive: fn(&Stage, Transport) -> Result<()>,
}

const ALL: &[Transport] = &[Transport::Stdio, Transport::Remote, Transport::Http, Transport::Sse];

/// What only looks at the list of tools, and at a call, needs no more than one way in and one out.
const FEW: &[Transport] = &[Transport::Stdio, Transport::Http];

const CLIENTS: &[Client] = &[
    Client { name: "python1", transports: ALL, drive: python::first },
    Client { name: "python2", transports: ALL, drive: python::second },
    Client { name: "frames", transports: &[Transport::Http], drive: python::frames },
    Client { name: "typescript1", transports: ALL, drive: typescript::first },
    Client { name: "typescript2", transports: ALL, drive: typescript::second },
    Client { name: "inspector", transports: ALL, drive: inspector::drive },
    Client { name: "frameworks1", transports: FEW, drive: python::first_frameworks },
    Client { name: "frameworks2", transports: FEW, drive: python::second_frameworks },
    Client { name: "conformance", transports: &[Transport::Http], drive: conform },
];

/// What of MCP's own suite needs no fixtures.
fn conform(stage: &Stage, transport: Transport) -> Result<()> {
    conformance::plain(&stage.url(transport))
}

pub(crate) fn run(args: &Args) -> Result<()> {
    for name in &args.clients {
        if !CLIENTS.iter().any(|client| client.name == name) {
            let names: Vec<_> = CLIENTS.iter().map(|client| client.name).collect();
            bail!("no client \"{name}\", only {}", names.join(", "));
        }
    }
    for tool in [install::NPM, install::PYTHON] {
        install::ensure(&tool)?;
    }
    let binary = match &args.binary {
        Some(binary) => std::path::absolute(binary)?,
        None => cargo::build_dev()?,
    };
    let is_wanted = |client: &&Client| {
        args.clients.is_empty() || args.clients.iter().any(|name| name == client.name)
    };
    let clients: Vec<_> = CLIENTS.iter().filter(is_wanted).collect();
    drive(&binary, &clients, args.transport)
}

/// What `cargo xtask test` runs.
pub(crate) fn run_all() -> Result<()> {
    run(&Args { clients: Vec::new(), transport: None, binary: None })
}

fn drive(binary: &Path, clients: &[&Client], only: Option<Transport>) -> Result<()> {
    interrupt::watch()?;
    let stage = Stage::start(binary)?;
    let mut driven = 0;
    for client in clients {
        let wanted = |transport: &&Transport| only.is_none_or(|only| only == **transport);
        for &transport in client.transports.iter().filter(wanted) {
            interrupt::check()?;
            println!("-- {} over {}", client.name, transport.name());
            (client.drive)(&stage, transport)?;
            driven += 1;
        }
    }
    println!("{driven} walks with {} clients", clients.len());
    Ok(())
}

/// Runs a script that says itself what it checks.
fn script(command: &mut Command) -> Result<()> {
    let status = command.status().context("the script does not run")?;
    if !status.success() {
        bail!("a check failed: see above");
    }
    Ok(())
}
