//! kill -9 at any moment loses no row that a node has acknowledged, and stores none twice.

use reqwest::Client;
use serde_json::{Value, json};

use crate::support::Node;

/// How often the node is killed.
const ROUNDS: u64 = 50;

/// How many rows are sent at once.
const ROWS: u64 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_rows_survive_kill_9_exactly_once() {
    let arguments = ["--name", "crash", "--register", "false"];
    let mut folder = tempfile::tempdir().unwrap();
    let mut acknowledged: Vec<u64> = Vec::new();
    let mut next = 0;
    for round in 0..ROUNDS {
        let node = Node::start_in(folder, &arguments);
        assert_holds(&node, &acknowledged).await;
        let before = count(&node).await;
        let url = node.url();
        let first = next;
        let writer = tokio::spawn(async move { put_until_gone(&url, first).await });
        // Rows may be stored that nobody was told of: what counts is how many are new.
        wait_for_rows(&node, before + ROWS + 1 + round % 7 * ROWS).await;
        folder = node.kill();
        let (stored, sent) = writer.await.unwrap();
        acknowledged.extend(stored);
        next = sent;
    }
    let node = Node::start_in(folder, &arguments);
    assert_holds(&node, &acknowledged).await;
    assert!(acknowledged.len() as u64 >= ROUNDS * ROWS / 2, "{}", acknowledged.len());
}

/// Sends rows until the node is gone; those that it acknowledged, and the first that was not sent.
async fn put_until_gone(url: &str, first: u64) -> (Vec<u64>, u64) {
    let client = Client::new();
    let mut acknowledged = Vec::new();
    let mut next = first;
    loop {
        let numbers = next..next + ROWS;
        next += ROWS;
        let rows: Vec<_> = numbers.clone().map(|number| json!({ "n": number })).collect();
        let put = client.put(url).header("dbms", "d").header("table", "t");
        match put.body(json!(rows).to_string()).send().await {
            Ok(response) if response.status() == 200 => acknowledged.extend(numbers),
            Ok(response) => panic!("{}", response.text().await.unwrap()),
            Err(_) => return (acknowledged, next),
        }
    }
}

async fn wait_for_rows(node: &Node, count: u64) {
    while self::count(node).await < count {
        tokio::task::yield_now().await;
    }
}

async fn count(node: &Node) -> u64 {
    let counts = ask(node, "get rows count where format = json").await;
    counts["d.t"].as_u64().unwrap_or(0)
}

/// Every acknowledged row is there once, and no row is there twice.
async fn assert_holds(node: &Node, acknowledged: &[u64]) {
    if acknowledged.is_empty() {
        return;
    }
    let rows = ask(node, "sql d format = mcp:columns select n, row_id from t order by n").await;
    let rows = rows["rows"].as_array().unwrap();
    let numbers: Vec<u64> = rows.iter().map(|row| row[0].as_u64().unwrap()).collect();
    let mut unique = numbers.clone();
    unique.dedup();
    assert_eq!(unique.len(), numbers.len(), "a row is there twice");
    let lost: Vec<_> = acknowledged.iter().filter(|n| numbers.binary_search(n).is_err()).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    let mut ids: Vec<_> = rows.iter().map(|row| row[1].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert!(ids.iter().copied().eq(1..=ids.len() as u64), "row ids have gaps or repeats");
}

async fn ask(node: &Node, command: &str) -> Value {
    let request = Client::new().get(node.url()).header("command", command);
    let text = request.send().await.unwrap().text().await.unwrap();
    serde_json::from_str(&text).unwrap()
}
