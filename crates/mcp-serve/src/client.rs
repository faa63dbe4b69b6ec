//! The connection from a running call back to its client.
#![expect(deprecated, reason = "clients of the revisions before 2026-07-28 get log messages")]

use std::sync::Arc;

use rmcp::{
    RoleServer,
    model::{
        GetExtensions, LoggingMessageNotification, LoggingMessageNotificationParam,
        ProgressNotification, ProgressNotificationParam, ProgressToken, RequestId,
        ServerNotification,
    },
    service::{Peer, RequestContext},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
#[cfg(feature = "elicitation")]
use {
    crate::{Fault, InputRequest, InputResponse, elicitation},
    rmcp::model::ClientCapabilities,
    std::collections::BTreeMap,
};

use crate::{
    Level,
    session::{self, Session},
    state::ServerState,
    tasks::{Escalation, Task},
    wire,
};

/// The connection to one client, for one of its requests.
#[derive(Debug)]
pub(crate) struct ClientLink {
    pub(crate) state: Arc<ServerState>,
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) peer: Peer<RoleServer>,
    pub(crate) request: RequestId,
    pub(crate) progress: Option<ProgressToken>,
    /// The lowest level of log messages that a client without a session wants.
    pub(crate) log_level: Option<Level>,
    /// Whether the client uses revision 2026-07-28 or later.
    pub(crate) is_modern: bool,
    /// The client's capabilities, if the request has them. A session has them from `initialize`.
    #[cfg(feature = "elicitation")]
    pub(crate) capabilities: Option<ClientCapabilities>,
    /// The responses to input requests that the client has sent with the request.
    #[cfg(feature = "elicitation")]
    pub(crate) responses: BTreeMap<String, Value>,
    /// Cancelled when the client does not read its messages.
    pub(crate) cancelled: CancellationToken,
    /// Present if the call may become a task.
    pub(crate) escalation: Option<Arc<Escalation>>,
}

impl ClientLink {
    pub(crate) fn new(
        state: Arc<ServerState>,
        session: Option<Arc<Session>>,
        cx: &RequestContext<RoleServer>,
        is_modern: bool,
        cancelled: CancellationToken,
    ) -> Self {
        Self {
            state,
            session,
            peer: cx.peer.clone(),
            request: cx.id.clone(),
            progress: cx.meta.get_progress_token(),
            log_level: cx.meta.log_level().map(wire::level),
            is_modern,
            #[cfg(feature = "elicitation")]
            capabilities: cx.meta.client_capabilities(),
            #[cfg(feature = "elicitation")]
            responses: BTreeMap::new(),
            cancelled,
            escalation: None,
        }
    }

    /// Makes the call a task. Returns whether it is one now.
    #[cfg(feature = "tasks")]
    pub(crate) fn become_task(&self) -> bool {
        self.escalation.as_ref().is_some_and(|escalation| escalation.escalate())
    }

    /// The task that the call has become.
    fn task(&self) -> Option<Arc<Task>> {
        self.escalation.as_ref().and_then(|escalation| escalation.task())
    }

    pub(crate) fn wants_progress(&self) -> bool {
        self.progress.is_some() || self.task().is_some()
    }

    pub(crate) async fn progress(&self, done: f64, total: Option<f64>, message: Option<String>) {
        if let Some(task) = self.task() {
            return task.progress(done, total, message);
        }
        let Some(token) = &self.progress else { return };
        let mut params = ProgressNotificationParam::new(token.clone(), done);
        params.total = total;
        params.message = message;
        let notification = ProgressNotification::new(params);
        self.send(ServerNotification::ProgressNotification(notification)).await;
    }

    pub(crate) async fn log(&self, level: Level, logger: &str, value: Value) {
        // The protocol has no log messages for tasks.
        if !self.wants_log(level) || self.task().is_some() {
            return;
        }
        let mut params = LoggingMessageNotificationParam::new(wire::logging_level(level), value);
        params.logger = Some(logger.to_owned());
        let notification = LoggingMessageNotification::new(params);
        self.send(ServerNotification::LoggingMessageNotification(notification)).await;
    }

    pub(crate) fn close_stream(&self) {
        if let Some(session) = &self.session {
            session.streams.disconnect(&self.request);
        }
    }

    fn wants_log(&self, level: Level) -> bool {
        // Since 2026-07-28 each request sets the level; without one it gets no messages.
        match (self.is_modern, &self.session) {
            (true, _) => self.log_level.is_some_and(|lowest| level >= lowest),
            (false, Some(session)) => session.wants_log(level),
            (false, None) => level >= self.log_level.unwrap_or(Level::Info),
        }
    }

    /// Sends a notification that belongs to this request. If the client does not read it in time it will
    /// not read the response either, so the call is cancelled.
    async fn send(&self, mut notification: ServerNotification) {
        session::mark(notification.extensions_mut(), &self.request);
        let sent = self.peer.send_notification(notification);
        match tokio::time::timeout(self.state.limits.unread_time_max, sent).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => self.cancelled.cancel(),
            Err(_) => {
                // A session counts its closed streams itself.
                if self.session.is_none() {
                    self.state.counters.streams_cut.add(1);
                }
                self.cancelled.cancel();
            }
        }
    }
}

#[cfg(feature = "elicitation")]
impl ClientLink {
    /// Requests input that the client has not sent yet.
    pub(crate) async fn request_inputs(
        &self,
        requests: Vec<(String, InputRequest)>,
    ) -> Result<Vec<InputResponse>, Fault> {
        for (_, request) in &requests {
            elicitation::check_capability(request, &self.capabilities())?;
        }
        #[cfg(feature = "tasks")]
        if let Some(task) = self.task() {
            return task.request_inputs(requests).await;
        }
        if self.is_modern {
            return elicitation::find_responses(requests, &self.responses);
        }
        let mut responses = Vec::new();
        for (_, request) in requests {
            let (peer, call, limits) = (&self.peer, &self.request, &self.state.limits);
            responses.push(elicitation::send_request(peer, call, request, limits).await?);
        }
        Ok(responses)
    }

    pub(crate) fn supports_input(&self, request: &InputRequest) -> bool {
        elicitation::check_capability(request, &self.capabilities()).is_ok()
    }

    fn capabilities(&self) -> ClientCapabilities {
        let of_session = || self.peer.peer_info().filter(|_| !self.is_modern);
        let own = self.capabilities.clone();
        own.or_else(|| of_session().map(|info| info.capabilities.clone())).unwrap_or_default()
    }
}
