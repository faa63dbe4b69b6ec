//! The command line as tools: `edgemere --serve`, and beside the tools of a node.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Agent, TOOLS, node_with, store};
use crate::support::{Node, edgemere};

/// What agents are offered of the command line.
const READING: [&str; 12] = [
    "run",
    "sql",
    "policy_list",
    "policy_show",
    "tools_list",
    "tools_show",
    "tools_test",
    "tools_schema",
    "config_show",
    "data_verify",
    "ledger_verify",
    "version",
];

/// `edgemere --serve` for a node.
struct Serving {
    agent: Agent,
    child: Child,
    _folder: TempDir,
}

impl Serving {
    fn of(node: &Node, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("edgemere.toml"), "company = \"Acme\"\n").unwrap();
        std::fs::write(folder.path().join("secret.txt"), "open sesame\n").unwrap();
        let mut command = edgemere(folder.path(), &[&["--serve=0"], flags].concat());
        command.env("EDGEMERE_NODE", node.url()).env("A_SECRET", "open sesame");
        command.env("EDGEMERE_IMPORT_FOLDER", folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = lines.next().unwrap().unwrap();
        let (_, url) = said.split_once("http://").unwrap();
        let agent = Agent { url: format!("http://{url}"), client: Client::new() };
        Self { agent, child, _folder: folder }
    }

