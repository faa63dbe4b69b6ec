//! All rows of a query, a hundred at a time while they come: over Streamable HTTP, over HTTP+SSE and over
//! stdin and stdout.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use reqwest::{Client, Response};
use serde_json::{Value, json};

use super::{Agent, store};
use crate::support::{Node, edgemere};

const ROWS: usize = 3_050;
const BATCH_ROWS: usize = 100;

/// A call of the shipped tool, as its users write it.
fn call() -> Value {
    json!({
        "name": "query",
        "arguments": { "database": "d", "sql": "select n from t order by n", "stream": true },
        "_meta": { "progressToken": "p" },
    })
}

/// Checks what was told: whole batches, every row once and in order, and that it was all.
fn check(messages: &[Value], transport: &str) {
    let told = messages.iter().filter(|message| message["method"] == "notifications/progress");
    let told: Vec<Value> = told
        .map(|message| {
            serde_json::from_str(message["params"]["message"].as_str().unwrap()).unwrap()
        })
        .collect();
    let (last, batches) = told.split_last().unwrap();
    assert_eq!(last, &json!({ "type": "complete", "total_rows": ROWS }), "{transport}");
    assert_eq!(batches.len(), ROWS.div_ceil(BATCH_ROWS), "{transport}");
    let mut next = 0;
    for batch in batches {
        let rows = batch["rows"].as_array().unwrap();
        assert!(rows.len() <= BATCH_ROWS, "{transport}");
        for row in rows {
            assert_eq!(row["n"], next, "{transport}");
            next += 1;
        }
    }
    assert_eq!(next, ROWS, "{transport}");
    let answer = messages.iter().find(|message| message["id"] == 7).unwrap();
    let said = &answer["result"]["structuredContent"];
    assert_eq!((&said["row_count"], &said["streamed"]), (&json!(ROWS), &json!(true)), "{answer}");
}

/// The JSON of the events of a stream.
fn events(text: &str) -> Vec<Value> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect()
}

fn initialize(id: u32) -> Value {
    json!({
        "jsonrpc": "2.0", "id": id, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        },
    })
}

#[tokio::test]
async fn every_row_comes_over_each_transport() {
    let node = Node::start(&[]);
    store(&node, "t", ROWS).await;
    check(&over_http(&node).await, "/mcp");
    check(&over_sse(&node).await, "/sse");
    let url = node.url();
    let over_stdio = tokio::task::spawn_blocking(move || over_stdio(&url));
    check(&over_stdio.await.unwrap(), "stdio");
}

async fn over_http(node: &Node) -> Vec<Value> {
    let agent = Agent::of(node);
    let url = format!("{}/mcp", node.url());
    let opened = agent.client.post(&url).header("accept", "application/json, text/event-stream");
    let opened = opened.json(&initialize(1)).send().await.unwrap();
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    drop(opened.text().await.unwrap());
    let post = |body: Value| {
        let request = agent.client.post(&url).header("mcp-session-id", &session);
        request.header("accept", "application/json, text/event-stream").json(&body).send()
    };
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert!(post(initialized).await.unwrap().status().is_success());
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call() });
    events(&post(call).await.unwrap().text().await.unwrap())
}

async fn over_sse(node: &Node) -> Vec<Value> {
    let client = Client::new();
    let mut opened = client.get(format!("{}/sse", node.url())).send().await.unwrap();
    let mut text = String::new();
    read_until(&mut opened, &mut text, "/messages/").await;
    let path = text.lines().find_map(|line| line.strip_prefix("data:")).unwrap().trim().to_owned();
    let address = format!("{}{path}", node.url());
    let post = async |body: Value| {
        assert!(client.post(&address).json(&body).send().await.unwrap().status().is_success());
    };
    post(initialize(1)).await;
    read_until(&mut opened, &mut text, "\"id\":1").await;
    post(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    post(json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call() })).await;
    read_until(&mut opened, &mut text, "\"streamed\":true").await;
    events(&text)
}

/// Reads events until one has this in it, and to its end.
async fn read_until(stream: &mut Response, text: &mut String, part: &str) {
    let is_whole = |text: &str| {
        let end = text.find(part).and_then(|at| text.get(at..)?.find('\n'));
        end.is_some()
    };
    while !is_whole(text) {
        let bytes = stream.chunk().await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(&bytes).unwrap());
    }
}

fn over_stdio(url: &str) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let mut child = edgemere(folder.path(), &["mcp", "--node", url])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for message in [
        initialize(1),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call() }),
    ] {
        writeln!(stdin, "{message}").unwrap();
    }
    let mut messages: Vec<Value> = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        messages.push(serde_json::from_str(&line.unwrap()).unwrap());
        if messages.last().is_some_and(|message| message["id"] == 7) {
            break;
        }
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    messages
}
