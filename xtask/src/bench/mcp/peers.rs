//! The servers that agents have beside us, started in a folder that `xtask/bench/peers/peers.sh DIR
//! setup` has made.

use std::{
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{
    client::Client,
    figures::{Calls, STARTS, Server},
    measure::Call,
};
use crate::{cargo, interrupt};

/// Where the PostgreSQL of some of them is.
const POSTGRES: u16 = 54390;
/// How long a server may take until it lists its tools.
const START_MAX: Duration = Duration::from_secs(60);
/// How often it is asked.
const POLL: Duration = Duration::from_millis(4);

const GROUP: &str = "SELECT device, count(*) AS n, avg(value) AS avg, min(value) AS min, \
                     max(value) AS max FROM {t} GROUP BY device ORDER BY device";
const ROWS: &str = "SELECT ts, device, value FROM {t} ORDER BY ts LIMIT 10000";

/// A server, and its tools that do what ours do.
pub(super) struct Peer {
    pub(super) name: &'static str,
    /// What `peers.sh` calls it.
    start: &'static str,
    port: u16,
    needs_postgres: bool,
    tools: Tools,
}

/// How its tools are called.
enum Tools {
    /// One tool for each question, with a name that begins so.
    Own(&'static str),
    /// One tool for all SQL, the argument that has it, and the table.
    Sql(&'static str, &'static str, &'static str),
}

pub(super) const PEERS: &[Peer] = &[
    Peer {
        name: "MCP Toolbox (PostgreSQL)",
        start: "toolbox",
        port: 5400,
        needs_postgres: true,
        tools: Tools::Own("pg"),
    },
    Peer {
        name: "MCP Toolbox (SQLite)",
        start: "toolbox",
        port: 5400,
        needs_postgres: true,
        tools: Tools::Own("lite"),
    },
    Peer {
        name: "DBHub (PostgreSQL)",
        start: "dbhub",
        port: 5410,
        needs_postgres: true,
        tools: Tools::Own("pg"),
    },
    Peer {
        name: "DBHub (SQLite)",
        start: "dbhub",
        port: 5410,
        needs_postgres: true,
        tools: Tools::Own("lite"),
    },
    Peer {
        name: "mcp-server-motherduck (DuckDB)",
        start: "motherduck",
        port: 5420,
        needs_postgres: false,
        tools: Tools::Sql("execute_query", "sql", "sensors"),
    },
    Peer {
        name: "mcp-clickhouse (chDB)",
        start: "clickhouse",
        port: 5440,
        needs_postgres: false,
        tools: Tools::Sql("run_chdb_select_query", "query", "iot.sensors"),
    },
];

impl Peer {
    /// Starts it some times, and leaves the last one running.
    pub(super) fn start(&self, folder: &Path) -> Result<(Running, Server)> {
        if self.needs_postgres && TcpStream::connect(local(POSTGRES)).is_err() {
            start_postgres(folder)?;
        }
        let mut times = Vec::new();
        loop {
            let (running, time) = self.start_once(folder)?;
            times.push(time);
            if times.len() == STARTS {
                let (address, pid) = (local(self.port), running.0.id());
                return Ok((running, Server { address, pid, starts: times, calls: self.calls() }));
            }
        }
    }

    fn start_once(&self, folder: &Path) -> Result<(Running, Duration)> {
        let begin = Instant::now();
        let child = script(folder, self.start).spawn().context("peers.sh does not run")?;
        let mut running = Running(child);
        while begin.elapsed() < START_MAX {
            interrupt::check()?;
            let tools = Client::open(local(self.port)).and_then(|mut client| client.tools());
            if tools.is_ok() {
                return Ok((running, begin.elapsed()));
            }
            if let Some(status) = running.0.try_wait()? {
                bail!("it ended with {status}");
            }
            thread::sleep(POLL);
        }
        bail!("it was not ready after {} s", START_MAX.as_secs())
    }

    fn calls(&self) -> Calls {
        let call = |tool: &'static str, arguments: Value| Call { tool, arguments };
        match self.tools {
            Tools::Own("pg") => Calls {
                simplest: None,
                ping: call("pg_ping", json!({})),
                group: call("pg_agg", json!({})),
                rows: call("pg_rows", json!({ "n": 10_000 })),
            },
            Tools::Own(_) => Calls {
                simplest: None,
                ping: call("lite_ping", json!({})),
                group: call("lite_agg", json!({})),
                rows: call("lite_rows", json!({ "n": 10_000 })),
            },
            Tools::Sql(tool, argument, table) => {
                let ask = |sql: &str| call(tool, json!({ argument: sql.replace("{t}", table) }));
                Calls {
                    simplest: None,
                    ping: ask("SELECT 1 AS one"),
                    group: ask(GROUP),
                    rows: ask(ROWS),
                }
            }
        }
    }
}

/// A server that ends when it is dropped.
pub(super) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // The id of a process that has ended may already be another's.
        if matches!(self.0.try_wait(), Ok(Some(_))) {
            return;
        }
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(5) {
            if matches!(self.0.try_wait(), Ok(Some(_))) {
                return;
            }
            thread::sleep(POLL);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// It stays, as the data of the peers does.
fn start_postgres(folder: &Path) -> Result<()> {
    let status = script(folder, "postgres").status().context("peers.sh does not run")?;
    if !status.success() {
        bail!("PostgreSQL does not start: {status}");
    }
    Ok(())
}

fn script(folder: &Path, name: &str) -> Command {
    let mut command = Command::new(cargo::root().join("xtask/bench/peers/peers.sh"));
    command.arg(folder).args(["start", name]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}
