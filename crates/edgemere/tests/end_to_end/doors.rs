//! Doors that are held open: sockets that say nothing, bodies that do not end, and more rows at once than
//! there is memory for. Honest clients are answered all the while.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::Client;

use crate::support::{Node, edgemere};

/// A node that may have only so many files open.
fn node_with_few_files(files: usize) -> Node {
    let folder = tempfile::tempdir().unwrap();
    let program = edgemere(folder.path(), &[]);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {files}; exec \"$0\" \"$@\"")]);
    command.arg(program.get_program());
    command.args(["node", "--http", "127.0.0.1:0", "--network", "127.0.0.1:0"]);
    command.env_clear().current_dir(folder.path()).env("HOME", folder.path());
    Node::launch(folder, command)
}

#[tokio::test]
async fn sockets_that_are_held_open_keep_nobody_out() {
    let node = node_with_few_files(256);
    let half =
        "PUT / HTTP/1.1\r\nhost: localhost\r\ndbms: d\r\ntable: t\r\ncontent-length: 99\r\n\r\n[";
    let kinds = [
        "",
        "GET / HTTP/1.1\r\nhost: local",
        half,
        "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n",
    ];
    let mut held = Vec::new();
    for number in 0..300 {
        let address = if number % 2 == 0 { &node.http } else { &node.network };
        let mut stream = TcpStream::connect(address).unwrap();
        // It may have been closed already, for another one.
        let _ = stream.write_all(kinds[number / 2 % kinds.len()].as_bytes());
        held.push(stream);
        if number % 50 == 49 {
            let client = Client::new();
            let health = client.get(format!("{}/health/live", node.url())).send().await.unwrap();
            assert_eq!(health.status(), 200, "after {number}");
            let put = client.put(node.url()).header("dbms", "d").header("table", "t");
            let put = put.body("[{\"a\": 1}]").send().await.unwrap();
            assert_eq!(put.status(), 200, "after {number}");
            let itself = format!("run client ({}) get status", node.network);
            let (stdout, stderr, code) = node.run(&[&itself]);
            assert_eq!(code, 0, "after {number}: {stdout} {stderr}");
        }
    }
    let (count, ..) =
        node.run(&["sql d format = json and stat = false select count(*) as n from t"]);
    assert!(count.contains("\"n\":6") || count.contains("\"n\": 6"), "{count}");
    drop(held);
}

#[test]
fn a_body_that_does_not_come_on_is_not_waited_for() {
    let node = Node::start(&[]);
    let mut slow: Vec<_> = (0..20).map(|_| TcpStream::connect(&node.http).unwrap()).collect();
    for (stream, line) in
        slow.iter_mut().zip(["PUT /", "POST /", "POST /mcp", "POST /api/v1/sql"].iter().cycle())
    {
        let head = format!(
            "{line} HTTP/1.1\r\nhost: localhost\r\ndbms: d\r\ntable: t\r\n\
             content-type: application/json\r\ncontent-length: 1000\r\n\r\n[{{"
        );
        stream.write_all(head.as_bytes()).unwrap();
    }
    for stream in &mut slow {
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let mut reply = [0; 12];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(String::from_utf8_lossy(&reply), "HTTP/1.1 408");
    }
    assert!(node.run(&["get status"]).0.contains("running"));
}

/// The most memory that a node has had, in MiB.
#[cfg(target_os = "linux")]
fn peak_mib(node: &Node) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", node.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() >> 10
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn more_rows_at_once_than_there_is_memory_for_are_turned_away() {
    let node = Node::start(&["--body-memory", "32MiB", "--fresh-memory", "16MiB"]);
    let before = peak_mib(&node);
    let rows: Vec<_> = (0..30_000).map(|n| format!("{{\"a\":{n},\"b\":\"{n:060}\"}}")).collect();
    let rows = format!("[{}]", rows.join(","));
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(rows.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let client = Client::new();
    let puts: Vec<_> = (0..40)
        .map(|number| {
            let put = client.put(node.url()).header("dbms", "d").header("table", "t");
            // Inflated, all of them have twice the memory that they may take.
            let put = match number % 2 {
                0 => put.header("content-encoding", "gzip").body(gzip.clone()),
                _ => put.body(rows.clone()),
            };
            tokio::spawn(async move {
                let reply = put.send().await.unwrap();
                let retry = reply.headers().contains_key("retry-after");
                (reply.status().as_u16(), retry)
            })
        })
        .collect();
    let is_over = AtomicBool::new(false);
    let watch = async {
        while !is_over.load(Ordering::Relaxed) {
            let health = client.get(format!("{}/health/live", node.url())).send().await.unwrap();
            assert_eq!(health.status(), 200);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let stored = async {
        let mut statuses = Vec::new();
        for put in puts {
            statuses.push(put.await.unwrap());
        }
        is_over.store(true, Ordering::Relaxed);
        statuses
    };
    let (statuses, ()) = tokio::join!(stored, watch);
    let stored = statuses.iter().filter(|(status, _)| *status == 200).count();
    let refused = statuses.iter().filter(|reply| **reply == (429, true)).count();
    assert!(stored > 0 && stored + refused == statuses.len(), "{statuses:?}");
    let grown = peak_mib(&node) - before;
    assert!(grown < 200, "{grown} MiB more, {stored} stored");
    let metrics = client.get(format!("{}/metrics", node.url())).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    let rows = format!("edgemere_rows_stored_total {}\n", stored * 30_000);
    assert!(metrics.contains(&rows), "{rows} {metrics}");
    assert!(
        metrics.contains("edgemere_commands_total{command=\"put\",outcome=\"ok\"}"),
        "{metrics}"
    );
}
