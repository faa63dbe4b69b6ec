//! The example, served over its pipes, and what must hold of every answer that it gives.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
};

/// Longer than anything takes that ends at all.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// What is in the server's variables and in files beside the manifests.
const SECRET: &str = "S3CRET-of-the-server";
/// What a blocked command would print, and the file that it would write.
const BLOCKED_PRINTS: &str = "SECRET-OF-A-BLOCKED-COMMAND";
const BLOCKED_WRITES: &str = ".golem-blocked-ran";

/// A server with a folder of its own.
pub(crate) struct Server {
    pub(crate) folder: TempDir,
    /// What the example asks over HTTP. They end when they are dropped.
    _services: Child,
    child: Child,
    stdin: ChildStdin,
    lines: BufReader<ChildStdout>,
    asked: u64,
    /// How many calls and reads there were.
    pub(crate) calls: u64,
}

impl Server {
    /// With all offered that is not blocked.
    pub(crate) async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let app = folder.path().join("app");
        fs::create_dir(&app).unwrap();
        fs::write(app.join("golem.yaml"), "app: hostile\n").unwrap();
        for secret in ["app/.env", "app/secrets.yaml", "outside.yaml"] {
            fs::write(folder.path().join(secret), SECRET).unwrap();
        }
        std::os::unix::fs::symlink("../outside.yaml", app.join("golem-link.yaml")).unwrap();
        let (services, url) = services(&folder.path().join("services")).await;
        let mut child = Command::new(example())
            .args(["--serve=stdio", "--allow", "destructive"])
            .current_dir(&app)
            .env("GOLEM_SERVICES_URL", url)
            .envs([("GOLEM_AUTH_TOKEN", SECRET), ("AWS_SECRET_ACCESS_KEY", SECRET)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the example is built by `cargo test -p clap-serve`");
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let lines = BufReader::new(stdout);
        let (asked, calls) = (0, 0);
        let mut server = Self { folder, _services: services, child, stdin, lines, asked, calls };
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "hostile", "version": "1" },
        });
        server.ask("initialize", params).await;
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        server
    }

    /// The folder in which calls run.
    pub(crate) fn app(&self) -> PathBuf {
        self.folder.path().join("app")
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string()).await;
    }

    pub(crate) async fn send_line(&mut self, line: &str) {
        self.stdin.write_all(format!("{line}\n").as_bytes()).await.expect("the server is gone");
    }

    /// What is answered.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, &params).await;
        loop {
            let answer = self.next(&format!("{method} {params:.500}")).await;
            if answer["id"] == id {
                return answer;
            }
        }
    }

    async fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    /// The next message. No message has a secret in it.
    async fn next(&mut self, about: &str) -> Value {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, self.lines.read_line(&mut line)).await;
        let read = read.unwrap_or_else(|_| panic!("no answer to {about}"));
        assert!(read.unwrap() > 0, "the server ended at {about}");
        for secret in [SECRET, BLOCKED_PRINTS] {
            assert!(!line.contains(secret), "{about} leaks: {line}");
        }
        serde_json::from_str(&line).unwrap()
    }

    /// What calls of a tool are answered that are all under way at once.
    pub(crate) async fn call_all(&mut self, tool: &str, arguments: &[Value]) -> Vec<Value> {
        let mut ids = Vec::new();
        for arguments in arguments {
            self.calls += 1;
            let params = json!({ "name": tool, "arguments": arguments });
            ids.push(self.begin("tools/call", &params).await);
        }
        let mut answers = BTreeMap::new();
        while answers.len() < ids.len() {
            let answer = self.next(tool).await;
            if let Some(id) = answer["id"].as_u64() {
                answers.insert(id, answer);
            }
        }
        ids.iter().map(|id| answers.remove(id).unwrap()).collect()
    }

    /// What a call is answered.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.calls += 1;
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    pub(crate) async fn tools(&mut self) -> Vec<Value> {
        let answer = self.ask("tools/list", json!({})).await;
        assert_eq!(answer["result"]["nextCursor"], Value::Null, "there is one page");
        answer["result"]["tools"].as_array().unwrap().clone()
    }

    /// After all: nothing that is blocked ran, and the server still does what it should.
    pub(crate) async fn must_be_well(mut self) {
        assert!(!self.app().join(BLOCKED_WRITES).exists(), "a blocked command ran");
        self.call(
            "component_new",
            json!({ "component_template": "rust", "component_name": "well" }),
        )
        .await;
        let answer =
            self.call("component_get", json!({ "component_name": "well", "format": "json" })).await;
        assert_eq!(answer["result"]["structuredContent"]["template"], "rust", "{answer}");
        drop(self.stdin);
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        assert!(ended.expect("it ends with its stdin").unwrap().success());
    }
}

/// The services, running in a folder of their own, and where they are.
async fn services(folder: &Path) -> (Child, String) {
    fs::create_dir(folder).unwrap();
    let mut child = Command::new(example())
        .args(["server", "run", "--port", "0"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the example is built by `cargo test -p clap-serve`");
    let mut said = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    tokio::time::timeout(PATIENCE, stdout.read_line(&mut said)).await.unwrap().unwrap();
    let url = said.trim().rsplit_once(" at ").expect("they say where they are").1.to_owned();
    (child, url)
}

/// The text of an answer.
pub(crate) fn text(answer: &Value) -> String {
    let content = answer["result"]["content"].as_array();
    let parts = content.into_iter().flatten().filter_map(|part| part["text"].as_str());
    parts.collect::<Vec<_>>().join("\n")
}

/// Examples are built with the tests, into a folder beside theirs; but not by `cargo test --test hostile`,
/// which takes the example as it was built before.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    folder.join("examples").join("golem")
}

/// The marker is what a blocked command leaves: otherwise its absence would prove nothing.
#[tokio::test]
async fn a_blocked_command_leaves_its_mark_when_it_runs() {
    let folder = TempDir::new().unwrap();
    for command in [&["profile", "list"][..], &["cloud", "token", "list"], &["grant", "get"]] {
        let run = Command::new(example()).args(command).current_dir(folder.path()).output().await;
        let run = run.unwrap();
        assert!(run.status.success());
        assert!(String::from_utf8_lossy(&run.stdout).contains(BLOCKED_PRINTS));
        fs::remove_file(folder.path().join(BLOCKED_WRITES)).unwrap();
    }
}
