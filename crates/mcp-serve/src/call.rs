//! A tool call: its arguments, its caller, and the connection to the client while it runs.

use std::{ops::Deref, sync::Arc};

use axum::http::Extensions;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

#[cfg(feature = "elicitation")]
use crate::{Fault, InputRequest, InputResponse};
use crate::{Principal, client::ClientLink};

/// A tool call. It dereferences to its [`Context`]: `call.principal`, `call.progress(…)`.
#[derive(Clone, Debug)]
pub struct Call {
    /// The tool's name.
    pub tool: String,
    /// The arguments. They have not been validated against the tool's schema.
    pub arguments: Map<String, Value>,
    /// The caller, and the connection to its client.
    pub context: Context,
}

impl Call {
    /// A call without a client: from a command line, or in a test.
    pub fn new(tool: impl Into<String>, arguments: Map<String, Value>, context: Context) -> Self {
        Self { tool: tool.into(), arguments, context }
    }
}

impl Deref for Call {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}

/// The caller of a request, and the connection to its client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Context {
    /// The caller's identity.
    pub principal: Principal,
    /// The extensions of the HTTP request, from the host's middleware; empty on stdio.
    pub extensions: Arc<Extensions>,
    /// The client program, if it has sent its name.
    pub client: Option<Client>,
    /// The protocol revision, such as `2025-11-25`.
    pub protocol: String,
    /// The toolset, from `/mcp/<toolset>`.
    pub toolset: Option<String>,
    pub(crate) cancelled: CancellationToken,
    pub(crate) link: Option<Arc<ClientLink>>,
}

/// A client program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The severity of a log message (RFC 5424).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Details for debugging.
    Debug,
    /// Normal events.
    Info,
    /// Normal but significant events.
    Notice,
    /// Possible problems.
    Warning,
    /// Failures.
    Error,
    /// Failures of a component.
    Critical,
    /// Immediate action is needed.
    Alert,
    /// The system is unusable.
    Emergency,
}

impl Context {
    /// A context without a client, for calls from a command line and in tests: progress and log messages
    /// are discarded, and requests for input fail.
    pub fn detached(principal: Principal) -> Self {
        Self {
            principal,
            extensions: Arc::default(),
            client: None,
            protocol: String::new(),
            toolset: None,
            cancelled: CancellationToken::new(),
            link: None,
        }
    }

    /// Whether the client wants progress notifications.
    pub fn wants_progress(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.wants_progress())
    }

    /// Reports progress to the client, if it wants progress notifications. Waits while the client reads
    /// too slowly: backpressure for frequent reports. `done` must increase with each report.
    pub async fn progress(&self, done: f64, total: Option<f64>, message: Option<String>) {
        if let Some(link) = &self.link {
            link.progress(done, total, message).await;
        }
    }

    /// Returns when the call is cancelled, its client disconnects or its time is over.
    pub async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// The token of [`Context::cancelled`], for work that runs elsewhere.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancelled
    }

    /// Sends a log message to the client, if it wants messages of this level.
    pub async fn log(&self, level: Level, logger: &str, value: Value) {
        if let Some(link) = &self.link {
            link.log(level, logger, value).await;
        }
    }

    /// Requests input from the client, under a name that is unique within this tool. A tool must request all
    /// input before it changes anything, because a client of 2026-07-28 repeats the call with the
    /// responses. Return the fault with `?`: it may be what carries the request to the client.
    #[cfg(feature = "elicitation")]
    pub async fn request_input(
        &self,
        name: &str,
        request: InputRequest,
    ) -> Result<InputResponse, Fault> {
        let mut responses = self.request_inputs([(name, request)]).await?;
        responses.pop().ok_or_else(|| Fault::internal("the client did not answer"))
    }

    /// Whether the client has declared the capability for such a request.
    #[cfg(feature = "elicitation")]
    pub fn supports_input(&self, request: &InputRequest) -> bool {
        self.link.as_ref().is_some_and(|link| link.supports_input(request))
    }

    /// Closes the client's event stream, if the client can resume it: over Streamable HTTP in a session.
    /// For calls that take so long that connections break anyway.
    pub fn close_stream(&self) {
        if let Some(link) = &self.link {
            link.close_stream();
        }
    }

    /// Makes the call a task, if its tool and its client support tasks: the client gets a response at once
    /// and fetches the result later. Later requests for input belong to the task. Returns whether the call
    /// is a task now; if not, the client goes on waiting.
    #[cfg(feature = "tasks")]
    pub fn become_task(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.become_task())
    }

    /// Requests several inputs at once. The responses are in the order of the requests.
    #[cfg(feature = "elicitation")]
    pub async fn request_inputs(
        &self,
        requests: impl IntoIterator<Item = (impl Into<String>, InputRequest)>,
    ) -> Result<Vec<InputResponse>, Fault> {
        let requests = requests.into_iter().map(|(name, one)| (name.into(), one)).collect();
        match &self.link {
            Some(link) => link.request_inputs(requests).await,
            None => Err(Fault::invalid_params("this call has no client to request input from")),
        }
    }
}
