//! Errors of the protocol.

use std::time::Duration;

use serde_json::{Value, json};

use crate::ask::Questions;

/// Why a request could not be served: an error of the protocol, which programs read. What a model
/// should read is an [`Outcome::error`](crate::Outcome::error).
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    pub(crate) kind: FaultKind,
    pub(crate) message: String,
    pub(crate) data: Option<Box<Value>>,
}

/// What kind of error it is.
#[derive(Clone, Debug)]
pub(crate) enum FaultKind {
    InvalidParams,
    NotFound,
    /// The client cannot do what the tool needs.
    Incapable,
    /// A limit refused it.
    Refused,
    Internal,
    /// Not an error: the client is to answer first.
    Questions(Questions),
}

impl Fault {
    /// What was sent does not fit: the message says what would.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(FaultKind::InvalidParams, message)
    }

    /// There is no such resource.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(FaultKind::NotFound, message)
    }

    /// The server failed. The message goes to the client: put what it must not know into the log,
    /// under an id that the message names.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Internal, message)
    }

    /// The client must have these capabilities, such as `{"sampling": {}}`, and has not.
    pub fn incapable(message: impl Into<String>, required: Value) -> Self {
        let fault = Self::new(FaultKind::Incapable, message);
        fault.with_data(json!({ "requiredCapabilities": required }))
    }

    /// Adds what programs may want to know.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(Box::new(data));
        self
    }

    /// A limit refused the request; it may succeed after a while.
    pub(crate) fn refused(message: impl Into<String>, retry_after: Duration) -> Self {
        let retry_after_ms = u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX).max(1);
        let fault = Self::new(FaultKind::Refused, message);
        fault.with_data(json!({ "retryAfterMs": retry_after_ms }))
    }

    /// The client is to answer these.
    pub(crate) fn questions(questions: Questions) -> Self {
        Self::new(FaultKind::Questions(questions), "the client must answer first")
    }

    fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), data: None }
    }
}
