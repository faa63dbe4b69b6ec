//! Errors of the protocol.

use serde_json::Value;

use crate::ask::Questions;

/// Why a request could not be served: an error of the protocol, which programs read. What a model
/// should read is an [`Outcome::error`](crate::Outcome::error).
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    pub(crate) kind: FaultKind,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

/// What kind of error it is.
#[derive(Clone, Debug)]
pub(crate) enum FaultKind {
    InvalidParams,
    NotFound,
    Internal,
    /// Not an error: the client is to answer first.
    Questions(Questions),
}

impl Fault {
    /// What was sent does not fit: the message says what would.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(FaultKind::InvalidParams, message)
    }

    /// There is no such thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(FaultKind::NotFound, message)
    }

    /// The server failed. The message goes to the client: put what it must not know into the log,
    /// under an id that the message names.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Internal, message)
    }

    /// Adds what programs may want to know.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), data: None }
    }
}
