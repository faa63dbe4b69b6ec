//! Two steps that stand around one whose expressions may grow: below it, batches are handed over in
//! pieces that are small enough; above it, the meter of its expressions is entered.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, exec_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures_util::{Stream, StreamExt};

use crate::sql::bounds::meter::{self, Meter};
use crate::sql::bounds::steps::Cut;
use crate::sql::run::deadline::Deadline;

/// A step that stands around another.
#[derive(Debug)]
pub(super) struct Metered {
    input: Arc<dyn ExecutionPlan>,
    stop: Deadline,
    /// How batches are cut; above a step they are not.
    cut: Option<Cut>,
}

impl Metered {
    pub(super) fn above(input: Arc<dyn ExecutionPlan>, stop: &Deadline) -> Self {
        Self { input, stop: stop.clone(), cut: None }
    }

    pub(super) fn below(input: &Arc<dyn ExecutionPlan>, stop: &Deadline, cut: &Cut) -> Self {
        Self { input: Arc::clone(input), stop: stop.clone(), cut: Some(cut.clone()) }
    }
}

impl DisplayAs for Metered {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Metered")
    }
}

impl ExecutionPlan for Metered {
    fn name(&self) -> &'static str {
        "Metered"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.pop().unwrap_or_else(|| Arc::clone(&self.input));
        Ok(Arc::new(Self { input, stop: self.stop.clone(), cut: self.cut.clone() }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let Some(cut) = &self.cut else {
            let meter = Meter::running(self.stop.clone());
            let input = {
                let _entered = meter.enter();
                self.input.execute(partition, context)?
            };
            return Ok(Box::pin(Above { input, meter }));
        };
        let held = MemoryConsumer::new("a window").register(context.memory_pool());
        let input = self.input.execute(partition, context)?;
        let pieces = Pieces::new(cut.clone(), held);
        Ok(Box::pin(Below { input, stop: self.stop.clone(), pieces }))
    }
}

/// What a step gives, with its meter entered while it works.
struct Above {
    input: SendableRecordBatchStream,
    meter: Arc<Meter>,
}

impl Stream for Above {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let _entered = self.meter.enter();
        self.input.poll_next_unpin(context)
    }
}

impl RecordBatchStream for Above {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}

/// What a step reads, in pieces.
struct Below {
    input: SendableRecordBatchStream,
    stop: Deadline,
    pieces: Pieces,
}

impl Stream for Below {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.stop.is_now() {
            return Poll::Ready(Some(exec_err!("the query is to stop")));
        }
        if self.pieces.rest.is_none() {
            match ready!(self.input.poll_next_unpin(context)) {
                Some(Ok(batch)) => self.pieces.rest = Some(batch),
                other => return Poll::Ready(other),
            }
        }
        meter::begin_batch();
        Poll::Ready(self.pieces.next().transpose())
    }
}

impl RecordBatchStream for Below {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}

/// Cuts batches.
struct Pieces {
    cut: Cut,
    rest: Option<RecordBatch>,
    seen: crate::sql::bounds::steps::Seen,
    held: MemoryReservation,
}

impl Pieces {
    fn new(cut: Cut, held: MemoryReservation) -> Self {
        Self { cut, rest: None, seen: Default::default(), held }
    }

    /// The next piece.
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let Some(batch) = self.rest.take() else { return Ok(None) };
        let rows = self.cut.rows(&batch, &mut self.seen)?;
        let piece = match rows < batch.num_rows() {
            true => {
                self.rest = Some(batch.slice(rows, batch.num_rows() - rows));
                batch.slice(0, rows)
            }
            false => batch,
        };
        if let Some(bytes) = self.cut.held(&piece, &mut self.seen) {
            self.held.try_resize(bytes)?;
        }
        Ok(Some(piece))
    }
}
