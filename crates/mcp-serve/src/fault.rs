//! Protocol errors.

use std::time::Duration;

use serde_json::{Value, json};

#[cfg(feature = "elicitation")]
use crate::elicitation::InputRequests;

/// A protocol error, for the client program. An error for the model is an
/// [`Outcome::error`](crate::Outcome::error).
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    pub(crate) kind: FaultKind,
    pub(crate) message: String,
    pub(crate) data: Option<Box<Value>>,
}

/// The kind of a protocol error.
#[derive(Clone, Debug)]
pub(crate) enum FaultKind {
    InvalidParams,
    NotFound,
    /// The client lacks a capability that the tool needs.
    Incapable,
    /// A limit refused the request.
    Refused,
    Internal,
    /// Not an error: the client must answer these first.
    #[cfg(feature = "elicitation")]
    InputRequired(InputRequests),
}

impl Fault {
    /// The parameters are invalid. The message says what would be valid.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(FaultKind::InvalidParams, message)
    }

    /// The resource does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(FaultKind::NotFound, message)
    }

    /// The server failed. The message goes to the client: keep details in the log, under an id that the
    /// message names.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Internal, message)
    }

    /// The client lacks these capabilities, such as `{"sampling": {}}`.
    pub fn incapable(message: impl Into<String>, required: Value) -> Self {
        let fault = Self::new(FaultKind::Incapable, message);
        fault.with_data(json!({ "requiredCapabilities": required }))
    }

    /// Adds data for the client program.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(Box::new(data));
        self
    }

    /// A limit refused the request. The client may retry after this time.
    pub(crate) fn refused(message: impl Into<String>, retry_after: Duration) -> Self {
        let retry_after_ms = u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX).max(1);
        let fault = Self::new(FaultKind::Refused, message);
        fault.with_data(json!({ "retryAfterMs": retry_after_ms }))
    }

    /// The client must answer these first.
    #[cfg(feature = "elicitation")]
    pub(crate) fn input_required(requests: InputRequests) -> Self {
        Self::new(FaultKind::InputRequired(requests), "the client must answer first")
    }

    /// Whether this is not an error but requests that the client must answer.
    pub(crate) fn is_input_required(&self) -> bool {
        match self.kind {
            #[cfg(feature = "elicitation")]
            FaultKind::InputRequired(_) => true,
            _ => false,
        }
    }

    fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), data: None }
    }
}
