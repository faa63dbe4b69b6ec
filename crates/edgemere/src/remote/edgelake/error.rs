//! EdgeLake's errors: an object with a code, often with the status of success.

use edgemere_command::Kind;
use edgemere_tools::Failure;
use reqwest::StatusCode;
use serde_json::Value;

/// How much is reported of an answer that is none of EdgeLake's.
const STRANGE_CHARS_MAX: usize = 200;

/// What went wrong; none when nothing did.
pub(super) fn of(status: StatusCode, reply: &Value, body: &str) -> Option<Failure> {
    match reply.get("err_code").and_then(Value::as_u64) {
        Some(code) => Some(told(code, reply)),
        None if status.is_success() => None,
        None => {
            let start: String = body.trim().chars().take(STRANGE_CHARS_MAX).collect();
            let kind = Kind::from_http_status(status.as_u16());
            Some(Failure::new(kind, format!("the node answered {status}: {start}"), None))
        }
    }
}

fn told(code: u64, reply: &Value) -> Failure {
    let text = |key: &str| reply.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let mut message = format!("EdgeLake's error {code}: {}", text("err_text").unwrap_or("unknown"));
    // The misspelled key is EdgeLake's own.
    for more in [text("local_msg"), text("operaor_msg")].into_iter().flatten() {
        message.push_str(&format!(": {}", more.trim()));
    }
    let (kind, hint) = meaning(code);
    Failure::new(kind, message, hint.map(ToOwned::to_owned))
}

/// What the codes that an agent meets mean, and the next step.
fn meaning(code: u64) -> (Kind, Option<&'static str>) {
    match code {
        45 | 132 => (Kind::NotFound, Some("look up the databases and tables that there are")),
        46 => (
            Kind::Input,
            Some(
                "EdgeLake answers one SELECT of one table: columns, aggregates, comparisons with AND and \
                 OR, GROUP BY, ORDER BY and LIMIT",
            ),
        ),
        10 => (
            Kind::Unavailable,
            Some("ask a query node: this one has no database for the results of others"),
        ),
        26 => (Kind::Unavailable, Some("ask for less, or again later")),
        20 | 155 => (Kind::Input, Some("name the nodes by address, or leave the destination out")),
        203 | 208 => (
            Kind::Unavailable,
            Some("an operator does not answer: ask again later, or with subset for the others"),
        ),
        212 => (Kind::Denied, None),
        _ => (Kind::Input, None),
    }
}
