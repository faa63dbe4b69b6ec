//! An import whose node is killed in the middle, and one that is interrupted: the same command goes
//! on, and every row is there once. The same for whoever sends rows with a key of its own.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::thread;

use reqwest::Client;
use serde_json::{Value, json};

use crate::support::{Node, edgemere, end, parts, run, signal, wait_for};

const ROWS: u64 = 3000;

/// How often the node is killed under a writer that sends until it is reported.
const KILLS: u64 = 50;

fn csv() -> String {
    (0..ROWS).fold("n\n".to_owned(), |text, n| text + &format!("{n}\n"))
}

fn count(node: &Node) -> u64 {
    let (stdout, _, code) = node.run(&["get rows count where format = json"]);
    assert_eq!(code, 0, "{stdout}");
    let counts: Value = serde_json::from_str(&stdout).unwrap();
    counts["d.t"].as_u64().unwrap_or(0)
}

fn assert_once(node: &Node) {
    let sql = "select count(*) as n, count(distinct n) as d, sum(n) as s from t";
    let args = ["sql", "d", sql, "--format", "csv", "--node", &node.http];
    let (stdout, stderr, _) = parts(&run(node.folder.path(), &args));
    let sum = ROWS * (ROWS - 1) / 2;
    assert_eq!(stdout, format!("n,d,s\n{ROWS},{ROWS},{sum}\n"), "{stderr}");
}

#[test]
fn an_import_goes_on_after_its_node_was_killed() {
    let files = tempfile::tempdir().unwrap();
    fs::write(files.path().join("t.csv"), csv()).unwrap();
    let args = |node: &Node| {
        let text =
            format!("import t.csv --dbms d --batch-rows 10 --patience 0 --node {}", node.http);
        text.split(' ').map(String::from).collect::<Vec<_>>()
    };
    let mut folder = tempfile::tempdir().unwrap();
    for round in 0..3 {
        let node = Node::start_in(folder, &[]);
        let before = count(&node);
        let args = args(&node);
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let mut command = edgemere(files.path(), &args);
        let import = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for("some rows", || (count(&node) > before).then_some(()));
        folder = node.kill();
        let output = import.wait_with_output().unwrap();
        let talk = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(6), "{round}: {talk}");
        assert!(talk.contains(" rows of it are stored for sure\n"), "{talk}");
        assert!(talk.contains("run the same command again"), "{talk}");
    }
    let node = Node::start_in(folder, &[]);
    assert!(count(&node) < ROWS, "the import was too fast to be killed");
    let args = args(&node);
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let (_, talk, code) = parts(&run(files.path(), &args));
    assert_eq!(code, 0, "{talk}");
    assert!(talk.contains(" stored before in "), "{talk}");
    assert_once(&node);
}

#[test]
fn an_interrupted_import_ends_its_pieces_and_says_how_to_go_on() {
    let node = Node::start(&[]);
    fs::write(node.folder.path().join("t.csv"), csv()).unwrap();
    let args = ["import", "t.csv", "--dbms", "d", "--batch-rows", "10", "--node", &node.http];
    let mut command = edgemere(node.folder.path(), &args);
    let mut import = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("some rows", || (count(&node) > 0).then_some(()));
    signal(&import, "INT");
    assert_eq!(end(&mut import).code(), Some(130));
    let talk = String::from_utf8(import.wait_with_output().unwrap().stderr).unwrap();
    let stored = count(&node);
    assert!(stored < ROWS, "the import was too fast to be interrupted");
    let said = talk.split("interrupted: ").nth(1).unwrap().split(" rows stored").next().unwrap();
    assert_eq!(said.replace(',', ""), stored.to_string(), "{talk}");
    assert!(talk.contains("run the same command again"), "{talk}");
    let (_, talk, code) = parts(&run(node.folder.path(), &args));
    assert_eq!(code, 0, "{talk}");
    assert_once(&node);
}

