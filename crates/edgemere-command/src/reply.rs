//! What a command answers, before anyone has said how it is to look.

use std::sync::Arc;

use edgemere_ledger::Policy;
use edgemere_query::sql::{Collected, Times};
use serde_json::Value;

use crate::format::rows::Rows;
use crate::format::table::Table;

/// The answer of a command.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) body: Body,
    pub(crate) json: Option<Value>,
    pub(crate) mcp: Option<Value>,
}

/// What the answer is made of.
#[derive(Debug)]
pub(crate) enum Body {
    /// It is done; there is nothing to say.
    Done,
    /// A text for people.
    Text(String),
    /// A value that is JSON in every format.
    Json(Value),
    /// A table.
    Table(Table),
    /// Policies of the ledger.
    Policies(Vec<Arc<Policy>>),
    /// What several nodes answered.
    Nodes(Vec<NodeReply>),
    /// The rows of a query.
    Rows(Rows),
    /// The rows of a query, up to a limit.
    Collected(Collected, Times),
}

/// What one of several nodes answered.
#[derive(Debug)]
pub(crate) struct NodeReply {
    /// The node's address.
    pub(crate) address: String,
    /// Its name in the ledger; its address where it has none.
    pub(crate) name: String,
    /// Its answer, or why there is none.
    pub(crate) answer: Result<Value, String>,
}

impl Reply {
    /// It is done; there is nothing to say.
    pub(crate) fn done() -> Self {
        Self::new(Body::Done)
    }

    /// A text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::new(Body::Text(text.into()))
    }

    /// A value: a text as text, all else as JSON.
    pub(crate) fn value(value: Value) -> Self {
        match value {
            Value::String(text) => Self::text(text),
            other => Self::new(Body::Json(other)),
        }
    }

    /// A value that is JSON even when it is only a text.
    pub(crate) fn json(value: Value) -> Self {
        Self::new(Body::Json(value))
    }

    /// A table.
    pub(crate) fn table(table: Table) -> Self {
        Self::new(Body::Table(table))
    }

    /// Policies.
    pub(crate) fn policies(policies: Vec<Arc<Policy>>) -> Self {
        Self::new(Body::Policies(policies))
    }

    /// What several nodes answered.
    pub(crate) fn nodes(replies: Vec<NodeReply>) -> Self {
        Self::new(Body::Nodes(replies))
    }

    /// The rows of a query.
    pub(crate) fn rows(rows: Rows) -> Self {
        Self::new(Body::Rows(rows))
    }

    /// The rows of a query, up to a limit.
    pub(crate) fn collected(collected: Collected, times: Times) -> Self {
        Self::new(Body::Collected(collected, times))
    }

    /// With what `format = json` gives, where that is not the body as JSON.
    pub(crate) fn with_json(self, json: Value) -> Self {
        Self { json: Some(json), ..self }
    }

    /// With what `format = mcp` gives, where that is not the same as `format = json`.
    pub(crate) fn with_mcp(self, mcp: Value) -> Self {
        Self { mcp: Some(mcp), ..self }
    }

    fn new(body: Body) -> Self {
        Self { body, json: None, mcp: None }
    }
}
