//! Queries that go on for ever, and readers that do not read: the node stays small, answers others,
//! and stops what nobody wants.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use reqwest::Client;
use serde_json::json;

use crate::support::{Node, wait_for};

/// How many rows the table has.
const ROWS: usize = 20_000;

/// Gives no row for longer than anybody waits.
const SILENT: &str = "select sum(a.n * b.n + c.n) from t a, t b, t c";

/// Gives rows at once, and more of them than anybody reads.
const MANY: &str = "select a.n, b.n as m, a.text from t a, t b, t c";

/// How much memory a reply may take that nobody reads, in kB.
const GROWTH_KB_MAX: u64 = 200 << 10;

/// For how many looks in a row nothing has moved when a node is still.
const STILL_LOOKS: usize = 20;

fn start(args: &[&str]) -> Node {
    let node = Node::start(&[&["--name", "q", "--register", "false"], args].concat());
    let mut csv = String::from("n,text\n");
    (0..ROWS).for_each(|n| csv.push_str(&format!("{n},a text of row {n}\n")));
    let head = "POST /api/v1/ingest/d/t HTTP/1.1\r\nContent-Type: text/csv\r\n";
    let mut socket = send(&node, head, &csv);
    assert!(read_some(&mut socket).starts_with("HTTP/1.1 200"));
    node
}

/// Sends a request and leaves the answer in the socket.
fn send(node: &Node, head: &str, body: &str) -> TcpStream {
    let mut socket = TcpStream::connect(&node.http).unwrap();
    let length = body.len();
    let head = format!("{head}Host: localhost\r\nContent-Length: {length}\r\n\r\n");
    socket.write_all(head.as_bytes()).unwrap();
    socket.write_all(body.as_bytes()).unwrap();
    socket
}

fn send_query(node: &Node, sql: &str) -> TcpStream {
    let body = json!({ "dbms": "d", "sql": sql }).to_string();
    let head = "POST /api/v1/sql HTTP/1.1\r\nContent-Type: application/json\r\n";
    send(node, head, &body)
}

fn read_some(socket: &mut TcpStream) -> String {
    let mut bytes = [0; 4096];
    let count = socket.read(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

/// A figure of the node's metrics.
fn figure(node: &Node, name: &str) -> u64 {
    let mut socket = TcpStream::connect(&node.http).unwrap();
    socket
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("edgemere_{name} ")));
    line.unwrap_or_else(|| panic!("{text}")).trim().parse().unwrap()
}

fn wait_for_queries(node: &Node, count: u64) {
    let what = format!("{count} running queries");
    wait_for(&what, || (figure(node, "queries_running") == count).then_some(()));
}

/// A line of /proc/PID/status, in kB.
fn status_kb(node: &Node, key: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", node.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(&format!("{key}:"))).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

/// The processor time that the node has used, in ticks.
fn ticks(node: &Node) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", node.child.id())).unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    let fields: Vec<_> = after_name.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn a_reader_that_goes_away_stops_the_query() {
    let node = start(&[]);
    assert_eq!(figure(&node, "queries_running"), 0);
    // One that waits for the first row, and one that is in the middle of the rows.
    let waiting = send_query(&node, SILENT);
    wait_for_queries(&node, 1);
    let mut reading = send_query(&node, MANY);
    assert!(read_some(&mut reading).starts_with("HTTP/1.1 200"));
    wait_for_queries(&node, 2);
    drop(reading);
    wait_for_queries(&node, 1);
    drop(waiting);
    wait_for_queries(&node, 0);
    assert_eq!(figure(&node, "query_memory_bytes"), 0);
}

#[test]
fn a_reader_that_does_not_read_holds_back_the_scan() {
    let node = start(&[]);
    let before = status_kb(&node, "VmHWM");
    let mut reader = send_query(&node, MANY);
    // The first rows are there long before the last.
    assert!(read_some(&mut reader).starts_with("HTTP/1.1 200"));
    let (mut last, mut looks) = (ticks(&node), 0);
    wait_for("the scan to be held back", || {
        let now = ticks(&node);
        looks = if now == last { looks + 1 } else { 0 };
        last = now;
        (looks >= STILL_LOOKS).then_some(())
    });
    let growth = status_kb(&node, "VmHWM").saturating_sub(before);
    assert!(growth < GROWTH_KB_MAX, "{growth} kB");
    assert_eq!(figure(&node, "queries_running"), 1);
    // It goes on where it was.
    for _ in 0..100 {
        assert!(!read_some(&mut reader).is_empty());
    }
    drop(reader);
    wait_for_queries(&node, 0);
}

#[tokio::test]
async fn a_node_answers_while_queries_take_all_they_can() {
    let node = start(&[]);
    let queries: Vec<_> = (0..4).map(|_| send_query(&node, SILENT)).collect();
    wait_for_queries(&node, 4);
    let client = Client::builder().timeout(Duration::from_secs(30)).build().unwrap();
    for _ in 0..20 {
        let status = client.get(node.url()).header("command", "get status").send().await.unwrap();
        assert_eq!(status.text().await.unwrap(), format!("q@{} running", node.network));
    }
    let put =
        client.put(node.url()).header("dbms", "d").header("table", "other").body("{\"a\": 1}");
    assert_eq!(put.send().await.unwrap().status(), 200);
    drop(queries);
    wait_for_queries(&node, 0);
}

#[tokio::test]
async fn a_query_has_the_memory_that_it_was_given() {
    let args = ["--query-memory", "1MiB", "--query-spill", "0", "--query-time", "60"];
    let node = start(&args);
    let body = json!({ "dbms": "d", "sql": "select text, n from t order by text desc" });
    let url = format!("{}/api/v1/sql", node.url());
    let reply = Client::new().post(url).json(&body).send().await.unwrap();
    assert_eq!(reply.status(), 503);
    let reply: serde_json::Value = reply.json().await.unwrap();
    assert_eq!(reply["err_code"], 77, "{reply}");
    assert!(reply["hint"].as_str().unwrap().contains("query-memory"), "{reply}");
    let count = Client::new()
        .get(node.url())
        .header("command", "sql d format = mcp select count(*) as n from t");
    assert_eq!(count.send().await.unwrap().text().await.unwrap(), format!("[{{\"n\":{ROWS}}}]"));
}

#[test]
fn what_a_killed_node_left_on_disk_is_removed() {
    let node = start(&[]);
    let folder = node.kill();
    let spill = folder.path().join("edgemere-data/rows/spill");
    let left: Vec<_> =
        std::fs::read_dir(&spill).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left.len(), 1, "{left:?}");
    std::fs::write(left[0].join("rows"), "x").unwrap();
    let node = Node::start_in(folder, &["--register", "false"]);
    assert!(!left[0].exists());
    assert_eq!(figure(&node, "query_spill_bytes"), 0);
}
