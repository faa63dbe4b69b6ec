//! What agents wait for: a node's MCP server, and beside it those of others with the same table, in the
//! same run.
//!
//! ```text
//! 1  sensors  the table: 100,000 rows of 50 devices
//! 2  client   a client that costs little and understands every server
//! 3  measure  calls one after the other, from one client or from sixteen
//! 4  figures  the same questions to every server
//! 5  peers    the servers of others, with `--peers DIR`
//! 6  link     a result of many rows through the link that an answer gives
//! ```

mod client;
mod figures;
mod link;
mod measure;
mod peers;
mod sensors;

use std::{
    ffi::OsString,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use serde_json::json;
use tempfile::TempDir;

use self::{
    client::Client,
    figures::{Calls, Figures, STARTS, Server},
    measure::Call,
    peers::PEERS,
};
use super::{Args, SPEC, row};
use crate::node::{Joining, Node, Plan};

/// The same tools that the peers have.
const TOOLS: &str = include_str!("tools.yaml");

pub(super) fn run(binary: &Path, args: &Args) -> Result<()> {
    let csv = sensors::csv(args.peers.as_deref())?;
    let ours = Ours::start(binary, &csv)?;
    Figures::take(&ours.server, args.seconds)?.tell();
    link::run(binary, args)?;
    let Some(folder) = &args.peers else { return Ok(()) };
    let folder = std::path::absolute(folder)?;
    for peer in PEERS {
        // One that does not run on this machine does not stop the others.
        let figures = peer.start(&folder).and_then(|(running, server)| {
            let figures = Figures::take(&server, args.seconds);
            drop(running);
            figures
        });
        match figures {
            // A machine is not equally fast at all times: ours are taken again, just after theirs.
            Ok(figures) => {
                figures.tell_beside(&Figures::take(&ours.server, args.seconds)?, peer.name);
            }
            Err(error) => row(peer.name, &format!("not measured: {error:#}")),
        }
    }
    Ok(())
}

/// Our own server, with the same rows.
struct Ours {
    server: Server,
    _node: Node,
    _tools: TempDir,
}

impl Ours {
    fn start(binary: &Path, csv: &str) -> Result<Self> {
        let mut starts = Vec::new();
        while starts.len() < STARTS {
            let (node, time) = start(binary, None)?;
            starts.push(time);
            if starts.len() == STARTS {
                let memory = figures::idle_memory(node.pid());
                row("idle memory, with the tools that come with it", &memory.to_string());
            }
        }
        let folder = TempDir::new()?;
        let tools = folder.path().join("tools.yaml");
        fs::write(&tools, TOOLS)?;
        let (node, _) = start(binary, Some(tools.into()))?;
        sensors::load(node.bound.http, csv)?;
        // What coming in took is not what a node takes that only answers.
        let node = node.restart(binary)?;
        let (address, pid) = (node.bound.http, node.pid());
        let server = Server { address, pid, starts, calls: calls() };
        Ok(Self { server, _node: node, _tools: folder })
    }
}

/// Starts a node, and says after what time it listed its tools.
fn start(binary: &Path, tools: Option<OsString>) -> Result<(Node, Duration)> {
    let begin = Instant::now();
    let node = Node::run(binary, Plan { spec: SPEC, joining: Joining::First, tools })?;
    Client::open(node.bound.http)?.tools().context("the node lists no tools")?;
    Ok((node, begin.elapsed()))
}

fn calls() -> Calls {
    let call = |tool, arguments| Call { tool, arguments };
    Calls {
        simplest: Some(call("status", json!({}))),
        ping: call("ping", json!({})),
        group: call("by_device", json!({})),
        rows: call("first_rows", json!({ "n": 10_000 })),
    }
}
