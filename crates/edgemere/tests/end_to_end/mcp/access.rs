//! Who may call what: agents read, toolsets offer less, other pages get nothing.

use serde_json::{Value, json};

use super::{Agent, TOOLS, node_with};
use crate::support::Node;

const WRITING: &str = r#"
version: "1.0"
tools:
  - name: name_it
    description: Gives the node another name.
    command: {template: "set node name {name}", effect: write}
    input_schema: {type: object, properties: {name: {type: string}}, required: [name]}
"#;

#[tokio::test]
async fn agents_only_read_unless_the_node_says_otherwise() {
    let node = node_with(WRITING, &["--name", "first"]);
    let said = Agent::of(&node).failure("name_it", json!({ "name": "other" })).await;
    assert!(said.contains("may not run"), "{said}");
    assert!(node.run(&["get node name"]).0.starts_with("first@"));
    let node = node_with(WRITING, &["--agent-access", "write"]);
    let answer = Agent::of(&node).call("name_it", json!({ "name": "other" })).await;
    assert_eq!(answer["isError"], false, "{answer}");
    assert!(node.run(&["get node name"]).0.starts_with("other@"));
}

#[tokio::test]
async fn a_toolset_offers_its_tools_alone() {
    let node = node_with(TOOLS, &[]);
    let mut agent = Agent::of(&node);
    assert_eq!(agent.tools().await.len(), 4);
    agent.url.push_str("/few");
    assert_eq!(agent.tools().await, ["node_status"]);
    let arguments = json!({ "name": "sql", "arguments": { "database": "d", "sql": "select 1" } });
    let reply = agent.request("tools/call", arguments).send().await.unwrap();
    let reply: Value = reply.json().await.unwrap();
    assert_eq!(reply["result"], Value::Null, "{reply}");
    agent.url = agent.url.replace("/few", "/others");
    let reply = agent.request("tools/list", json!({})).send().await.unwrap();
    assert_eq!(reply.status(), 404);
}

#[tokio::test]
async fn agents_have_as_many_calls_as_the_node_says() {
    let node = node_with(TOOLS, &["--agent-rate", "1"]);
    let agent = Agent::of(&node);
    let params = json!({ "name": "node_status", "arguments": {} });
    let mut refused = None;
    // Those of a second may come at once.
    for _ in 0..20 {
        let reply = agent.request("tools/call", params.clone()).send().await.unwrap();
        let said: Value = reply.json().await.unwrap();
        refused = refused.or(said.get("error").cloned());
    }
    let refused = refused.unwrap();
    assert!(refused["data"]["retryAfterMs"].as_u64().is_some(), "{refused}");
}

#[tokio::test]
async fn pages_of_others_get_nothing() {
    let node = node_with(TOOLS, &[]);
    let agent = Agent::of(&node);
    for (header, value) in [("origin", "http://example.com"), ("host", "example.com")] {
        let request = agent.request("tools/list", json!({})).header(header, value);
        assert_eq!(request.send().await.unwrap().status(), 403, "{header}");
    }
    for path in ["/sse", "/mcp/sse"] {
        let request = agent.client.get(format!("{}{path}", node.url()));
        let reply = request.header("origin", "http://example.com").send().await.unwrap();
        assert_eq!(reply.status(), 403, "{path}");
    }
}

#[tokio::test]
async fn sessions_are_shown_and_go_with_their_clients() {
    let node = node_with(TOOLS, &[]);
    let agent = Agent::of(&node);
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "old client", "version": "7" },
        },
    });
    let accept = "application/json, text/event-stream";
    let request = agent.client.post(&agent.url).header("accept", accept).json(&initialize);
    let reply = request.send().await.unwrap();
    let session = reply.headers().get("mcp-session-id").unwrap().to_str().unwrap().to_owned();
    let shown = sessions(&node);
    assert_eq!(shown[0]["client"], "old client 7", "{shown}");
    assert!(!shown.to_string().contains(&session), "the whole id is shown");
    let metrics = agent.client.get(format!("{}/metrics", node.url())).send().await.unwrap();
    assert!(metrics.text().await.unwrap().contains("edgemere_mcp_sessions 1"));
    let end = agent.client.delete(&agent.url).header("mcp-session-id", &session).send().await;
    assert!(end.unwrap().status().is_success());
    assert_eq!(sessions(&node), json!([]));
}

fn sessions(node: &Node) -> Value {
    let (said, _, _) = node.run(&["get processes where format = json"]);
    serde_json::from_str::<Value>(&said).unwrap()["MCP"]["sessions"].take()
}