    /// What is answered to who reads a resource.
    async fn read(&self, uri: &str) -> Value {
        let request = self.agent.request("resources/read", json!({ "uri": uri }));
        request.send().await.unwrap().json().await.unwrap()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(answer: &Value) -> &str {
    answer["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn commands_are_tools_and_what_writes_is_not_there() {
    let node = node_with(TOOLS, &["--name", "plant-1"]);
    let serving = Serving::of(&node, &[]);
    let agent = &serving.agent;
    assert_eq!(agent.tools().await, READING);
    let status = agent.call("run", json!({ "command": ["get", "status"] })).await;
    assert!(text(&status).contains("plant-1"), "{status}");
    let json = json!({ "command": ["get status where format = json"] });
    let status = agent.call("run", json).await;
    assert_eq!(status["structuredContent"]["status"], "running", "{status}");
    let masters = agent.call("policy_list", json!({ "kind": "master" })).await;
    let master = &masters["structuredContent"]["result"][0]["master"];
    assert_eq!(master["name"], "plant-1", "{masters}");
    let shown = agent.call("policy show", json!({ "id": master["id"] })).await;
    assert_eq!(shown["structuredContent"]["result"], json!([{ "master": master }]), "{shown}");
    // The same name as people type it.
    let listed = agent.call("tools list", json!({})).await;
    assert_eq!(listed["structuredContent"]["result"][0]["name"], "list_databases", "{listed}");
    for blocked in ["import", "node", "shell", "mcp_install", "tools_call", "Run", "ledger repair"]
    {
        let said = agent.failure(blocked, json!({})).await;
        assert_eq!(said, format!("Error: Tool '{blocked}' not found"));
    }
}

#[tokio::test]
async fn a_command_of_the_node_does_no_more_than_is_allowed() {
    let node = node_with(TOOLS, &["--name", "plant-1"]);
    let rename = json!({ "command": ["set node name other"] });
    let serving = Serving::of(&node, &[]);
    let said = serving.agent.failure("run", rename.clone()).await;
    assert!(said.contains("--allow write"), "{said}");
    for wrapped in [
        "run client () set node name other",
        "SET  node   name other",
        "process x.al",
        "run client (local) process x.al",
    ] {
        let said = serving.agent.failure("run", json!({ "command": [wrapped] })).await;
        assert!(!said.is_empty());
    }
    assert!(node.run(&["get node name"]).0.starts_with("plant-1@"));
    let serving = Serving::of(&node, &["--allow", "write"]);
    let answer = serving.agent.call("run", rename).await;
    assert_eq!(answer["isError"], false, "{answer}");
    assert!(node.run(&["get node name"]).0.starts_with("other@"));
    let tools = serving.agent.tools().await;
    assert!(tools.contains(&"import".to_owned()), "{tools:?}");
    for outside in ["/etc/passwd", "../secret.txt"] {
        let arguments = json!({ "files": [outside], "dbms": "d", "table": "t", "format": "csv" });
        let said = serving.agent.failure("import", arguments).await;
        assert!(said.contains("cannot be imported by agents"), "{said}");
    }
}

#[tokio::test]
async fn an_agent_chooses_no_file_and_no_machine() {
    let node = node_with(TOOLS, &[]);
    let serving = Serving::of(&node, &[]);
    let agent = &serving.agent;
    for (tool, name) in [("run", "node"), ("tools_list", "tools"), ("config_show", "config")] {
        let mut arguments = json!({ name: "secret.txt" });
        if tool == "run" {
            arguments["command"] = json!(["get status"]);
        }
        let said = agent.failure(tool, arguments).await;
        assert!(said.contains(&format!("there is no argument \"{name}\"")), "{said}");
    }
    for value in ["--node=http://127.0.0.1:1", "--config=secret.txt", "-h"] {
        let said = agent.failure("tools_show", json!({ "name": value })).await;
        assert!(said.contains("no tool") && !said.contains("sesame"), "{said}");
    }
}

#[tokio::test]
async fn files_around_the_folder_are_resources_and_no_others() {
    let node = node_with(TOOLS, &[]);
    let serving = Serving::of(&node, &[]);
    let listed = serving.agent.ask("resources/list", json!({})).await;
    let uris: Vec<&str> = listed["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["uri"].as_str().unwrap())
        .collect();
    let file = uris.iter().find(|uri| uri.ends_with("/edgemere.toml")).unwrap();
    let read = serving.read(file).await;
    assert_eq!(read["result"]["contents"][0]["text"], "company = \"Acme\"\n", "{read}");
    assert!(uris.contains(&"help://edgemere/sql"), "{uris:?}");
    assert!(!uris.iter().any(|uri| uri.contains("secret") || uri.contains("import")), "{uris:?}");
    let secret = file.replace("edgemere.toml", "secret.txt");
    let read = serving.read(&secret).await;
    assert!(read["result"].is_null() && read["error"]["code"].is_i64(), "{read}");
}

#[tokio::test]
async fn a_node_offers_its_commands_beside_its_tools() {
    let node = node_with(TOOLS, &["--name", "plant-1", "--cli-tools", "true"]);
    let agent = Agent::of(&node);
    let tools = agent.tools().await;
    assert_eq!(tools[..4], ["sql", "some", "fetch_rows", "node_status"]);
    assert_eq!(tools[4..].to_vec(), READING.map(|name| format!("cli_{name}")));
    let status = agent.call("cli_run", json!({ "command": ["get status"] })).await;
    assert!(text(&status).contains("plant-1"), "{status}");
    // A child of the node asks the very same node.
    store(&node, "t", 3).await;
    let query = json!({ "dbms": "d", "sql": ["select max(n) as n from t"], "format": "json:list" });
    let rows = agent.call("cli_sql", query).await;
    assert_eq!(rows["structuredContent"]["result"], json!([{ "n": 2 }]), "{rows}");
    let said = agent.failure("cli_run", json!({ "command": ["set node name x"] })).await;
    assert!(said.contains("--agent-access"), "{said}");
}

#[test]
fn what_is_wrong_with_the_flags_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for (flags, expected) in [
        (&["--serve=0.0.0.0:1"][..], "other machines"),
        (&["--serve=x"], "nothing to serve at"),
        (&["--serve", "--allow", "secret"], "never offered"),
        (&["--serve", "--deny", ""], "is empty"),
        (&["--serve", "--wrong"], "unexpected argument"),
    ] {
        let output = edgemere(folder.path(), flags).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?} {said}");
        assert!(said.contains(expected), "{flags:?} {said}");
    }
}
