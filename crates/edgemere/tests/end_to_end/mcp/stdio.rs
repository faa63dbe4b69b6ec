//! `edgemere mcp`: a node inside of the process that a client starts.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::{TOOLS, folder_with};
use crate::support::{edgemere, end};

struct Session {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Session {
    fn start(folder: &std::path::Path) -> Self {
        let mut child = edgemere(folder, &["mcp", "--tools", "tools.yaml"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { stdin: child.stdin.take(), child, stdout }
    }

    fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
        stdin.flush().unwrap();
    }

    /// The next message.
    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line}"))
    }

    fn ask(&mut self, id: u32, method: &str, params: Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let reply = self.read();
        assert_eq!(reply["id"], id, "{reply}");
        reply["result"].clone()
    }
}

#[test]
fn a_client_starts_it_talks_to_it_and_ends_it() {
    let (folder, _) = folder_with(TOOLS);
    let mut session = Session::start(folder.path());
    let about = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let initialized = session.ask(1, "initialize", about);
    assert_eq!(initialized["serverInfo"]["name"], "edgemere");
    assert!(initialized["instructions"].as_str().unwrap().contains("provenance"));
    session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let tools = session.ask(2, "tools/list", json!({}));
    assert_eq!(tools["tools"].as_array().unwrap().len(), 4);
    let call = json!({ "name": "node_status", "arguments": {} });
    let answer = session.ask(3, "tools/call", call);
    assert_eq!(answer["structuredContent"]["result"]["status"], "running");
    session.stdin = None;
    assert!(end(&mut session.child).success());
    let left = folder.path().join("edgemere-data/node.json");
    assert!(!left.exists(), "it did not stop in order");
}
