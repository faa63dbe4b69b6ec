//! Prompts: message templates that a user picks from a menu.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{Content, Context, Fault, Icon};

/// How a prompt is described to clients.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    /// Its name.
    pub name: String,
    /// Its display name.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Its arguments.
    pub arguments: Vec<PromptArgument>,
    /// Icons for a list of prompts.
    pub icons: Vec<Icon>,
    /// Extension data, sent as `_meta`.
    pub meta: Map<String, Value>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// Its display name.
    pub title: Option<String>,
    /// What to fill in.
    pub description: Option<String>,
    /// Whether it is required.
    pub required: bool,
}

/// A request for a prompt.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PromptCall {
    /// The prompt's name.
    pub prompt: String,
    /// Its arguments. The required ones are present.
    pub arguments: Map<String, Value>,
    /// The caller, and the connection to its client.
    pub context: Context,
}

impl PromptCall {
    /// The value of an argument; empty if it is absent.
    pub fn argument(&self, name: &str) -> &str {
        self.arguments.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// The messages of a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptText {
    /// What it is for.
    pub description: Option<String>,
    /// The messages that start the conversation.
    pub messages: Vec<Message>,
}

impl PromptText {
    /// One message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        let message = Message { role: Role::User, content: Content::text(text) };
        Self { description: None, messages: vec![message] }
    }
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Its author.
    pub role: Role,
    /// Its content.
    pub content: Content,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// The implementation of a prompt. Every `Fn(PromptCall) -> impl Future<Output = Result<PromptText, Fault>>`
/// is one.
pub trait GetPrompt: Send + Sync + 'static {
    /// Makes the messages from the arguments.
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