/// A node that is busy, then gone, then busy again, and takes the rows at last.
#[test]
fn a_piece_is_sent_again_under_its_key_until_there_is_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), "n\n1\n2\n").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answers = [
        Some("429 Too Many Requests\r\nretry-after: 0\r\ncontent-length: 0"),
        None,
        Some("503 Service Unavailable\r\nretry-after: 0\r\ncontent-length: 0"),
        Some("200 OK\r\ncontent-type: application/json\r\ncontent-length: 13"),
    ];
    let node = thread::spawn(move || {
        answers.map(|answer| {
            let (mut stream, _) = listener.accept().unwrap();
            let key = read_request(&stream);
            if let Some(answer) = answer {
                let head = format!("HTTP/1.1 {answer}\r\nconnection: close\r\n\r\n");
                let body = if answer.starts_with("200") { "{\"stored\": 2}" } else { "" };
                stream.write_all((head + body).as_bytes()).unwrap();
            }
            key
        })
    });
    let args = ["import", "t.csv", "--dbms", "d", "--node", &address];
    let (_, talk, code) = parts(&run(folder.path(), &args));
    assert_eq!(code, 0, "{talk}");
    assert!(talk.contains("2 rows stored in "), "{talk}");
    let keys = node.join().unwrap();
    assert!(keys[0].len() == 32 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

/// Reads a request to its end, and returns the key that it came with.
fn read_request(stream: &TcpStream) -> String {
    let mut lines = BufReader::new(stream);
    let (mut key, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        match line.trim().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("idempotency-key") => {
                key = value.to_owned();
            }
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().unwrap();
            }
            Some(_) => {}
            None if line.trim().is_empty() => break,
            None => {}
        }
    }
    lines.read_exact(&mut vec![0; length]).unwrap();
    key
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_sent_again_with_their_key_are_never_lost_and_never_doubled() {
    let arguments = ["--name", "crash", "--register", "false"];
    let mut folder = tempfile::tempdir().unwrap();
    let mut next = 0;
    for round in 0..KILLS {
        let node = Node::start_in(folder, &arguments);
        let url = format!("{}/api/v1/ingest/d/t", node.url());
        let first = next;
        let writer = tokio::spawn(async move { send_until_gone(&url, first).await });
        let enough = node_rows(&node).await + 1 + round % 5;
        while node_rows(&node).await < enough {
            tokio::task::yield_now().await;
        }
        folder = node.kill();
        // The last one may be stored or not: it is the first that is sent to the next node.
        next = writer.await.unwrap();
    }
    let node = Node::start_in(folder, &arguments);
    let (status, reply) = send(&format!("{}/api/v1/ingest/d/t", node.url()), next).await.unwrap();
    assert_eq!(status, 200, "{reply}");
    let sql = "sql d format = mcp:columns and stat = false select n from t order by n";
    let reply = Client::new().get(node.url()).header("command", sql).send().await.unwrap();
    let reply: Value = serde_json::from_str(&reply.text().await.unwrap()).unwrap();
    let numbers = reply["rows"].as_array().unwrap().iter().map(|row| row[0].as_u64().unwrap());
    assert!(numbers.eq(0..=next), "rows are lost or doubled");
    assert!(next >= KILLS, "{next}");
}

/// Sends rows one by one until the node is gone; the first that it did not acknowledge.
async fn send_until_gone(url: &str, first: u64) -> u64 {
    let mut next = first;
    loop {
        match send(url, next).await {
            Ok((200, _)) => next += 1,
            Ok((status, reply)) => panic!("{status}: {reply}"),
            Err(_) => return next,
        }
    }
}

async fn send(url: &str, number: u64) -> Result<(u16, String), reqwest::Error> {
    let request = Client::new().post(url).header("idempotency-key", format!("row {number}"));
    let reply = request.json(&json!([{ "n": number }])).send().await?;
    Ok((reply.status().as_u16(), reply.text().await?))
}

async fn node_rows(node: &Node) -> u64 {
    let command = "get rows count where format = json";
    let reply = Client::new().get(node.url()).header("command", command).send().await.unwrap();
    let counts: Value = serde_json::from_str(&reply.text().await.unwrap()).unwrap();
    counts["d.t"].as_u64().unwrap_or(0)
}
