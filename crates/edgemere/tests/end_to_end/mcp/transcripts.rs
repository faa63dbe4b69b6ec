//! Whole talks with a node, from files, over every way to it: what an agent sends (`>`) and what it
//! gets (`<`). All ways give the same.
//!
//! `> TOOL ARGUMENTS` is a call, `> / METHOD PARAMS` any other request. `< ok` is a structured answer,
//! `< fails` what an answer says that is an error, `< error` an error of the protocol. `$cursor` stands
//! for the last one that came. With `UPDATE_GOLDENFILES=1` the files are written anew: review the
//! difference.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::store;
use super::wire::{How, Wire};
use crate::support::{Node, edgemere, node_file};

/// Rows of the table, more than one page.
const ROWS: usize = 500;

/// What differs from run to run, whatever it is.
const VARIES: [&str; 18] = [
    "time_ms",
    "rows_read",
    "run_time_ms",
    "first_row_ms",
    "started",
    "date",
    "id",
    "ledger",
    "port",
    "bytes",
    "uri",
    "Cluster ID",
    "Member ID",
    "Start timestamp",
    "Query timestamp",
    "Operational time",
    "Total events",
    "New events",
];

macro_rules! over_every_way {
    ($name:ident, $file:literal, $tools:literal) => {
        mod $name {
            use super::*;

            #[tokio::test]
            async fn in_a_session() {
                run($file, $tools, How::Session).await;
            }

            #[tokio::test]
            async fn stateless() {
                run($file, $tools, How::Stateless).await;
            }

            #[tokio::test]
            async fn sse() {
                run($file, $tools, How::Sse).await;
            }

            #[tokio::test]
            async fn edgelakes_sse() {
                run($file, $tools, How::EdgeLakeSse).await;
            }

            #[tokio::test]
            async fn stdio() {
                run($file, $tools, How::Stdio).await;
            }

            #[tokio::test]
            async fn stdio_to_another_node() {
                run($file, $tools, How::Remote).await;
            }
        }
    };
}

over_every_way!(shipped, "shipped.txt", "edgemere");
over_every_way!(edgelake, "edgelake.txt", "edgelake");

/// Runs a talk. One way may write its file.
async fn run(file: &str, tools: &str, how: How) {
    let flags = ["--name", "plant", "--tools", tools];
    let mut node = Node::start(&flags);
    store(&node, "t", ROWS).await;
    // Rows settle when a node ends: all ways find the same files.
    assert!(node.stop("TERM").success());
    let node = match how {
        How::Stdio => node,
        _ => Node::start_in(node.take_folder(), &flags),
    };
    let mut talk = Talk {
        wire: match how {
            How::Stdio => {
                let inside = ["mcp", "--http", "127.0.0.1:0", "--network", "127.0.0.1:0"];
                let args = [inside.as_slice(), &flags].concat();
                Wire::process(how, edgemere(node.folder.path(), &args))
            }
            _ => Wire::to(&node, tools, how).await,
        },
        cursor: Value::Null,
        schemas: Map::new(),
    };
    talk.wire.begin().await;
    talk.learn_schemas().await;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/transcripts").join(file);
    let kept = std::fs::read_to_string(&path).unwrap();
    let mut said = String::new();
    for line in kept.lines().filter(|line| !line.starts_with('<')) {
        said.push_str(&format!("{line}\n"));
        if let Some(sent) = line.strip_prefix("> ") {
            said.push_str(&format!("{}\n", talk.answer(sent, &node).await));
        }
    }
    if how == How::Session && std::env::var_os("UPDATE_GOLDENFILES").is_some() {
        return std::fs::write(path, said).unwrap();
    }
    for (number, (said, line)) in said.lines().zip(kept.lines()).enumerate() {
        assert_eq!(said, line, "{file}:{} over {how:?}", number + 1);
    }
    assert_eq!(said.lines().count(), kept.lines().count(), "{file} over {how:?}");
}

struct Talk {
    wire: Wire,
    cursor: Value,
    /// What each tool says its answers are.
    schemas: Map<String, Value>,
}

