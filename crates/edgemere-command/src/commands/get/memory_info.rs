//! `get memory info`: how much memory the machine has, and has left.

use serde_json::{Map, Value, json};

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::reply::Reply;

pub(crate) struct MemoryInfo;

impl Report for MemoryInfo {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get memory info",
        usage: "get memory info [where format = FORMAT]",
        about: "Shows the machine's memory: total, available, used and free.",
        details: "Figures are in megabytes, and in bytes in JSON.",
        examples: &["get memory info", "get memory info where format = json"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let memory = context.node.host.memory();
        let figures = [
            ("Total", memory.total),
            ("Available", memory.available),
            ("Used", memory.used),
            ("Free", memory.free),
        ];
        let mut text = String::new();
        let mut json = Map::new();
        for (name, bytes) in figures {
            let megabytes = bytes / BYTES_PER_MB;
            text.push_str(&format!("\n{:<11}{}MB", format!("{name}:"), with_commas(megabytes)));
            json.insert(name.to_lowercase(), json!(bytes));
        }
        text.push('\n');
        Ok(Reply::text(text).with_json(Value::Object(json)))
    }
}

const BYTES_PER_MB: u64 = 1 << 20;

/// A number with a comma before every third digit.
pub(super) fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
