//! When a query is to stop, and conditions that look at it.
//!
//! A join with a condition that holds for hardly any pair goes through all pairs of a batch with the
//! other side before it gives anything, which may be billions. Its condition fails when the query is
//! to stop, and with it the join.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::sql::error::Error;

/// The longest time that a query may be given: a clock has an end.
const TIME_MAX: Duration = Duration::from_secs(366 * 24 * 3600);

/// When a query is to stop: when its time is over, or nobody wants it any more.
#[derive(Clone, Debug)]
pub(crate) struct Deadline {
    time: Duration,
    end: Instant,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    unwanted: AtomicBool,
    /// Whether it was the memory of the node that ended it.
    for_memory: AtomicBool,
    called_off: Notify,
}

impl Deadline {
    /// The time begins now.
    pub(crate) fn after(time: Duration) -> Self {
        let time = time.min(TIME_MAX);
        Self { time, end: Instant::now() + time, state: Arc::default() }
    }

    /// Waits for something until the time is over.
    pub(crate) async fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        timeout_at(self.end, work).await.map_err(|_| self.time_out())
    }

    /// Waits until the time is over, and says so.
    pub(crate) async fn over(&self) -> Error {
        sleep_until(self.end).await;
        self.time_out()
    }

    fn time_out(&self) -> Error {
        Error::TimeOut { limit: self.time }
    }

    /// Why a query really failed: what fails because the time is over is not at fault.
    pub(crate) fn reason(&self, error: Error) -> Error {
        match (self.was_for_memory(), Instant::now() >= self.end) {
            (true, _) => Error::ShortOfMemory,
            (_, true) => self.time_out(),
            _ => error,
        }
    }

    /// The memory of the node is short, and the query holds the most of it.
    pub(crate) fn for_memory(&self) {
        self.state.for_memory.store(true, Ordering::Relaxed);
        self.now();
        self.state.called_off.notify_waiters();
        self.state.called_off.notify_one();
    }

    pub(crate) fn was_for_memory(&self) -> bool {
        self.state.for_memory.load(Ordering::Relaxed)
    }

    /// Waits until the query is ended for the memory of the node.
    pub(crate) async fn called_off(&self) {
        while !self.was_for_memory() {
            self.state.called_off.notified().await;
        }
    }

    /// Nobody wants the query any more.
    pub(crate) fn now(&self) {
        self.state.unwanted.store(true, Ordering::Relaxed);
    }

    /// Whether it is to stop.
    pub(crate) fn is_now(&self) -> bool {
        self.state.unwanted.load(Ordering::Relaxed) || Instant::now() >= self.end
    }
}

/// A condition that fails when the query is to stop.
#[derive(Debug)]
pub(crate) struct Stoppable {
    pub(crate) condition: Arc<dyn PhysicalExpr>,
    pub(crate) stop: Deadline,
}

impl PhysicalExpr for Stoppable {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.condition.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.condition.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        match self.stop.is_now() {
            true => exec_err!("the query is to stop"),
            false => self.condition.evaluate(batch),
        }
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.condition]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let condition = children.pop().unwrap_or_else(|| Arc::clone(&self.condition));
        Ok(Arc::new(Self { condition, stop: self.stop.clone() }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt_sql(f)
    }
}

impl fmt::Display for Stoppable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.condition)
    }
}

impl PartialEq for Stoppable {
    fn eq(&self, other: &Self) -> bool {
        self.condition.eq(&other.condition)
    }
}

impl Eq for Stoppable {}

impl Hash for Stoppable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.condition.hash(state);
    }
}
