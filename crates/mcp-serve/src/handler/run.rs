//! Running the catalog's code: within the limits, and no longer than somebody waits for it.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use rmcp::{RoleServer, service::RequestContext};
use tokio_util::sync::CancellationToken;

use super::{Asker, Handler};
use crate::{Context, Fault, Outcome, fault::FaultKind, session::Session, tasks::Escalation};

/// How the catalog's code ended.
pub(super) enum End<T> {
    /// By itself.
    Done(Result<T, Fault>),
    /// Nobody waits for it any more.
    Cancelled,
    /// It took too long.
    TimedOut,
}

/// Nobody waits for it any more.
pub(super) struct Cancelled;

/// As long as what somebody waits.
pub(super) struct Waits {
    /// Cancelled when the client goes away, or says that it does not want the answer.
    pub(super) stop: CancellationToken,
    /// When the call may become a task: one that has does not end with the request.
    pub(super) escalation: Option<Arc<Escalation>>,
    pub(super) session: Option<Arc<Session>>,
}

impl Waits {
    /// Ends when nobody waits any more.
    async fn ended(&self) {
        let session_ended = async {
            match &self.session {
                Some(session) => session.ended.cancelled().await,
                None => std::future::pending().await,
            }
        };
        let becomes_task = async {
            match &self.escalation {
                Some(escalation) => escalation.becomes_task().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = session_ended => {}
            task = becomes_task => task.stop.cancelled().await,
        }
    }
}

impl Handler {
    /// Runs it for a request.
    pub(super) async fn run<T>(
        &self,
        asker: &Asker,
        cx: &RequestContext<RoleServer>,
        context: &Context,
        work: impl Future<Output = Result<T, Fault>> + Send,
    ) -> Result<End<T>, Fault> {
        let (stop, session) = (cx.ct.clone(), asker.session.clone());
        let waits = Waits { stop, escalation: None, session };
        self.run_while(asker, &waits, context, work).await
    }

    /// Runs it while somebody waits. What is not done when nobody does any more, or when the time is
    /// over, is dropped.
    pub(super) async fn run_while<T>(
        &self,
        asker: &Asker,
        waits: &Waits,
        context: &Context,
        work: impl Future<Output = Result<T, Fault>> + Send,
    ) -> Result<End<T>, Fault> {
        let permit = self.core.quota.begin(&asker.principal).inspect_err(|_| {
            self.core.counters.refused_by_limit.add(1);
        })?;
        let under_way = self.core.under_way();
        // Whatever ends the work, what it began elsewhere learns of it.
        let _cancels = context.cancelled.clone().drop_guard();
        let end = tokio::select! {
            biased;
            done = AssertUnwindSafe(work).catch_unwind() => match done {
                Ok(done) => End::Done(done),
                Err(_) => End::Done(Err(panicked())),
            },
            () = waits.ended() => End::Cancelled,
            () = context.cancelled.cancelled() => End::Cancelled,
            () = self.core.closing.cancelled() => End::Cancelled,
            () = tokio::time::sleep(self.core.limits.call_time_max) => End::TimedOut,
        };
        drop((permit, under_way));
        Ok(end)
    }

    /// As [`Handler::run`], for what is no tool: every other end is a fault.
    pub(super) async fn run_or_fail<T>(
        &self,
        asker: &Asker,
        cx: &RequestContext<RoleServer>,
        context: &Context,
        work: impl Future<Output = Result<T, Fault>> + Send,
    ) -> Result<T, Fault> {
        match self.run(asker, cx, context, work).await? {
            End::Done(done) => done,
            End::Cancelled => Err(cancelled()),
            End::TimedOut => Err(Fault::internal("the request took too long and was stopped")),
        }
    }

    /// The end of a call, counted. That it took too long is an outcome, so that a model reads it.
    pub(super) fn counted(
        &self,
        end: Result<End<Outcome>, Fault>,
    ) -> Result<Result<Outcome, Cancelled>, Fault> {
        let counters = &self.core.counters;
        let outcome = match end? {
            End::Done(Ok(outcome)) => outcome,
            End::Done(Err(fault)) => {
                if !matches!(fault.kind, FaultKind::Questions(_)) {
                    counters.calls_failed.add(1);
                }
                return Err(fault);
            }
            End::Cancelled => {
                counters.calls_cancelled.add(1);
                return Ok(Err(Cancelled));
            }
            End::TimedOut => {
                counters.calls_timed_out.add(1);
                let seconds = self.core.limits.call_time_max.as_secs_f64();
                Outcome::error(format!(
                    "the call took longer than {seconds} s and was stopped: ask for less"
                ))
            }
        };
        if outcome.is_error {
            counters.calls_failed.add(1);
        }
        Ok(Ok(outcome))
    }
}

/// The panic itself is in the log: the hook has written it.
fn panicked() -> Fault {
    tracing::error!("the code behind a request panicked");
    Fault::internal("the server failed: see its log")
}

pub(super) fn cancelled() -> Fault {
    Fault::internal("the request was cancelled")
}
