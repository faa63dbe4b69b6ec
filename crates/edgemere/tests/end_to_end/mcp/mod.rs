//! Agents: the tools of a node, called over its HTTP port and over stdin and stdout.

mod access;
mod answers;
#[cfg(target_os = "linux")]
mod many;
mod network;
mod reload;
mod serve;
mod shipped;
mod stdio;
mod streams;
mod transcripts;
mod wire;

use std::path::PathBuf;

use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::Node;

/// The revision without sessions, in which a call needs nothing before it.
const PROTOCOL: &str = "2026-07-28";

/// Tools for these tests: a query, its further rows, and a command.
const TOOLS: &str = r#"
version: "1.0"
toolsets:
  few: [node_status]
tools:
  - name: sql
    description: Runs a query on the network.
    command:
      type: sql
      template: "sql {database} {q:sql}"
      headers: {destination: network}
    input_schema:
      type: object
      properties: {database: {type: string}, sql: {type: string}, stream: {type: boolean}}
      required: [database, sql]
  - name: some
    description: Runs a query on the operators that are there.
    command:
      type: sql
      template: "sql {database} {q:sql}"
      headers: {destination: network, subset: true}
    input_schema:
      type: object
      properties: {database: {type: string}, sql: {type: string}}
      required: [database, sql]
  - name: fetch_rows
    description: The next rows of a result.
    command: query fetch {cursor}
    input_schema: {type: object, properties: {cursor: {type: string}}, required: [cursor]}
  - name: node_status
    description: Whether the node runs.
    command: get status where format = mcp
"#;

/// An agent that asks a node.
struct Agent {
    url: String,
    client: Client,
}

impl Agent {
    fn of(node: &Node) -> Self {
        Self { url: format!("{}/mcp", node.url()), client: Client::new() }
    }

    /// A request, to be changed or sent.
    fn request(&self, method: &str, params: Value) -> RequestBuilder {
        stateless(&self.client, &self.url, method, params, &json!(1))
    }

    /// What a method gives.
    async fn ask(&self, method: &str, params: Value) -> Value {
        let reply = self.request(method, params).send().await.unwrap();
        reply.json::<Value>().await.unwrap()["result"].take()
    }

    /// What a tool answers.
    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let reply = self.request("tools/call", params).send().await.unwrap();
        reply.json::<Value>().await.unwrap()["result"].take()
    }

    /// The rows that a tool answers with, and all else that it says.
    async fn rows(&self, tool: &str, arguments: Value) -> (Vec<Value>, Value) {
        let answer = self.call(tool, arguments).await;
        assert_eq!(answer["isError"], false, "{answer}");
        let mut said = answer["structuredContent"].clone();
        (said["rows"].take().as_array().unwrap().clone(), answer)
    }

    /// What a tool says when it fails.
    async fn failure(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments).await;
        assert_eq!(answer["isError"], true, "{answer}");
        answer["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// The names of the tools.
    async fn tools(&self) -> Vec<String> {
        let tools = self.ask("tools/list", json!({})).await;
        let tools = tools["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// A request that needs nothing before it: its headers say what its body says.
fn stateless(
    client: &Client,
    url: &str,
    method: &str,
    mut params: Value,
    id: &Value,
) -> RequestBuilder {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": PROTOCOL,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    });
    let name = params.get("name").or(params.get("uri")).and_then(Value::as_str);
    let mut request = client
        .post(url)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", PROTOCOL)
        .header("mcp-method", method);
    if let Some(name) = name {
        request = request.header("mcp-name", name);
    }
    request.json(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// A folder with a file of tools.
fn folder_with(tools: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tools.yaml");
    std::fs::write(&file, tools).unwrap();
    (folder, file)
}

/// A node with these tools.
fn node_with(tools: &str, args: &[&str]) -> Node {
    let (folder, _) = folder_with(tools);
    Node::start_in(folder, &[&["--tools", "tools.yaml"], args].concat())
}

/// Stores numbers from 0 on.
async fn store(node: &Node, table: &str, count: usize) {
    let rows: Vec<_> = (0..count).map(|n| json!({ "n": n, "s": format!("s{}", n % 7) })).collect();
    let url = format!("{}/api/v1/ingest/d/{table}", node.url());
    let reply = Client::new().post(url).json(&rows).send().await.unwrap();
    assert_eq!(reply.status(), 200);
}
