//! What honest clients ask: rows in, queries through REST and through MCP, commands. An answer
//! and an honest refusal are distinguished by status and structure, not by their text.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::wire::{Gone, PATIENCE, Reply, exchange, request};

/// The database of all tables.
pub(super) const DBMS: &str = "d";

/// The rows of an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) rows: Vec<Vec<Value>>,
    /// The operators that it says it is without, and whether it says so at all.
    pub(super) is_partial: bool,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    /// The node said no.
    Said(u16, String),
    /// There was no whole reply.
    Gone(Gone),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Said(status, text) => write!(f, "{status}: {text}"),
            Self::Gone(Gone::Cut(why)) => write!(f, "no reply: {why}"),
            Self::Gone(Gone::Silent) => write!(f, "no reply in {} s", PATIENCE.as_secs()),
        }
    }
}

/// Whom a query is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// The node that is asked.
    Node,
    /// All operators.
    Network,
    /// Those operators that answer.
    Subset,
}

/// Asks a query as tools do, and gives all of its rows.
pub(super) fn sql(node: SocketAddr, of: Of, statement: &str) -> Result<Answer, Refusal> {
    let destination = (of != Of::Node).then_some("network");
    let question = json!({
        "command": format!("sql {DBMS} {statement}"),
        "rows": 1_000_000, "bytes": 32 << 20, "timeout_s": 30,
    "destination": destination, "subset": of == Of::Subset,
    });
    let reply =
        post(node, "/api/v1/answers", "application/json", &[], question.to_string().as_bytes())?;
    let page: Value = serde_json::from_slice(&reply.body)
        .map_err(|_| Refusal::Said(reply.status, format!("no JSON: {}", reply.text())))?;
    answer_in(&page).ok_or_else(|| Refusal::Said(reply.status, format!("no rows: {page}")))
}

/// The rows of a page, and whether it says that some are missing.
fn answer_in(page: &Value) -> Option<Answer> {
    let rows: Option<Vec<Vec<Value>>> =
        page.get("rows")?.as_array()?.iter().map(|row| row.as_array().cloned()).collect();
    // A tool tells where its rows come from in an object of its own.
    let is_partial = [Some(page), page.get("provenance")].into_iter().flatten().any(|told| {
        let is = |key: &str, so: bool| told.get(key).and_then(Value::as_bool) == Some(so);
        let missing = told.get("missing").and_then(Value::as_array);
        missing.is_some_and(|missing| !missing.is_empty())
            || is("complete", false)
            || is("has_more", true)
            || is("truncated", true)
    });
    Some(Answer { rows: rows?, is_partial })
}

/// Asks a query as an agent does: over MCP, with the tool "sql", of the network.
pub(super) fn agent(node: SocketAddr, statement: &str) -> Result<Answer, Refusal> {
    let call = json!({
        "jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": { "name": "sql", "arguments": { "database": DBMS, "sql": statement } },
    });
    let message = mcp(node, &call)?;
    let result = message.get("result").cloned().unwrap_or_default();
    if result.get("isError").is_some_and(|failed| failed == true) || result.is_null() {
        return Err(Refusal::Said(200, message.to_string()));
    }
    let page = result.get("structuredContent").cloned().unwrap_or_default();
    answer_in(&page).ok_or_else(|| Refusal::Said(200, format!("no rows: {message}")))
}

/// One call of MCP, in a session of its own.
pub(super) fn mcp(node: SocketAddr, call: &Value) -> Result<Value, Refusal> {
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "torture", "version": "1" },
        },
    });
    let accept = ("accept", "application/json, text/event-stream");
    let opened = post(node, "/mcp", JSON, &[accept], hello.to_string().as_bytes())?;
    let session = opened.header("mcp-session-id").unwrap_or_default().to_owned();
    let headers = [accept, ("mcp-session-id", &session), ("mcp-protocol-version", "2025-06-18")];
    let reply = post(node, "/mcp", JSON, &headers, call.to_string().as_bytes())?;
    // Sessions are few: an agent that is done says so.
    let _ = exchange(node, &request("DELETE /mcp", &node.to_string(), &headers, b""), PATIENCE);
    Ok(message_in(&reply.text()))
}

const JSON: &str = "application/json";

/// The message in a body: the body itself, or the last event of a stream.
fn message_in(body: &str) -> Value {
    if let Ok(message) = serde_json::from_str(body) {
        return message;
    }
    let events = body.lines().filter_map(|line| line.strip_prefix("data:"));
    events.filter_map(|data| serde_json::from_str(data.trim()).ok()).next_back().unwrap_or_default()
}

/// Runs a command with POST, and gives what it says.
pub(super) fn command(node: SocketAddr, command: &str) -> Result<String, Refusal> {
    let body = json!({ "command": command }).to_string();
    post(node, "/", JSON, &[], body.as_bytes()).map(|reply| reply.text())
}

/// Stores rows, and gives whether they were acknowledged.
pub(super) fn put(node: SocketAddr, table: &str, csv: &str, key: &str) -> Result<(), Refusal> {
    let path = format!("/api/v1/ingest/{DBMS}/{table}");
    let reply = post(node, &path, "text/csv", &[("idempotency-key", key)], csv.as_bytes())?;
    match reply.status {
        200 => Ok(()),
        other => Err(Refusal::Said(other, reply.text())),
    }
}

/// Posts, and gives a reply that is no error.
pub(super) fn post(
    node: SocketAddr,
    path: &str,
    kind: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<Reply, Refusal> {
    let headers = [&[("content-type", kind)], headers].concat();
    let bytes = request(&format!("POST {path}"), &node.to_string(), &headers, body);
    match exchange(node, &bytes, PATIENCE) {
        Ok(reply) if reply.status < 400 => Ok(reply),
        Ok(reply) => Err(Refusal::Said(reply.status, reply.text())),
        Err(gone) => Err(Refusal::Gone(gone)),
    }
}

/// Gets a path, and gives a reply that is no error.
pub(super) fn get(node: SocketAddr, path: &str) -> Result<Reply, Refusal> {
    let bytes = request(&format!("GET {path}"), &node.to_string(), &[], b"");
    match exchange(node, &bytes, PATIENCE) {
        Ok(reply) if reply.status < 400 => Ok(reply),
        Ok(reply) => Err(Refusal::Said(reply.status, reply.text())),
        Err(gone) => Err(Refusal::Gone(gone)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_names_who_is_missing_is_partial() {
        let partial = |page: Value| answer_in(&page).unwrap().is_partial;
        assert!(!partial(json!({ "rows": [[1]], "missing": [] })));
        assert!(!partial(json!({ "rows": [[1]], "complete": true })));
        assert!(partial(json!({ "rows": [[1]], "missing": ["two"] })));
        assert!(partial(json!({ "rows": [], "complete": false })));
        assert!(partial(json!({ "rows": [], "has_more": true })));
        assert!(partial(json!({ "rows": [], "truncated": true })));
        assert!(partial(json!({ "rows": [], "provenance": { "missing": ["two"] } })));
        assert!(partial(json!({ "rows": [], "provenance": { "complete": false } })));
        assert!(answer_in(&json!({ "error": 1 })).is_none());
    }
}
