//! stdio as it is used: a process of its own, whose stdin ends.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here has failed the test"
)]
#![cfg(unix)]

mod common;

use std::{
    fs::File,
    os::fd::OwnedFd,
    path::PathBuf,
    process::{Command, Stdio},
};

use common::wire::Wire;
use serde_json::json;

/// Examples are built with the tests, into a folder beside theirs.
fn example(name: &str) -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

#[tokio::test]
async fn a_process_is_served_over_its_pipes_and_ends_with_them() {
    let mut child = Command::new(example("conformance"))
        .arg("--stdio")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the example is built by `cargo test -p mcp-serve`");
    let pipe = |end: OwnedFd| tokio::fs::File::from_std(File::from(end));
    let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut wire = Wire::over(pipe(stdout.into()), pipe(stdin.into()));
    wire.send(common::http::initialize("2025-11-25")).await;
    assert_eq!(wire.receive().await["result"]["serverInfo"]["name"], "conformance");
    wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    wire.send(json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "test_tool_with_progress", "_meta": { "progressToken": 1 } }
    }))
    .await;
    for progress in [0.0, 50.0, 100.0] {
        assert_eq!(wire.receive().await["params"]["progress"], progress);
    }
    assert_eq!(wire.receive().await["id"], 1);
    wire.send(json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "test_simple_text" }
    }))
    .await;
    // Active calls are answered after stdin ends; then the process ends.
    let rest = wire.hang_up().await;
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0]["id"], 2);
    let ended = tokio::task::spawn_blocking(move || child.wait());
    let status = common::soon(ended).await.unwrap().unwrap();
    assert!(status.success(), "{status}");
}
