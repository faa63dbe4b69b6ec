//! What the expressions of one step may make of one batch, and whether they are to stop.
//!
//! A function does not know which query it is evaluated for. The step that evaluates it does, and
//! enters its meter on the thread while it is polled.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use datafusion::common::{Result, exec_err};
use datafusion::error::DataFusionError;

use crate::sql::run::deadline::Deadline;

/// How many bytes all expressions of a step may make of one batch.
pub(crate) const BATCH_BYTES_MAX: usize = 64 << 20;

/// How many bytes a call may make while a query is planned. A longer constant is not computed before
/// the query runs, where it is bounded with all others.
const FOLDED_BYTES_MAX: usize = 4 << 10;

/// How many bytes all calls may make while a query is planned.
const FOLDED_TOTAL_BYTES_MAX: usize = 1 << 20;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Meter>>> = const { RefCell::new(None) };
}

/// More than an expression may make of one batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} would make {bytes} bytes of one batch of rows, and {limit} are the most")]
pub struct Excess {
    /// What would.
    pub what: String,
    /// How much, as far as it is known beforehand.
    pub bytes: usize,
    /// How much it may be.
    pub limit: usize,
}

impl Excess {
    pub(super) fn error(what: impl Into<String>, bytes: usize, limit: usize) -> DataFusionError {
        DataFusionError::External(Box::new(Self { what: what.into(), bytes, limit }))
    }

    /// The one that is the cause of an error.
    pub(crate) fn find<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref::<Self>() {
                return Some(found);
            }
            next = error.source();
        }
        None
    }
}

/// What has been made of the batch at hand.
#[derive(Debug)]
pub(super) struct Meter {
    stop: Deadline,
    made: AtomicUsize,
    call_max: usize,
    total_max: usize,
    /// How often it was asked whether the query is to stop, and at which time it is.
    #[cfg(test)]
    checks: AtomicUsize,
    #[cfg(test)]
    stops_at: usize,
}

impl Meter {
    fn new(stop: Deadline, call_max: usize, total_max: usize) -> Self {
        Self {
            stop,
            made: AtomicUsize::new(0),
            call_max,
            total_max,
            #[cfg(test)]
            checks: AtomicUsize::new(0),
            #[cfg(test)]
            stops_at: usize::MAX,
        }
    }

    /// For a query that is to stop when it is asked for so many times.
    #[cfg(test)]
    pub(super) fn stopping_at(checks: usize) -> Arc<Self> {
        let stop = Deadline::after(std::time::Duration::from_secs(3600));
        let meter = Self::new(stop, BATCH_BYTES_MAX, BATCH_BYTES_MAX);
        Arc::new(Self { stops_at: checks, ..meter })
    }

    #[cfg(test)]
    pub(super) fn checks(&self) -> usize {
        self.checks.load(Ordering::Relaxed)
    }

    /// For a step that runs.
    pub(super) fn running(stop: Deadline) -> Arc<Self> {
        Arc::new(Self::new(stop, BATCH_BYTES_MAX, BATCH_BYTES_MAX))
    }

    /// On this thread, until what is returned is dropped.
    pub(super) fn enter(self: &Arc<Self>) -> Entered {
        Entered { before: CURRENT.replace(Some(Arc::clone(self))) }
    }

    fn charge(&self, what: &str, bytes: usize) -> Result<()> {
        self.check_stop()?;
        let made = self.made.load(Ordering::Relaxed).saturating_add(bytes);
        if bytes > self.call_max || made > self.total_max {
            return Err(Excess::error(format!("\"{what}\""), made, self.total_max));
        }
        self.made.store(made, Ordering::Relaxed);
        Ok(())
    }

    fn check_stop(&self) -> Result<()> {
        #[cfg(test)]
        if self.checks.fetch_add(1, Ordering::Relaxed) + 1 >= self.stops_at {
            self.stop.now();
        }
        match self.stop.is_now() {
            true => exec_err!("the query is to stop"),
            false => Ok(()),
        }
    }
}

/// Leaves a meter when it is dropped.
pub(super) struct Entered {
    before: Option<Arc<Meter>>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.before.take());
    }
}

/// Asks for so many bytes, before they are allocated.
pub(super) fn charge(what: &str, bytes: usize) -> Result<()> {
    match current() {
        Some(meter) => meter.charge(what, bytes),
        None if bytes > BATCH_BYTES_MAX => {
            Err(Excess::error(format!("\"{what}\""), bytes, BATCH_BYTES_MAX))
        }
        None => Ok(()),
    }
}

/// Fails when the query at hand is to stop.
pub(in crate::sql) fn check_stop() -> Result<()> {
    current().map_or(Ok(()), |meter| meter.check_stop())
}

/// The step at hand begins with the next batch.
pub(super) fn begin_batch() {
    if let Some(meter) = current() {
        meter.made.store(0, Ordering::Relaxed);
    }
}

fn current() -> Option<Arc<Meter>> {
    CURRENT.with_borrow(Option::clone)
}

/// The planning of a query, in which constants are computed.
pub(in crate::sql) fn planning<F: Future>(
    stop: Deadline,
    future: F,
) -> impl Future<Output = F::Output> {
    let meter = Meter::new(stop, FOLDED_BYTES_MAX, FOLDED_TOTAL_BYTES_MAX);
    Within { meter: Arc::new(meter), future: Box::pin(future) }
}

struct Within<F> {
    meter: Arc<Meter>,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for Within<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _entered = self.meter.enter();
        self.future.as_mut().poll(context)
    }
}
