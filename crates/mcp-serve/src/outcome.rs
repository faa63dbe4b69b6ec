//! The result of a tool call.

use serde_json::{Map, Value};

use crate::{Content, Link};

/// The result of a tool call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The content for the model.
    pub content: Vec<Content>,
    /// The structured content for programs, which [`Tool::output_schema`](crate::Tool) describes.
    pub structured: Option<Value>,
    /// Whether the call failed. The content says why and what to do next.
    pub is_error: bool,
    /// Extension data, sent as `_meta`.
    pub meta: Map<String, Value>,
}

impl Outcome {
    /// A text result.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], ..Self::default() }
    }

    /// A structured result, with the same JSON as text for clients without structured content.
    pub fn structured(value: Value) -> Self {
        Self { structured: Some(value.clone()), ..Self::text(value.to_string()) }
    }

    /// A failed call. The text says what went wrong in words that a model can act on.
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
