//! Completions: what could stand in a hole that is being typed.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{Context, Fault};

/// A hole that is being typed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Completing {
    /// Whose hole it is.
    pub of: Reference,
    /// Its name.
    pub argument: String,
    /// What has been typed.
    pub value: String,
    /// What stands in the other holes already.
    pub arguments: Map<String, Value>,
}

/// What has holes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The prompt of this name.
    Prompt(String),
    /// The resources of this template.
    Template(String),
}

/// What could stand in a hole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The likeliest first. At most 100 are sent.
    pub values: Vec<String>,
    /// How many there are, when there are more.
    pub total: Option<u32>,
}

impl Completion {
    /// All of these.
    pub fn all(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { values: values.into_iter().map(Into::into).collect(), total: None }
    }
}

/// Knows what could stand in holes.
pub trait Complete: Send + Sync + 'static {
    /// What could stand in this one; nothing when it does not know it.
    fn complete<'a>(
        &'a self,
        hole: &'a Completing,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Completion, Fault>>;
}
