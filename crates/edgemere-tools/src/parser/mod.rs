//! The response parser: picks the answer out of a reply.

use serde_json::{Map, Value};

/// What picks the answer out of a reply.
#[derive(Clone, Debug)]
pub struct Parser {}

/// Why a reply has no answer in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The reply is not JSON.
    #[error("the reply is not JSON, so that nothing can be picked out of it: \"{beginning}\"")]
    NotJson {
        /// How it begins.
        beginning: String,
    },
    /// Nothing stands where the answer should be.
    #[error("the reply has nothing at \"{path}\"; it has {found}")]
    Missing {
        /// The path.
        path: String,
        /// What is there.
        found: String,
    },
}

impl Parser {
    /// The answer in a reply to a call with these arguments.
    pub fn apply(
        &self,
        reply: Value,
        _arguments: &Map<String, Value>,
    ) -> Result<Value, ParseError> {
        Ok(reply)
    }
}
