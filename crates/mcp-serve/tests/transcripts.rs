//! Whole talks, from files, over every transport: what a client sends (`>`), and what it gets (`<`).
//!
//! `> METHOD PARAMS` is a request, `> notify METHOD PARAMS` a notification, `> = RESULT` the answer to
//! a question of the server. `$cursor`, `$state` and `$task` stand for what came last. With
//! `UPDATE_GOLDENFILES=1` the files are written anew: review the difference.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here has failed the test"
)]

mod common;

use std::{collections::BTreeMap, fs, path::Path};

use common::wire::{How, Wire};
use serde_json::{Map, Value, json};

/// What differs from run to run, and the name that stands for it.
const NAMED: [(&str, &str); 6] = [
    ("nextCursor", "$cursor"),
    ("requestState", "$state"),
    ("taskId", "$task"),
    ("createdAt", "$time"),
    ("lastUpdatedAt", "$time"),
    ("elicitationId", "$id"),
];

#[tokio::test]
async fn sessions_over_a_pipe() {
    run("sessions.txt", How::Pipe, true).await;
}

#[tokio::test]
async fn sessions_over_sse() {
    run("sessions.txt", How::Sse, false).await;
}

#[tokio::test]
async fn sessions_over_edgelakes_sse() {
    run("sessions.txt", How::EdgeLakeSse, false).await;
}

#[tokio::test]
async fn sessions_over_streamable_http() {
    run("sessions.txt", How::Streamable, false).await;
}

#[tokio::test]
async fn stateless_over_http() {
    run("stateless.txt", How::Stateless, true).await;
}

#[tokio::test]
async fn stateless_over_a_pipe() {
    run("stateless.txt", How::StatelessPipe, false).await;
}

/// Runs a talk over a transport. One transport of each talk may write the file.
async fn run(name: &str, how: How, may_write: bool) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts").join(name);
    let text = fs::read_to_string(&path).unwrap();
    let server = common::server(common::limits());
    let mut talk = Talk {
        wire: Wire::connect(&server, how).await,
        named: BTreeMap::new(),
        number: 0,
        asked: None,
        said: String::new(),
    };
    for line in text.lines() {
        talk.line(line).await;
    }
    server.close().await;
    if may_write && std::env::var_os("UPDATE_GOLDENFILES").is_some() {
        fs::write(path, talk.said).unwrap();
        return;
    }
    for (number, (said, line)) in talk.said.lines().zip(text.lines()).enumerate() {
        assert_eq!(said, line, "{name}:{} over {how:?}", number + 1);
    }
    assert_eq!(talk.said.lines().count(), text.lines().count(), "{name} over {how:?}");
}

struct Talk {
    wire: Wire,
    named: BTreeMap<&'static str, Value>,
    number: i64,
    /// The id of a question that the server has asked.
    asked: Option<Value>,
    said: String,
}

impl Talk {
    async fn line(&mut self, line: &str) {
        if line.starts_with('<') {
            return;
        }
        self.said.push_str(line);
        self.said.push('\n');
        let Some(sent) = line.strip_prefix("> ") else { return };
        if let Some(answer) = sent.strip_prefix("= ") {
            let result: Value = serde_json::from_str(answer).unwrap();
            let id = self.asked.take().expect("the server has asked nothing");
            self.wire.send(json!({ "jsonrpc": "2.0", "id": id, "result": result })).await;
            return self.listen().await;
        }
        if let Some(told) = sent.strip_prefix("notify ") {
            return self.wire.send(self.message(told, None)).await;
        }
        self.number += 1;
        let message = self.message(sent, Some(self.number));
        self.wire.send(message).await;
        self.listen().await;
    }

    fn message(&self, line: &str, id: Option<i64>) -> Value {
        let (method, params) = line.split_once(' ').unwrap_or((line, ""));
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if let Some(id) = id {
            message["id"] = id.into();
        }
        if !params.is_empty() {
            let params = serde_json::from_str(params).unwrap_or_else(|e| panic!("{line}: {e}"));
            message["params"] = self.filled(params);
        }
        message
    }

    /// Notes all that comes, until the answer, or a question.
    async fn listen(&mut self) {
        loop {
            let message = self.wire.receive().await;
            let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
            let (word, value) = match (&method, message.get("result"), message.get("error")) {
                (Some(method), ..) => (method.as_str(), message["params"].clone()),
                (_, Some(result), _) => ("result", result.clone()),
                (_, _, Some(error)) => ("error", error.clone()),
                _ => panic!("{message} is no message"),
            };
            let value = self.name(value);
            let line = format!("< {word} {value}\n");
            self.said.push_str(&line);
            match (method, message.get("id")) {
                (Some(_), None) => {}
                (Some(_), Some(id)) => {
                    self.asked = Some(id.clone());
                    return;
                }
                (None, id) => {
                    assert_eq!(id, Some(&json!(self.number)));
                    return;
                }
            }
        }
    }

    /// Puts names for what differs from run to run.
    fn name(&mut self, value: Value) -> Value {
        match value {
            Value::Object(object) => {
                let named = object.into_iter().map(|(key, value)| {
                    let name = NAMED.iter().find(|(known, _)| *known == key);
                    let value = match name {
                        Some((_, name)) if value.is_string() => {
                            self.named.insert(name, value);
                            Value::String((*name).to_owned())
                        }
                        // Each request of ours has a token of rmcp's.
                        None if key == "progressToken" && value.is_number() => json!("$token"),
                        _ => self.name(value),
                    };
                    (key, value)
                });
                Value::Object(named.collect::<Map<_, _>>())
            }
            Value::Array(array) => array.into_iter().map(|value| self.name(value)).collect(),
            value => value,
        }
    }

    /// Puts what names stand for.
    fn filled(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.named.get(text.as_str()).cloned().unwrap_or(text.into()),
            Value::Object(object) => {
                object.into_iter().map(|(key, value)| (key, self.filled(value))).collect()
            }
            Value::Array(array) => array.into_iter().map(|value| self.filled(value)).collect(),
            value => value,
        }
    }
}
