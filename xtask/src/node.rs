//! A real node as a child process, in a folder of its own, on ports of its own.
//!
//! It ends when it is dropped, so no way out of a chore leaves one behind.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use tempfile::TempDir;

use crate::interrupt;

/// How long a node may take until it writes `node.json`.
const START_MAX: Duration = Duration::from_secs(20);
/// How long a node may take to end by itself before it is killed.
const STOP_MAX: Duration = Duration::from_secs(5);
/// How often a node is looked at while it starts or ends.
const POLL: Duration = Duration::from_millis(2);
/// How much of a node's log is reported when it does not start.
const LOG_LINES_MAX: usize = 20;

/// The company of all nodes: who has another is another node.
pub(crate) const COMPANY: &str = "New Company";

/// What a node is started as.
#[derive(Clone, Copy)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) role: &'static str,
}

/// Which network a node is of.
#[derive(Clone, Copy)]
pub(crate) enum Joining {
    /// None: it stands alone, and tells nobody of itself.
    Alone,
    /// One of its own, which others may join.
    First,
    /// That of a master at an address.
    Master(SocketAddr),
}

/// How a node is started.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) spec: Spec,
    pub(crate) joining: Joining,
    /// The tools that agents have: a file, or the name of those that come with the program.
    pub(crate) tools: Option<OsString>,
}

/// The addresses a node has bound, as it writes them to `node.json` when it is ready.
#[derive(Clone, Copy, Deserialize)]
pub(crate) struct Bound {
    pub(crate) http: SocketAddr,
    pub(crate) network: SocketAddr,
}

/// A running node.
pub(crate) struct Node {
    pub(crate) bound: Bound,
    /// From the start of the process until `node.json` was there.
    pub(crate) started_in: Duration,
    plan: Plan,
    child: Child,
    folder: TempDir,
}

impl Node {
    /// Starts a node in a folder of its own, and waits until it is ready.
    pub(crate) fn start(binary: &Path, spec: Spec) -> Result<Self> {
        Self::join(binary, spec, Joining::Alone)
    }

    /// The same for a node of a network.
    pub(crate) fn join(binary: &Path, spec: Spec, joining: Joining) -> Result<Self> {
        Self::run(binary, Plan { spec, joining, tools: None })
    }

    /// The same with all that can be said.
    pub(crate) fn run(binary: &Path, plan: Plan) -> Result<Self> {
        Self::start_in(binary, plan, empty_folder()?)
    }

    fn start_in(binary: &Path, plan: Plan, folder: TempDir) -> Result<Self> {
        let begin = Instant::now();
        let mut child = spawn(binary, &plan, folder.path())?;
        match ready(&mut child, folder.path(), begin) {
            Ok(bound) => {
                let started_in = begin.elapsed();
                Ok(Self { bound, started_in, plan, child, folder })
            }
            Err(error) => {
                stop(&mut child);
                let log = log_tail(folder.path());
                Err(error.context(format!("node \"{}\" did not start{log}", plan.spec.name)))
            }
        }
    }

    /// Ends the node and starts it again with the same data.
    pub(crate) fn restart(self, binary: &Path) -> Result<Self> {
        let plan = self.plan.clone();
        Self::start_in(binary, plan, self.end()?)
    }

    /// Ends the node, and gives its folder, in which `data` is that of its data.
    pub(crate) fn end(mut self) -> Result<TempDir> {
        stop(&mut self.child);
        let folder = std::mem::replace(&mut self.folder, empty_folder()?);
        // What it wrote when it was ready must not be taken for what is written next.
        let _ = fs::remove_file(folder.path().join("data").join("node.json"));
        Ok(folder)
    }

    /// The folder of the node's data.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.bound.http)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        stop(&mut self.child);
    }
}

fn empty_folder() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("edgemere-xtask-").tempdir()
}

fn spawn(binary: &Path, plan: &Plan, folder: &Path) -> Result<Child> {
    let Plan { spec, joining, tools } = plan;
    let log = File::create(folder.join("node.log"))?;
    // Neither the person's settings nor those of a project around may change a run.
    File::create(folder.join("edgemere.toml"))?;
    let mut command = Command::new(binary);
    command
        .args(["node", "--name", spec.name, "--role", spec.role, "--data"])
        .arg(folder.join("data"))
        .args(["--http", "127.0.0.1:0", "--network", "127.0.0.1:0"])
        .args(["--company", COMPANY])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    match joining {
        Joining::Alone => command.args(["--register", "false"]),
        Joining::First => &mut command,
        Joining::Master(address) => {
            let cluster = format!("cluster of {}", spec.name);
            command.args(["--master", &address.to_string(), "--cluster", &cluster])
        }
    };
    if let Some(tools) = tools {
        command.arg("--tools").arg(tools);
    }
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("EDGEMERE_") {
            command.env_remove(name);
        }
    }
    command.spawn().with_context(|| format!("cannot start \"{}\"", binary.display()))
}

fn ready(child: &mut Child, folder: &Path, begin: Instant) -> Result<Bound> {
    let file = folder.join("data").join("node.json");
    while begin.elapsed() < START_MAX {
        interrupt::check()?;
        // A file that does not parse is one that is still being written.
        if let Some(bound) = read_bound(&file) {
            return Ok(bound);
        }
        if let Some(status) = child.try_wait()? {
            bail!("it ended with {status}");
        }
        thread::sleep(POLL);
    }
    bail!("it was not ready after {} s", START_MAX.as_secs())
}

fn read_bound(file: &Path) -> Option<Bound> {
    serde_json::from_str(&fs::read_to_string(file).ok()?).ok()
}

/// Asks a process to end, and kills it when it does not.
fn stop(child: &mut Child) {
    // The id of a process that has ended may already be another's.
    if matches!(child.try_wait(), Ok(Some(_))) {
        return;
    }
    let asked = Pid::from_child(child);
    if kill_process(asked, Signal::TERM).is_ok() && ended(child).is_ok() {
        return;
    }
    // It may have ended by itself meanwhile: then there is nothing left to kill.
    let _ = child.kill();
    let _ = child.wait();
}

fn ended(child: &mut Child) -> io::Result<ExitStatus> {
    let begin = Instant::now();
    while begin.elapsed() < STOP_MAX {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(POLL);
    }
    Err(io::ErrorKind::TimedOut.into())
}

fn log_tail(folder: &Path) -> String {
    let log = fs::read_to_string(folder.join("node.log")).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    let tail = lines.iter().skip(lines.len().saturating_sub(LOG_LINES_MAX));
    tail.map(|line| format!("\n   | {line}")).collect()
}
