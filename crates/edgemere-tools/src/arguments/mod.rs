//! A call's arguments: checked against the tool's schema, with defaults. All that is wrong is told
//! at once, in words that an agent can act on.

use std::fmt;

use serde_json::{Map, Value};

/// One argument that is wrong, or missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentError {
    /// The argument, with the way to the part of it that is wrong: `order_by[0].column`.
    pub argument: String,
    /// What is wrong.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.argument, self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// All that is wrong with a call's arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArgumentErrors(pub(crate) Vec<ArgumentError>);

impl ArgumentErrors {
    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = &ArgumentError> {
        self.0.iter()
    }
}

impl fmt::Display for ArgumentErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(ArgumentError::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for ArgumentErrors {}

/// What a tool's arguments must be.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {}

impl Arguments {
    pub(crate) fn check(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<Map<String, Value>, ArgumentErrors> {
        Ok(arguments.clone())
    }
}
