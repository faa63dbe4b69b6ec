//! The way from a call back to the client that waits for it.
#![expect(deprecated, reason = "clients of the revisions before 2026-07-28 get log messages")]

use std::{collections::BTreeMap, sync::Arc};

use rmcp::{
    RoleServer,
    model::{
        ClientCapabilities, GetExtensions, LoggingMessageNotification,
        LoggingMessageNotificationParam, ProgressNotification, ProgressNotificationParam,
        ProgressToken, RequestId, ServerNotification,
    },
    service::{Peer, RequestContext},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    Answer, Fault, Level, Question, asking,
    core::Core,
    session::{self, Session},
    tasks::{Escalation, Task},
    wire,
};

/// The way back to one client, for one request of it.
#[derive(Debug)]
pub(crate) struct ClientLink {
    core: Arc<Core>,
    session: Option<Arc<Session>>,
    peer: Peer<RoleServer>,
    request: RequestId,
    progress: Option<ProgressToken>,
    /// The least grave messages that a client without a session wants.
    log_level: Option<Level>,
    is_modern: bool,
    /// What the client can do, where the request says so. A session knows it from its beginning.
    can: Option<ClientCapabilities>,
    /// What the client has answered already, in an earlier request.
    answers: BTreeMap<String, Value>,
    /// Cancelled when the client does not read.
    cancelled: CancellationToken,
    /// When the call may become a task.
    escalation: Option<Arc<Escalation>>,
}

impl ClientLink {
    pub(crate) fn new(
        core: Arc<Core>,
        session: Option<Arc<Session>>,
        cx: &RequestContext<RoleServer>,
        is_modern: bool,
        answers: BTreeMap<String, Value>,
        cancelled: CancellationToken,
        escalation: Option<Arc<Escalation>>,
    ) -> Self {
        Self {
            core,
            session,
            peer: cx.peer.clone(),
            request: cx.id.clone(),
            progress: cx.meta.get_progress_token(),
            log_level: cx.meta.log_level().map(wire::level),
            is_modern,
            can: cx.meta.client_capabilities(),
            answers,
            cancelled,
            escalation,
        }
    }

    /// Makes the call a task. Says whether it is one.
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
        let told = ProgressNotification::new(params);
        self.tell(ServerNotification::ProgressNotification(told)).await;
    }

    pub(crate) async fn log(&self, level: Level, logger: &str, value: Value) {
        // A task has nobody who reads its log.
        if !self.wants_log(level) || self.task().is_some() {
            return;
        }
        let mut params = LoggingMessageNotificationParam::new(wire::logging_level(level), value);
        params.logger = Some(logger.to_owned());
        let told = LoggingMessageNotification::new(params);
        self.tell(ServerNotification::LoggingMessageNotification(told)).await;
    }

    /// Asks what has not been answered yet.
    pub(crate) async fn ask(
        &self,
        questions: Vec<(String, Question)>,
    ) -> Result<Vec<Answer>, Fault> {
        for (_, question) in &questions {
            asking::check_capability(question, &self.can())?;
        }
        if let Some(task) = self.task() {
            return task.ask(questions).await;
        }
        match self.is_modern {
            true => asking::answered(questions, &self.answers),
            false => {
                let mut answers = Vec::new();
                for (_, question) in questions {
                    answers.push(
                        asking::ask_now(&self.peer, &self.request, question, &self.core.limits)
                            .await?,
                    );
                }
                Ok(answers)
            }
        }
    }

    pub(crate) fn can_answer(&self, question: &Question) -> bool {
        asking::check_capability(question, &self.can()).is_ok()
    }

    fn can(&self) -> ClientCapabilities {
        let of_session = || self.peer.peer_info().filter(|_| !self.is_modern);
        let can = self.can.clone().or_else(|| of_session().map(|info| info.capabilities.clone()));
        can.unwrap_or_default()
    }

    pub(crate) fn close_stream(&self) {
        if let Some(session) = &self.session {
            session.streams.close(&self.request);
        }
    }

    fn wants_log(&self, level: Level) -> bool {
        // Since 2026-07-28 each request says what it wants; without a word it wants nothing.
        match (self.is_modern, &self.session) {
            (true, _) => self.log_level.is_some_and(|least| level >= least),
            (false, Some(session)) => session.wants_log(level),
            (false, None) => level >= self.log_level.unwrap_or(Level::Info),
        }
    }

    /// Sends a message that belongs to this request. Who does not read it in time, or is gone, has no
    /// use for the answer: the call is cancelled.
    async fn tell(&self, mut message: ServerNotification) {
        session::mark(message.extensions_mut(), &self.request);
        let sent = self.peer.send_notification(message);
        match tokio::time::timeout(self.core.limits.unread_time_max, sent).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => self.cancelled.cancel(),
            Err(_) => {
                // A session counts its own.
                if self.session.is_none() {
                    self.core.counters.streams_cut.add(1);
                }
                self.cancelled.cancel();
            }
        }
    }
}
