//! A node that cannot keep up, or whose disk is full: writers are refused, readers are served, and what
//! was acknowledged is there.

use std::path::{Path, PathBuf};
use std::process::Command;

use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::support::Node;

/// How many rows are sent at once.
const ROWS: u64 = 500;

/// Sends rows with the numbers from `first`.
async fn put(node: &Node, first: u64) -> Response {
    let row = |n: u64| json!({ "n": n, "text": format!("{n} {}", "x".repeat(100)) });
    let rows: Vec<_> = (first..first + ROWS).map(row).collect();
    let put = Client::new().put(node.url()).header("dbms", "d").header("table", "t");
    put.body(json!(rows).to_string()).send().await.unwrap()
}

/// Sends rows until the node has no more room for them; the first number that it did not take, and
/// its reply.
async fn put_until_refused(node: &Node, mut next: u64) -> (u64, Response) {
    loop {
        let reply = put(node, next).await;
        if reply.status() != 200 {
            return (next, reply);
        }
        next += ROWS;
    }
}

/// Every number is there once.
async fn assert_holds(node: &Node, next: u64) {
    let sql = "sql d format = mcp select count(*) as rows, count(distinct n) as numbers, min(n) as \
               first, max(n) as last from t";
    let request = Client::new().get(node.url()).header("command", sql);
    let held: Value = request.send().await.unwrap().json().await.unwrap();
    let expected = json!([{ "rows": next, "numbers": next, "first": 0, "last": next - 1 }]);
    assert_eq!(held, expected);
}

#[tokio::test]
async fn rows_that_cannot_be_flushed_are_refused_for_a_while() {
    let args = ["--register", "false", "--fresh-memory", "1MiB"];
    let node = Node::start(&args);
    // A file where the folder for Parquet files should be keeps rows from settling.
    let in_the_way = node.folder.path().join("edgemere-data/rows/data");
    std::fs::write(&in_the_way, "in the way").unwrap();
    let (mut next, refused) = put_until_refused(&node, 0).await;
    assert_eq!(refused.status(), 429);
    let seconds: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!(seconds >= 1);
    let error: Value = refused.json().await.unwrap();
    assert!(error["local_msg"].as_str().unwrap().contains("flushed"), "{error}");
    assert!(next > 0);
    assert_holds(&node, next).await;
    std::fs::remove_file(in_the_way).unwrap();
    // A writer that comes back gets in, once settling goes on.
    let mut tries = 0;
    while put(&node, next).await.status() != 200 {
        tries += 1;
        assert!(tries < 10, "it never goes on");
    }
    next += ROWS;
    assert_holds(&node, next).await;
    let node = Node::start_in(node.kill(), &args);
    assert_holds(&node, next).await;
}

/// A small disk in memory, until it is dropped.
struct Disk(PathBuf);

impl Disk {
    fn mount(folder: &Path) -> Result<Self, String> {
        std::fs::create_dir_all(folder).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=12m", "tmpfs"])
            .arg(folder)
            .output()
            .map_err(|error| error.to_string())?;
        match mount.status.success() {
            true => Ok(Self(folder.to_owned())),
            false => Err(String::from_utf8_lossy(&mount.stderr).into_owned()),
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // What stays mounted goes with the machine.
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[tokio::test]
async fn a_full_disk_is_told_and_survived() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("edgemere-data");
    let disk = match Disk::mount(&data) {
        Ok(disk) => disk,
        Err(reason) => {
            // The storage's own tests have a disk that is full on purpose, for everybody.
            eprintln!("NOT RUN: only root can mount a small disk here: {reason}");
            return;
        }
    };
    let ballast = data.join("ballast");
    std::fs::write(&ballast, vec![1; 4 << 20]).unwrap();
    let args = ["--register", "false"];
    let node = Node::start_in(folder, &args);
    let (mut next, refused) = put_until_refused(&node, 0).await;
    assert_eq!(refused.status(), 507);
    let error: Value = refused.json().await.unwrap();
    assert!(error["hint"].as_str().unwrap().contains("free some disk space"), "{error}");
    assert!(next > 0);
    // Reading goes on, and so does refusing.
    assert_holds(&node, next).await;
    assert_eq!(put(&node, next).await.status(), 507);
    std::fs::remove_file(&ballast).unwrap();
    assert_eq!(put(&node, next).await.status(), 200);
    next += ROWS;
    assert_holds(&node, next).await;
    // Full again, and killed.
    let (next, refused) = put_until_refused(&node, next).await;
    assert_eq!(refused.status(), 507);
    let node = Node::start_in(node.kill(), &args);
    assert_holds(&node, next).await;
    drop(node);
    drop(disk);
}
