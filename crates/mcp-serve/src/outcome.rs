//! What a tool answers.

use serde_json::{Map, Value};

use crate::{Content, Link};

/// What a tool answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What a model reads.
    pub content: Vec<Content>,
    /// What a program reads: as [`Tool::output_schema`](crate::Tool) says.
    pub structured: Option<Value>,
    /// Whether the tool failed. The content says why, and what to do next.
    pub is_error: bool,
    /// What the protocol does not know of, in `_meta`.
    pub meta: Map<String, Value>,
}

impl Outcome {
    /// An answer of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], ..Self::default() }
    }

    /// An answer for programs, and for clients that do not know such answers the same as compact
    /// JSON.
    pub fn structured(value: Value) -> Self {
        Self { structured: Some(value.clone()), ..Self::text(value.to_string()) }
    }

    /// What went wrong, in words that a model can act on.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Adds a link to a resource.
    #[must_use]
    pub fn link(mut self, link: Link) -> Self {
        self.content.push(Content::Link(link));
        self
    }
}
