//! What a tool may ask the client while it runs: a person's input, a model's answer, folders.
//!
//! Clients of the older protocols are asked at once, over their connection. Those of 2026-07-28 get
//! the questions as the result of the call, and call again with the answers: the tool then runs
//! again from its beginning, and [`Context::ask`](crate::Context::ask) gives it the answer at once.
//! One way to write a tool is right for both: ask before changing anything.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Questions under the names by which their answers are known.
pub(crate) type Questions = BTreeMap<String, Question>;

/// Something that the client can answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// The person fills in a form.
    Form {
        /// What is asked, for the person.
        message: String,
        /// The JSON Schema of the form: an object of plain properties.
        schema: Map<String, Value>,
    },
    /// The person opens a page, for what must not pass through the client.
    Page {
        /// What is asked, for the person.
        message: String,
        /// The page.
        url: String,
        /// Tells this question apart from others of this server.
        id: String,
    },
    /// The client's model answers: the parameters of `sampling/createMessage`.
    Model(Map<String, Value>),
    /// The folders that the client works in: `roots/list`.
    Folders,
}

/// What the client answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer(pub(crate) Value);

impl Answer {
    /// What the person filled in; `None` when the person refused or closed the form.
    pub fn form(&self) -> Option<&Map<String, Value>> {
        let is_accepted = self.0.get("action").and_then(Value::as_str) == Some("accept");
        self.0.get("content").filter(|_| is_accepted).and_then(Value::as_object)
    }

    /// The answer as it came: a result of `elicitation/create`, `sampling/createMessage` or
    /// `roots/list`.
    pub fn value(&self) -> &Value {
        &self.0
    }
}
