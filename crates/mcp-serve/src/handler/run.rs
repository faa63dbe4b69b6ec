//! Runs the catalog's code: within the limits, and only as long as a client waits for the result.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use rmcp::{
    RoleServer,
    model::{CallToolResult, CreateTaskResult},
    service::RequestContext,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Caller, Handler};
use crate::{Context, Fault, Outcome, session::Session, tasks::Escalation, wire};

/// How the catalog's code ended.
pub(super) enum RunEnd<T> {
    /// It returned.
    Done(Result<T, Fault>),
    /// No client waits for it any more.
    Cancelled,
    /// It exceeded its time.
    TimedOut,
}

/// How a call that may become a task ended for its request.
#[cfg_attr(not(feature = "tasks"), expect(dead_code, reason = "no call becomes a task"))]
pub(super) enum CallEnd {
    Ended(Result<RunEnd<Outcome>, Fault>),
    /// It goes on as a task.
    Task(Box<CreateTaskResult>),
}

/// No client waits for the call any more.
pub(super) struct Cancelled;

/// The client that waits for a call.
pub(super) struct Waiter {
    /// Cancelled when the client disconnects or cancels the request.
    pub(super) stop: CancellationToken,
    /// Present if the call may become a task. A task outlives its request.
    pub(super) escalation: Option<Arc<Escalation>>,
    pub(super) session: Option<Arc<Session>>,
}

impl Waiter {
    /// Returns when the client no longer waits.
    async fn gone(&self) {
        let session_ended = async {
            match &self.session {
                Some(session) => session.ended.cancelled().await,
                None => std::future::pending().await,
            }
        };
        let escalated = async {
            match &self.escalation {
                Some(escalation) => escalation.escalated().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = session_ended => {}
            task = escalated => task.cancelled().await,
        }
    }
}

impl Handler {
    /// Runs work for a request.
    pub(super) async fn run<T>(
        &self,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
        context: &Context,
        work: impl Future<Output = Result<T, Fault>> + Send,
    ) -> Result<RunEnd<T>, Fault> {
        let (stop, session) = (cx.ct.clone(), caller.session.clone());
        let waiter = Waiter { stop, escalation: None, session };
        self.run_while(caller, &waiter, context, work).await
    }

    /// Runs work while a client waits for it, and drops it when none does or its time is over.
    pub(super) async fn run_while<T>(
        &self,
        caller: &Caller,
        waiter: &Waiter,
        context: &Context,
        work: impl Future<Output = Result<T, Fault>> + Send,
    ) -> Result<RunEnd<T>, Fault> {
        let permit = self.state.quota.acquire(&caller.principal).inspect_err(|_| {
            self.state.counters.refused_by_limit.add(1);
        })?;
        let active_call = self.state.active_call();
        // However the work ends, what it started elsewhere is cancelled.
        let _cancels = context.cancelled.clone().drop_guard();
        let end = tokio::select! {
            biased;
            done = AssertUnwindSafe(work).catch_unwind() => match done {
                Ok(done) => RunEnd::Done(done),
                Err(_) => RunEnd::Done(Err(panicked())),
            },
            () = waiter.gone() => RunEnd::Cancelled,
            () = context.cancelled.cancelled() => RunEnd::Cancelled,
            () = self.state.closing.cancelled() => RunEnd::Cancelled,
            () = tokio::time::sleep(self.state.limits.call_time_max) => RunEnd::TimedOut,
        };
        drop((permit, active_call));
        Ok(end)
    }

    /// As [`Handler::run`], for requests other than tool calls: every abnormal end is a fault.
    pub(super) async fn run_or_fail<T>(
        &self,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
        context: &Context,
        work: impl Future<Output = Result<T, Fault>> + Send,
    ) -> Result<T, Fault> {
        match self.run(caller, cx, context, work).await? {
            RunEnd::Done(done) => done,
            RunEnd::Cancelled => Err(cancelled()),
            RunEnd::TimedOut => Err(Fault::internal("the request took too long and was stopped")),
        }
    }

    /// Counts the end of a call. A timeout is an error result, so that the model reads it.
    pub(super) fn counted(
        &self,
        end: Result<RunEnd<Outcome>, Fault>,
    ) -> Result<Result<Outcome, Cancelled>, Fault> {
        let counters = &self.state.counters;
        let outcome = match end? {
            RunEnd::Done(Ok(outcome)) => outcome,
            RunEnd::Done(Err(fault)) => {
                if !fault.is_input_required() {
                    counters.calls_failed.add(1);
                }
                return Err(fault);
            }
            RunEnd::Cancelled => {
                counters.calls_cancelled.add(1);
                return Ok(Err(Cancelled));
            }
            RunEnd::TimedOut => {
                counters.calls_timed_out.add(1);
                let seconds = self.state.limits.call_time_max.as_secs_f64();
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

    /// The result on the wire; an error result in its place if it is too large.
    pub(super) fn bounded(&self, outcome: Outcome) -> CallToolResult {
        let result = wire::outcome(outcome);
        let (bytes, max) = (wire::json_length(&result), self.state.limits.result_bytes_max);
        if bytes <= max {
            return result;
        }
        self.state.counters.results_too_long.add(1);
        let message =
            format!("the result has {bytes} bytes, and at most {max} are sent: ask for less of it");
        wire::outcome(Outcome::error(message))
    }
}

/// The fault for a panic, which the panic hook has logged.
fn panicked() -> Fault {
    tracing::error!("the code of a request panicked");
    Fault::internal("the server failed: see its log")
}

pub(super) fn cancelled() -> Fault {
    Fault::internal("the request was cancelled")
}

/// The fault for a tool that requires tasks.
pub(super) fn needs_tasks() -> Fault {
    let required = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    Fault::incapable("this tool needs a client that supports tasks", required)
}
