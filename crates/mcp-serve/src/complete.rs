//! Completions of arguments that a user is typing.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{Context, Fault};

/// An argument that a user is typing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// The prompt or template that has the argument.
    pub of: Reference,
    /// The argument's name.
    pub argument: String,
    /// The text typed so far.
    pub value: String,
    /// The arguments that are filled in already.
    pub arguments: Map<String, Value>,
}

/// The owner of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The prompt with this name.
    Prompt(String),
    /// The resource template with this URI template.
    Template(String),
}

/// Suggestions for an argument.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The values, most likely first. At most 100 are sent.
    pub values: Vec<String>,
    /// The total, if there are more values.
    pub total: Option<u32>,
}

impl Completion {
    /// These values, with nothing left out.
    pub fn all(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { values: values.into_iter().map(Into::into).collect(), total: None }
    }
}

/// A source of completions.
pub trait Complete: Send + Sync + 'static {
    /// The suggestions for an argument; none if this source does not know it.
    fn complete<'a>(
        &'a self,
        request: &'a CompletionRequest,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Completion, Fault>>;
}
