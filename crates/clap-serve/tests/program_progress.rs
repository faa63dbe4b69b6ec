//! The lines of a program as progress, and a call that is cancelled: as an MCP client sees them.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here has failed the test"
)]

use std::{fs, time::Duration};

use clap_serve::program::Program;
use mcp_serve::{Call, Catalog, Fault, Identity, Limits, Outcome, Server, Tool};
use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex,
    split,
};

const PATIENCE: Duration = Duration::from_secs(30);

struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Client {
    /// A client of a server whose one tool runs a script. The pipe between them holds so many bytes.
    async fn of(bytes: usize) -> Self {
        let server = Server::new(Identity::new("runner", "1"), Limits::default());
        server.publish(Catalog::new().tool(Tool::new("run", "Runs"), tool));
        let (here, there) = duplex(bytes);
        let (reader, writer) = split(there);
        tokio::spawn(async move { server.serve(reader, writer).await });
        let (reader, writer) = split(here);
        let mut client = Self { lines: BufReader::new(reader).lines(), writer };
        client
            .send(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" }
            } }))
            .await;
        assert_eq!(client.next().await["id"], 0);
        client.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        client
    }

    async fn send(&mut self, message: Value) {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await;
        serde_json::from_str(&line.expect("an answer in time").unwrap().unwrap()).unwrap()
    }

    async fn call(&mut self, id: u32, script: &str, wants_progress: bool) {
        let mut params = json!({ "name": "run", "arguments": { "script": script } });
        if wants_progress {
            params["_meta"] = json!({ "progressToken": id });
        }
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
            .await;
    }

    /// What is reported until the answer, and the answer.
    async fn answer(&mut self, id: u32) -> (Vec<Value>, Value) {
        let mut told = Vec::new();
        loop {
            let message = self.next().await;
            if message["id"] == id {
                return (told, message);
            }
            assert_eq!(message["method"], "notifications/progress", "{message}");
            assert_eq!(message["params"]["progressToken"], id);
            told.push(message["params"].clone());
        }
    }
}

async fn tool(call: Call) -> Result<Outcome, Fault> {
    let script = call.arguments["script"].as_str().unwrap_or_default();
    let program = Program::new("sh").args(["-c", script]);
    Ok(match program.run(&call).await {
        Ok(ran) => ran.outcome(),
        Err(error) => error.outcome(),
    })
}

#[tokio::test]
async fn lines_are_told_while_they_come() {
    let folder = TempDir::new().unwrap();
    let go = folder.path().join("go");
    let mut client = Client::of(1 << 20).await;
    let script = format!(
        "echo one; printf '\\033[31mtwo\\033[0m\\n' >&2; while [ ! -e {} ]; do sleep 0.01; done; \
         printf 'three'",
        go.display()
    );
    client.call(1, &script, true).await;
    let mut first = Vec::new();
    for _ in 0..2 {
        let told = client.next().await["params"].clone();
        assert_eq!(told["progress"], first.len() as f64 + 1.0);
        first.push(told["message"].as_str().unwrap().to_owned());
    }
    // The two streams are two: who was first nobody knows.
    first.sort_unstable();
    assert_eq!(first, ["one", "two"]);
    fs::write(&go, "").unwrap();
    let (told, answer) = client.answer(1).await;
    assert_eq!(told, [json!({ "progressToken": 1, "progress": 3.0, "message": "three" })]);
    assert_eq!(answer["result"]["content"][0]["text"], "one\nthree");
    assert_eq!(answer["result"]["isError"], false);
}

#[tokio::test]
async fn who_does_not_ask_for_progress_hears_of_none() {
    let mut client = Client::of(1 << 20).await;
    client.call(1, "echo one; echo two", false).await;
    let (told, answer) = client.answer(1).await;
    assert_eq!(told, [Value::Null; 0]);
    assert_eq!(answer["result"]["content"][0]["text"], "one\ntwo\n");
    assert_eq!(answer["result"]["_meta"]["clap-serve/run"]["exit_code"], 0);
}

#[tokio::test]
async fn a_reader_that_does_not_read_does_not_hold_up_the_program() {
    let folder = TempDir::new().unwrap();
    let done = folder.path().join("done");
    let mut client = Client::of(1 << 10).await;
    client.call(1, &format!("seq 1 100000; echo >{}", done.display()), true).await;
    let begin = std::time::Instant::now();
    while !done.exists() {
        assert!(begin.elapsed() < PATIENCE, "the program waits for the reader");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (told, answer) = client.answer(1).await;
    assert!(told.len() <= 200, "{}", told.len());
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("1\n2\n") && text.ends_with("99999\n100000\n"));
}

#[tokio::test]
async fn a_cancelled_call_ends_its_program() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("pid");
    let mut client = Client::of(1 << 20).await;
    let script = format!("sleep 1000 & echo $! >{0}; echo begun; wait", file.display());
    client.call(1, &script, true).await;
    assert_eq!(client.next().await["params"]["message"], "begun");
    let pid = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    let pid = Pid::from_raw(pid).unwrap();
    assert!(test_kill_process(pid).is_ok());
    client
        .send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                      "params": { "requestId": 1 } }))
        .await;
    let state = || fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let begin = std::time::Instant::now();
    while test_kill_process(pid).is_ok() && !state().is_ok_and(|state| state.contains(") Z")) {
        assert!(begin.elapsed() < PATIENCE, "the child of the program goes on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    client.call(2, "echo still here", false).await;
    assert_eq!(client.answer(2).await.1["result"]["content"][0]["text"], "still here\n");
}
