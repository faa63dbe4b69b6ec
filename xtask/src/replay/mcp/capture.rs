//! The captured calls, as they stand in `xtask/replay/mcp.jsonl`.

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::replay::exchange::Exchange;

const CAPTURES: &str = include_str!("../../../replay/mcp.jsonl");

/// EdgeLake's two servers.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Server {
    /// That of the design documents: a few tools of a file.
    Fork,
    /// That of the public version: nineteen tools of its own.
    Upstream,
}

impl Server {
    /// The node of the captures that it was.
    pub(super) fn node(self) -> &'static str {
        match self {
            Self::Fork => "fork-query",
            Self::Upstream => "query",
        }
    }
}

/// One call and what it was answered.
#[derive(Debug, Deserialize)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) server: Server,
    /// A message; a text when what was sent is none.
    request: Value,
    reply: Option<String>,
}

impl Call {
    /// What was sent.
    pub(super) fn request(&self) -> String {
        match &self.request {
            Value::String(text) => text.clone(),
            message => message.to_string(),
        }
    }

    /// The answer as it came.
    pub(super) fn said(&self) -> &str {
        self.reply.as_deref().unwrap_or("no answer")
    }

    /// What the tool answered, when it did so without an error.
    pub(super) fn text(&self) -> Option<String> {
        let reply: Value = serde_json::from_str(self.reply.as_deref()?).ok()?;
        Some(reply.pointer("/result/content/0/text")?.as_str()?.to_owned())
    }

    /// The same over REST, by whose rules the answers are compared: a query leaves open which rows
    /// come, and in which order.
    pub(super) fn exchange(&self) -> Result<Exchange> {
        let sql = self.request.pointer("/params/arguments/sql").and_then(Value::as_str);
        let command = sql.map(|sql| format!("sql new_company {sql}")).unwrap_or_default();
        let exchange = json!({
            "id": self.id, "node": self.server.node(), "method": "GET", "path": "/",
            "headers": { "command": command }, "reply": self.text().unwrap_or_default(),
        });
        serde_json::from_value(exchange).context("a call has no exchange")
    }
}

/// All calls, in the order they were made.
pub(super) fn load() -> Result<Vec<Call>> {
    let lines = CAPTURES.lines().enumerate();
    let parsed = lines.map(|(index, line)| {
        serde_json::from_str(line).with_context(|| format!("mcp.jsonl, line {}", index + 1))
    });
    parsed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_call() {
        let calls = load().unwrap();
        assert_eq!(calls.len(), 72);
        let find = |id: &str| calls.iter().find(|call| call.id == id).unwrap();
        assert_eq!(find("mcp_63_bad_json").request(), "{nope");
        assert_eq!(find("mcp_43_ping").said(), "no answer");
        assert_eq!(
            find("mcp_07_listNetworkDatabases").text().unwrap(),
            r#"[{"dbms": "new_company"}]"#
        );
        let query = find("mcp_27_executeQuery_node").exchange().unwrap();
        assert_eq!(query.command().unwrap(), "sql new_company SELECT count(*) FROM rand_data");
    }
}
