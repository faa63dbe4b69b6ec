//! Tools that run programs: by people, by agents on stdio and over HTTP, and ended with who runs them.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{self, Node, end, parts, signal, wait_for};

const TOOLS: &str = r#"
tools:
  - name: waits
    description: Says who it is, and waits, whatever it is told.
    command:
      type: cli
      program: sh
      args: ["-c", "trap '' TERM; echo $$ >pid.new; mv pid.new pid; echo waiting; while :; do sleep 1; done"]
      effect: read
  - {name: status, description: The node's status., command: get status where format = mcp}
  - {name: touches, description: Writes a file., command: {type: cli, program: touch, args: [touched]}}
"#;

/// Edgemere where programs can be found.
fn edgemere(folder: &Path, args: &[&str]) -> Command {
    let mut command = support::edgemere(folder, args);
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command
}

fn run(folder: &Path, args: &[&str]) -> (String, String, i32) {
    parts(&edgemere(folder, args).stdin(Stdio::null()).output().unwrap())
}

/// The example that the documentation names.
fn example() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("examples/programs/tools.yaml").canonicalize().unwrap();
    path.to_str().unwrap().to_owned()
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.yaml"), TOOLS).unwrap();
    folder
}

/// The process that a program said it is.
fn process(folder: &Path) -> PathBuf {
    let file = folder.join("pid");
    wait_for("the program runs", || {
        let pid = std::fs::read_to_string(&file).ok()?;
        Some(Path::new("/proc").join(pid.trim()))
    })
}

/// Whether a process has ended, and at most nobody has looked at its end yet.
fn has_ended(process: &Path) -> bool {
    let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

#[test]
fn the_example_is_right_and_its_tools_answer_without_a_node() {
    let folder = tempfile::tempdir().unwrap();
    let file = example();
    let tools = |args: &[&str]| run(folder.path(), &[&["tools"], args].concat());
    let (stdout, stderr, code) = tools(&["validate", &file]);
    assert!(code == 0 && stdout.contains("4 tools, no problems"), "{stdout}{stderr}");
    let call = |args: &[&str]| tools(&[&["call"], args, &["--tools", &file]].concat());
    let (stdout, stderr, code) = call(&["disk_usage", "--arg", "folder=/"]);
    assert!(code == 0 && stdout.starts_with("Filesystem "), "{stdout}{stderr}");
    std::fs::write(folder.path().join("-l"), "").unwrap();
    let inside = format!("folders={}", folder.path().display());
    let (stdout, stderr, _) = call(&["list_folders", "--arg", &inside, "--arg", "ignored=x,y"]);
    assert_eq!(stdout.lines().next(), Some("-l"), "{stdout}{stderr}");
    let (stdout, _, _) = call(&["machine"]);
    let machine: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(machine["kernel"], "Linux");
    let (stdout, _, _) = call(&["processors"]);
    let processors: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(processors["result"], machine["processors"]);
    assert_eq!(processors["provenance"]["answered"], json!(["this machine"]));
    let (_, stderr, code) = call(&["disk_usage", "--arg", "folder=relative"]);
    assert!(code == 2 && stderr.contains("folder: must match"), "{stderr}");
    let (_, stderr, code) = call(&["disk_usage", "--arg", "folder=/no/such/folder"]);
    assert!(code == 6 && stderr.contains("exited with code 1"), "{code} {stderr}");
    let (stdout, stderr, code) = tools(&["test", "--tools", &file]);
    let tried: Vec<Value> = serde_json::from_str(&stdout).unwrap();
    let states: Vec<_> = tried.iter().map(|one| one["status"].as_str().unwrap()).collect();
    assert_eq!(states, ["skipped", "skipped", "answered", "answered"], "{stderr}");
    assert_eq!(code, 0);
}

#[test]
fn who_interrupts_a_call_ends_its_program() {
    let folder = folder();
    let mut command = edgemere(folder.path(), &["tools", "call", "waits", "--tools", "t.yaml"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let process = process(folder.path());
    assert!(!has_ended(&process));
    signal(&child, "INT");
    assert_eq!(end(&mut child).code(), Some(130));
    wait_for("the program has ended", || has_ended(&process).then_some(()));
}

/// A server on stdio, and the messages that it sends.
struct Session {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Session {
    fn start(folder: &Path, args: &[&str]) -> Self {
        let mut command = edgemere(folder, &[&["mcp", "--tools", "t.yaml"], args].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut session = Self { stdin: child.stdin.take(), child, stdout };
        let about = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        session.send(json!({ "id": 0, "method": "initialize", "params": about }));
        assert_eq!(session.read()["id"], 0);
        session.send(json!({ "method": "notifications/initialized" }));
        session
    }

    fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line}"))
    }

    fn call(&mut self, id: u32, tool: &str) {
        let params = json!({ "name": tool, "arguments": {}, "_meta": { "progressToken": id } });
        self.send(json!({ "id": id, "method": "tools/call", "params": params }));
    }
}

/// A server with a program under way: agents hear of its lines, may only read, may cancel, and its end is
/// the program's.
fn check_session(folder: &Path, args: &[&str]) {
    let mut session = Session::start(folder, args);
    session.call(1, "waits");
    let told = session.read();
    assert_eq!(told["params"]["message"], "waiting", "{told}");
    let first = process(folder);
    session.send(json!({ "method": "notifications/cancelled", "params": { "requestId": 1 } }));
    wait_for("the program has ended", || has_ended(&first).then_some(()));
    session.call(2, "touches");
    let denied = session.read();
    assert_eq!(denied["result"]["isError"], true, "{denied}");
    let said = denied["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("may not run \"touches\": it needs the permission to write"), "{said}");
    assert!(!folder.join("touched").exists());
    std::fs::remove_file(folder.join("pid")).unwrap();
    session.call(3, "waits");
    assert_eq!(session.read()["params"]["message"], "waiting");
    let second = process(folder);
    signal(&session.child, "TERM");
    end(&mut session.child);
    wait_for("the program has ended", || has_ended(&second).then_some(()));
}

#[test]
fn agents_run_programs_over_stdio_and_nothing_outlives_the_server() {
    check_session(folder().path(), &[]);
}

#[test]
fn a_program_runs_where_the_file_is_when_another_node_is_asked() {
    let node = Node::start(&[]);
    let folder = folder();
    check_session(folder.path(), &["--node", &node.http]);
    let call = ["tools", "call", "status", "--tools", "t.yaml", "--node", &node.http];
    let (stdout, _, code) = run(folder.path(), &call);
    assert!(code == 0 && stdout.contains("running"), "{stdout}");
}

#[test]
fn agents_write_when_the_node_lets_them() {
    let folder = folder();
    let mut session = Session::start(folder.path(), &["--agent-access", "write"]);
    session.call(1, "touches");
    let answer = session.read();
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(answer["result"]["content"][0]["text"], "(no output)");
    assert!(folder.path().join("touched").exists());
    session.stdin = None;
    assert!(end(&mut session.child).success());
}
