//! What an agent can call: how it is described, and the code behind it.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::{Call, Fault, Icon, Outcome};

/// How a tool is described to clients.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tool {
    /// What it is called by: 1 to 128 of `A-Z a-z 0-9 _ - .`, as the specification asks.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it does and when to use it: a model chooses by this.
    pub description: Option<String>,
    /// The JSON Schema of its arguments: an object.
    pub input_schema: Map<String, Value>,
    /// The JSON Schema of [`Outcome::structured`].
    pub output_schema: Option<Map<String, Value>>,
    /// What a client may expect of it.
    pub annotations: Annotations,
    /// Whether a call of it may become a task.
    pub tasks: TaskSupport,
    /// Pictures for a list of tools.
    pub icons: Vec<Icon>,
    /// What the protocol does not know of, in `_meta`.
    pub meta: Map<String, Value>,
}

impl Tool {
    /// A tool without arguments. Set the other fields as needed.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        let empty = json!({ "type": "object", "properties": {}, "additionalProperties": false });
        let Value::Object(input_schema) = empty else { return Self::default() };
        Self {
            name: name.into(),
            description: Some(description.into()),
            input_schema,
            ..Self::default()
        }
    }

    /// Takes these arguments: the JSON Schema of an object. What is not an object is not taken.
    #[must_use]
    pub fn input(mut self, schema: Value) -> Self {
        if let Value::Object(schema) = schema {
            self.input_schema = schema;
        }
        self
    }

    /// Answers with structured content of this JSON Schema.
    #[must_use]
    pub fn output(mut self, schema: Value) -> Self {
        if let Value::Object(schema) = schema {
            self.output_schema = Some(schema);
        }
        self
    }

    /// Says that it changes nothing.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.annotations.read_only = Some(true);
        self
    }
}

/// What a client may expect of a tool. They are hints: what is not said is left to the client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// Its name for people, where [`Tool::title`] is not known.
    pub title: Option<String>,
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// What it changes may be lost.
    pub destructive: Option<bool>,
    /// Calling it again with the same arguments changes nothing more.
    pub idempotent: Option<bool>,
    /// It reaches what is outside the server.
    pub open_world: Option<bool>,
}

/// Whether a call of a tool may become a task, whose result the client comes back for. Clients that do
/// not know tasks wait for the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskSupport {
    /// The client always waits for the result.
    #[default]
    Never,
    /// It becomes a task when it says so, or when it takes longer than
    /// [`Limits::task_after`](crate::Limits).
    Optional,
    /// As before; and clients that do not know tasks cannot call it.
    Required,
}

/// The code behind a tool. Also every `Fn(Call) -> impl Future<Output = Result<Outcome, Fault>>`.
pub trait CallTool: Send + Sync + 'static {
    /// Does what the tool is for. What goes wrong in it, and what is wrong with the arguments, is an
    /// [`Outcome::error`] that the model can read; a [`Fault`] is for what only the program can.
    ///
    /// The future is dropped when the call is cancelled, when the client goes away, and when the
    /// time for a call is over: see [`Context::cancelled`](crate::Context::cancelled) for what
    /// must be ended in order.
    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Outcome, Fault>>;
}

impl<F, R> CallTool for F
where
    F: Fn(Call) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Outcome, Fault>> + Send + 'static,
{
    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Outcome, Fault>> {
        Box::pin(self(call.clone()))
    }
}
