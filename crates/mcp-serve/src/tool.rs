//! Tools: their descriptions and implementations.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::{Call, Fault, Icon, Outcome};

/// The description of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tool {
    /// Its name: 1 to 128 of `A-Z a-z 0-9 _ - .`, as the specification requires.
    pub name: String,
    /// Its display name.
    pub title: Option<String>,
    /// What it does and when to use it. Models choose tools by this text.
    pub description: Option<String>,
    /// The JSON Schema of its arguments, which are an object.
    pub input_schema: Map<String, Value>,
    /// The JSON Schema of [`Outcome::structured`].
    pub output_schema: Option<Map<String, Value>>,
    /// Hints about its behaviour.
    pub annotations: Annotations,
    /// Whether its calls may become tasks.
    pub tasks: TaskSupport,
    /// Icons for a list of tools.
    pub icons: Vec<Icon>,
    /// Extension data, sent as `_meta`.
    pub meta: Map<String, Value>,
}

impl Tool {
    /// A tool without arguments.
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

    /// Sets the JSON Schema of the arguments. A schema that is not a JSON object is ignored.
    #[must_use]
    pub fn input(mut self, schema: Value) -> Self {
        if let Value::Object(schema) = schema {
            self.input_schema = schema;
        }
        self
    }

    /// Sets the JSON Schema of the structured content. A schema that is not a JSON object is ignored.
    #[must_use]
    pub fn output(mut self, schema: Value) -> Self {
        if let Value::Object(schema) = schema {
            self.output_schema = Some(schema);
        }
        self
    }

    /// Declares that the tool only reads.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.annotations.read_only = Some(true);
        self
    }
}

/// Hints about a tool's behaviour. Clients assume the worst where a hint is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// Its display name, for clients that do not know [`Tool::title`].
    pub title: Option<String>,
    /// It only reads.
    pub read_only: Option<bool>,
    /// It may delete or overwrite data.
    pub destructive: Option<bool>,
    /// A repeated call with the same arguments has no further effect.
    pub idempotent: Option<bool>,
    /// It accesses systems outside of the server.
    pub open_world: Option<bool>,
}

/// Whether calls of a tool may become tasks, whose results clients fetch later. It takes the feature
/// `tasks`; without it no call becomes a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskSupport {
    /// The client waits for the result.
    #[default]
    Never,
    /// A call becomes a task on `Context::become_task`, or after
    /// [`Limits::task_after`](crate::Limits), if the client supports tasks.
    Optional,
    /// As `Optional`, and clients without support for tasks cannot call the tool.
    Required,
}

/// The implementation of a tool. Every `Fn(Call) -> impl Future<Output = Result<Outcome, Fault>>` is one.
pub trait CallTool: Send + Sync + 'static {
    /// Runs the call. Return an [`Outcome::error`] for what the model can correct, such as a wrong
    /// argument; a [`Fault`] is a protocol error, for the client program.
    ///
    /// The server drops the future when the call is cancelled, its client disconnects or its time is
    /// over. Work that must end in order can wait for
    /// [`Context::cancelled`](crate::Context::cancelled).
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
