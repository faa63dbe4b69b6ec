//! Prompts: texts with holes that a person picks from a menu.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{Content, Context, Fault, Icon};

/// How a prompt is described to clients.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    /// What it is asked for by.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Its holes.
    pub arguments: Vec<PromptArgument>,
    /// Pictures for a list of prompts.
    pub icons: Vec<Icon>,
    /// What the protocol does not know of, in `_meta`.
    pub meta: Map<String, Value>,
}

/// A hole in a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What belongs in it.
    pub description: Option<String>,
    /// Whether it must be filled.
    pub required: bool,
}

/// A prompt that is asked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PromptCall {
    /// Its name.
    pub prompt: String,
    /// What its holes are filled with. The required ones are there.
    pub arguments: Map<String, Value>,
    /// Who asks, and how to reach it.
    pub context: Context,
}

impl PromptCall {
    /// The argument of this name; empty when there is none.
    pub fn argument(&self, name: &str) -> &str {
        self.arguments.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// What a prompt says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptText {
    /// What it is for.
    pub description: Option<String>,
    /// The talk that it begins.
    pub messages: Vec<Message>,
}

impl PromptText {
    /// One message of the person.
    pub fn user(text: impl Into<String>) -> Self {
        let message = Message { role: Role::User, content: Content::text(text) };
        Self { description: None, messages: vec![message] }
    }
}

/// A message of a talk.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: Content,
}

/// Who says something in a talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// The code behind a prompt. Also every `Fn(PromptCall) -> impl Future<Output = Result<PromptText, Fault>>`.
pub trait GetPrompt: Send + Sync + 'static {
    /// Fills the holes.
    fn get<'a>(&'a self, call: &'a PromptCall) -> BoxFuture<'a, Result<PromptText, Fault>>;
}

impl<F, R> GetPrompt for F
where
    F: Fn(PromptCall) -> R + Send + Sync + 'static,
    R: Future<Output = Result<PromptText, Fault>> + Send + 'static,
{
    fn get<'a>(&'a self, call: &'a PromptCall) -> BoxFuture<'a, Result<PromptText, Fault>> {
        Box::pin(self(call.clone()))
    }
}