impl Talk {
    async fn learn_schemas(&mut self) {
        let listed = self.wire.ask("tools/list", json!({})).await;
        for tool in listed["result"]["tools"].as_array().unwrap() {
            let name = tool["name"].as_str().unwrap().to_owned();
            self.schemas.insert(name, tool.get("outputSchema").cloned().unwrap_or(json!(true)));
        }
    }

    /// What is answered, without what differs from run to run.
    async fn answer(&mut self, sent: &str, node: &Node) -> String {
        let (method, params) = match sent.strip_prefix("/ ") {
            Some(other) => {
                let (method, params) = other.split_once(' ').unwrap_or((other, "{}"));
                (method, self.filled(params))
            }
            None => {
                let (tool, arguments) = sent.split_once(' ').unwrap_or((sent, "{}"));
                ("tools/call", json!({ "name": tool, "arguments": self.filled(arguments) }))
            }
        };
        let mut message = self.wire.ask(method, params).await;
        if let Some(error) = message.get("error") {
            // What is not there has a code of its own only in sessions.
            let is_of_resource = method == "resources/read" && error["code"] == -32602;
            let code = if is_of_resource { json!(-32002) } else { error["code"].clone() };
            return format!("< error {code} {}", error["message"].as_str().unwrap());
        }
        let mut result = message["result"].take();
        if result["isError"] == true {
            let text = result["content"][0]["text"].as_str().unwrap();
            return format!("< fails {}", named(text, node).replace('\n', " / "));
        }
        if let Some(cursor) = result.pointer("/structuredContent/next_cursor") {
            self.cursor = cursor.clone();
        }
        let answer = match result.get("structuredContent") {
            Some(structured) => {
                let (tool, _) = sent.split_once(' ').unwrap_or((sent, ""));
                let schema = &self.schemas[tool];
                assert!(
                    jsonschema::is_valid(schema, structured),
                    "{tool}: {structured} for {schema}"
                );
                structured.clone()
            }
            None => {
                // What only one era of the protocol says.
                for key in ["_meta", "resultType", "ttlMs", "cacheScope"] {
                    result.as_object_mut().unwrap().remove(key);
                }
                result
            }
        };
        format!("< ok {}", named(&masked(answer).to_string(), node))
    }

    fn filled(&self, text: &str) -> Value {
        let cursor = self.cursor.as_str().unwrap_or_default();
        serde_json::from_str(&text.replace("$cursor", cursor)).unwrap()
    }
}

/// Puts names for what is another one in each run.
fn named(text: &str, node: &Node) -> String {
    // A node inside of another process has its own addresses.
    let about = std::fs::read_to_string(node_file(node.folder.path())).unwrap();
    let about: Value = serde_json::from_str(&about).unwrap();
    let text = text.replace(about["http"].as_str().unwrap(), "$http");
    without_times(&text.replace(about["network"].as_str().unwrap(), "$network"))
}

/// A text with a word in the place of each time.
fn without_times(text: &str) -> String {
    const FORM: &str = "0000-00-00 00:00:00";
    let is_time = |text: &str| {
        let fits =
            |(form, c): (char, char)| if form == '0' { c.is_ascii_digit() } else { c == form };
        text.len() >= FORM.len() && FORM.chars().zip(text.chars()).all(fits)
    };
    let (mut rest, mut without) = (text, String::new());
    while let Some(c) = rest.chars().next() {
        let length = if is_time(rest) { FORM.len() } else { c.len_utf8() };
        let (taken, after) = rest.split_at(length);
        (without, rest) = match is_time(rest) {
            true => {
                let is_fraction = |c: char| c == '.' || c.is_ascii_digit();
                (without + "$time", after.trim_start_matches(is_fraction))
            }
            false => (without + taken, after),
        };
    }
    without
}

/// A value without what differs from run to run.
fn masked(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            // Of fresh rows and of settled ones other numbers are read, and a reply from afar has none.
            let told = object.into_iter().filter(|(key, _)| key != "rows_scanned");
            let masked = told.map(|(key, value)| {
                let value = match key.as_str() {
                    "next_cursor" => json!("$cursor"),
                    key if VARIES.contains(&key) => json!("…"),
                    _ => masked(value),
                };
                (key, value)
            });
            Value::Object(masked.collect::<Map<_, _>>())
        }
        Value::Array(array) => array.into_iter().map(masked).collect(),
        value => value,
    }
}
