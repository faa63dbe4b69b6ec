//! Running the catalog's code: within the limits, and no longer than somebody waits for it.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use rmcp::{RoleServer, service::RequestContext};

use super::{Asker, Handler};
use crate::{Context, Fault};

/// How the catalog's code ended.
pub(super) enum End<T> {
    /// By itself.
    Done(Result<T, Fault>),
    /// Nobody waits for it any more.
    Cancelled,
    /// It took too long.
    TimedOut,
}

impl Handler {
    /// Runs it for who asks. What is not done when nobody waits any more, or when the time is over,
    /// is dropped.
    pub(super) async fn run<T>(
        &self,
        asker: &Asker,
        cx: &RequestContext<RoleServer>,
        context: &Context,
        work: impl Future<Output = Result<T, Fault>> + Send,
    ) -> Result<End<T>, Fault> {
        let permit = self.core.quota.begin(&asker.principal).inspect_err(|_| {
            self.core.counters.refused_by_limit.add(1);
        })?;
        let under_way = self.core.under_way();
        // Whatever ends the work, what it began elsewhere learns of it.
        let _cancels = context.cancelled.clone().drop_guard();
        let session_ended = async {
            match &asker.session {
                Some(session) => session.ended.cancelled().await,
                None => std::future::pending().await,
            }
        };
        let end = tokio::select! {
            biased;
            done = AssertUnwindSafe(work).catch_unwind() => match done {
                Ok(done) => End::Done(done),
                Err(_) => End::Done(Err(panicked())),
            },
            () = cx.ct.cancelled() => End::Cancelled,
            () = context.cancelled.cancelled() => End::Cancelled,
            () = session_ended => End::Cancelled,
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
}

/// The panic itself is in the log: the hook has written it.
fn panicked() -> Fault {
    tracing::error!("the code behind a request panicked");
    Fault::internal("the server failed: see its log")
}

pub(super) fn cancelled() -> Fault {
    Fault::internal("the request was cancelled")
}
