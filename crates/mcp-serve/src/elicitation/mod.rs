//! Requests from a tool to the client while a call runs: input from the user, a completion from the
//! client's model, the client's folders.
//!
//! A client of an older revision gets the request at once, over its connection. A client of 2026-07-28
//! gets the requests as the result of the call and repeats the call with the responses: the tool then
//! runs again from the start, and [`Context::request_input`](crate::Context::request_input) returns the
//! response at once. To be correct for both, a tool requests all input before it changes anything.

mod delivery;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub(crate) use self::delivery::{
    check_capability, find_responses, input_required, merge_responses, send_request,
};
#[cfg(feature = "tasks")]
pub(crate) use self::delivery::{is_valid_response, wire_request};

/// Requests by name. A response has the name of its request.
pub(crate) type InputRequests = BTreeMap<String, InputRequest>;

/// A request that the client can answer.
#[derive(Clone, Debug, PartialEq)]
pub enum InputRequest {
    /// The user fills in a form.
    Form {
        /// The text for the user.
        message: String,
        /// The JSON Schema of the form: an object with flat properties.
        schema: Map<String, Value>,
    },
    /// The user opens a page, for input that must not pass through the client.
    Url {
        /// The text for the user.
        message: String,
        /// The page.
        url: String,
        /// An id that is unique among this server's requests.
        id: String,
    },
    /// The client's model completes a prompt: the parameters of `sampling/createMessage`.
    Sampling(Map<String, Value>),
    /// The client lists the folders it works in: `roots/list`.
    Roots,
}

/// The client's response to an [`InputRequest`].
#[derive(Clone, Debug, PartialEq)]
pub struct InputResponse(pub(crate) Value);

impl InputResponse {
    /// The content of the form; `None` if the user declined or closed it.
    pub fn form(&self) -> Option<&Map<String, Value>> {
        let is_accepted = self.0.get("action").and_then(Value::as_str) == Some("accept");
        self.0.get("content").filter(|_| is_accepted).and_then(Value::as_object)
    }

    /// The response as received: a result of `elicitation/create`, `sampling/createMessage` or
    /// `roots/list`.
    pub fn value(&self) -> &Value {
        &self.0
    }
}
