//! One node of the demo: a process of this same program, its log in a file. It holds the end of a
//! pipe that is the node's stdin, and a node stops when that ends: when the demo closes it, and when
//! the demo is killed.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use edgemere_command::{Kind, Role};
use serde::Deserialize;

use crate::config::keys;
use crate::failure::Failure;
use crate::server;

/// How long a node has to get ready.
const START_MAX: Duration = Duration::from_secs(30);

/// How long a node has to stop. Open requests and services have less together.
const STOP_MAX: Duration = Duration::from_secs(20);

/// How often a node is looked at while it starts or stops.
const PAUSE: Duration = Duration::from_millis(5);

/// How many lines of a node's log are shown when it has ended.
const LOG_LINES_MAX: usize = 10;

/// How much is read of a node's log for that.
const LOG_BYTES_MAX: u64 = 16 << 10;

/// A node that was started; it is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) name: String,
    pub(super) role: Role,
    data: PathBuf,
    log: PathBuf,
    child: Child,
    /// The other end of the node's stdin, until it shall stop.
    lifeline: Option<ChildStdin>,
}

/// Where a node is, as it says itself.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Place {
    pub(super) http: SocketAddr,
    pub(super) network: SocketAddr,
}

impl Process {
    /// Starts a node in a folder, with these arguments beside its name, its role and its data.
    pub(super) fn start(
        folder: &Path,
        name: &str,
        role: Role,
        args: &[String],
    ) -> anyhow::Result<Self> {
        let (data, log) = (folder.join(name), folder.join(format!("{name}.log")));
        let file = File::create(&log);
        let file = file.with_context(|| format!("cannot create \"{}\"", log.display()))?;
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let mut command = Command::new(&program);
        command.arg("node").arg("--stop-with-stdin");
        command.args(["--name", name, "--role", role.name()]).arg("--data").arg(&data).args(args);
        command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(file);
        apart(&mut command);
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start \"{}\" for \"{name}\"", program.display()))?;
        let lifeline = child.stdin.take();
        Ok(Self { name: name.into(), role, data, log, child, lifeline })
    }

    /// Waits until the node is ready, and says where it is.
    pub(super) async fn ready(&mut self) -> anyhow::Result<Place> {
        let start = Instant::now();
        let file = server::node_file(&self.data);
        loop {
            // The file is whole whenever it is there.
            if let Ok(text) = std::fs::read_to_string(&file) {
                let place = serde_json::from_str(&text);
                return place.with_context(|| format!("cannot read \"{}\"", file.display()));
            }
            if let Some(failure) = self.failure() {
                return Err(failure.into());
            }
            if start.elapsed() > START_MAX {
                let what = format!("was not ready after {} s", START_MAX.as_secs());
                return Err(self.told(&what).into());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// How the node has ended, when it has.
    fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Whether the node has ended with the exit code of a kind.
    pub(super) fn has_ended_as(&mut self, kind: Kind) -> bool {
        self.status().and_then(|status| status.code()) == Some(kind.exit_code().into())
    }

    /// That the node has ended, when it has.
    pub(super) fn failure(&mut self) -> Option<Failure> {
        self.status().map(|status| self.told(&format!("has ended ({status})")))
    }

    fn told(&self, what: &str) -> Failure {
        let message = format!("the {} \"{}\" of the demo {what}", self.role.name(), self.name);
        let failure = match log_end(&self.log) {
            end if end.is_empty() => Failure::new(Kind::Unavailable, message),
            end => {
                let message = format!("{message}; this is the end of its log:\n{end}");
                Failure::new(Kind::Unavailable, message)
            }
        };
        failure.with_hint("start the demo again; with --log debug its nodes tell more")
    }

    /// Asks the node to stop.
    pub(super) fn ask_to_stop(&mut self) {
        self.lifeline = None;
    }

    /// Waits for the end of a node that was asked to stop, and kills it when that takes too long.
    pub(super) async fn stopped(&mut self) {
        let start = Instant::now();
        while self.status().is_none() {
            if start.elapsed() > STOP_MAX {
                tracing::warn!(node = self.name, "it does not stop and is killed");
                return self.kill();
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Ends the node at once.
    pub(super) fn kill(&mut self) {
        // One that has ended cannot be killed, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Keeps away from a node what is meant for the demo: Ctrl-C, which stops the nodes in order, and
/// what the environment says of nodes.
fn apart(command: &mut Command) {
    for key in keys::ALL {
        command.env_remove(key.variable);
    }
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
}

/// The last lines of a log, indented.
fn log_end(log: &Path) -> String {
    let text = read_end(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines.iter().skip(lines.len().saturating_sub(LOG_LINES_MAX));
    shown.map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn read_end(log: &Path) -> std::io::Result<String> {
    use std::io::{Read, Seek, SeekFrom};

    let mut file = File::open(log)?;
    let start = file.metadata()?.len().saturating_sub(LOG_BYTES_MAX);
    file.seek(SeekFrom::Start(start))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_a_few_lines() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        assert_eq!(log_end(&log), "");
        let lines: Vec<String> = (0..10_000).map(|line| format!("line {line}")).collect();
        std::fs::write(&log, lines.join("\n")).unwrap();
        let end = log_end(&log);
        assert_eq!(end.lines().count(), LOG_LINES_MAX);
        assert!(end.starts_with("  line 9990\n") && end.ends_with("\n  line 9999"), "{end}");
    }
}
