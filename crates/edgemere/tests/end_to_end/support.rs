//! Starts the program in a folder of its own, with nothing of the user's environment.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// How long a process has for what takes it a moment.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often it is looked at meanwhile.
const PAUSE: Duration = Duration::from_millis(10);

/// The program, in a folder.
pub(crate) fn edgemere(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_edgemere"));
    command.env_clear();
    command.current_dir(folder).env("HOME", folder).env("TMPDIR", folder).args(args);
    command
}

/// Runs the program to its end.
pub(crate) fn run(folder: &Path, args: &[&str]) -> Output {
    edgemere(folder, args).stdin(Stdio::null()).output().unwrap()
}

/// Runs the program to its end, with something to read.
pub(crate) fn run_with_input(folder: &Path, args: &[&str], input: &str) -> Output {
    let mut command = edgemere(folder, args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A process that ends before it has read everything is not this test's business.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// What the program printed, as text, and its exit code.
pub(crate) fn parts(output: &Output) -> (String, String, i32) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr), output.status.code().unwrap())
}

/// Waits until something is so.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited too long for {what}");
        std::thread::sleep(PAUSE);
    }
}

/// Sends a signal to a process.
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

/// Waits for the end of a process.
pub(crate) fn end(child: &mut Child) -> ExitStatus {
    wait_for("the end of the process", || child.try_wait().unwrap())
}

/// A node that runs, at free ports; it ends with the test.
pub(crate) struct Node {
    pub(crate) folder: TempDir,
    pub(crate) child: Child,
    pub(crate) http: String,
    pub(crate) network: String,
}

impl Node {
    /// Starts a node with these flags beside those for its ports.
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), args)
    }

    /// Starts a node in a folder.
    pub(crate) fn start_in(folder: TempDir, args: &[&str]) -> Self {
        Self::start_at(folder, "127.0.0.1:0", args)
    }

    /// Starts a node in a folder, which other nodes find at a network address.
    pub(crate) fn start_at(folder: TempDir, network: &str, args: &[&str]) -> Self {
        let ports = ["node", "--http", "127.0.0.1:0", "--network", network];
        let command = edgemere(folder.path(), &[&ports, args].concat());
        Self::launch(folder, command)
    }

    /// Starts a node in a folder with the command that runs it there.
    pub(crate) fn launch(folder: TempDir, mut command: Command) -> Self {
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let mut child = command.stdin(Stdio::null()).stderr(log).spawn().unwrap();
        let file = node_file(folder.path());
        let about: Value = wait_for("node.json", || {
            let ended = child.try_wait().unwrap();
            let log = || std::fs::read_to_string(folder.path().join("log")).unwrap();
            assert!(ended.is_none(), "the node ended: {}", log());
            Some(serde_json::from_str(&std::fs::read_to_string(&file).ok()?).unwrap())
        });
        let text = |key: &str| about[key].as_str().unwrap().to_owned();
        Self { folder, child, http: text("http"), network: text("network") }
    }

    /// The URL of the node's REST service.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.http)
    }

    /// Kills the node as kill -9 does, and gives its folder back.
    pub(crate) fn kill(mut self) -> TempDir {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::fs::remove_file(node_file(self.folder.path())).unwrap();
        self.take_folder()
    }

    /// The folder of a node that has ended, for another one.
    pub(crate) fn take_folder(&mut self) -> TempDir {
        std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap())
    }

    /// Sends a command with `edgemere run`.
    pub(crate) fn run(&self, args: &[&str]) -> (String, String, i32) {
        let node = ["--node", self.http.as_str()];
        parts(&run(self.folder.path(), &[&["run"], args, &node].concat()))
    }

    /// What the node said so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// Sends a signal and waits for the end.
    pub(crate) fn stop(&mut self, name: &str) -> ExitStatus {
        signal(&self.child, name);
        end(&mut self.child)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It has ended already where the test was about that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where a node in a folder says where it listens.
pub(crate) fn node_file(folder: &Path) -> PathBuf {
    folder.join("edgemere-data/node.json")
}
