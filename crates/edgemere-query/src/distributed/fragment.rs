//! A task while an operator runs it.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::resources_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
    execute_stream,
};
use futures_util::{StreamExt, stream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::error::Error;
use super::worker::{Inner, ended};
use super::{end_of_stream, replan};
use crate::sql::{Catalog, Deadline, Sql, find_storage_error, pieces, rows_read, yielding};

/// How long a task may take. Its query node ends it long before.
const TIME_MAX: Duration = Duration::from_secs(24 * 3600);

/// How many batches are ready before they are sent.
const BATCHES_READY: usize = 1;

/// A plan that was accepted, with what this operator's rows were then, as long as the query lives.
#[derive(Debug)]
pub(super) struct Fragment {
    plan: Arc<dyn ExecutionPlan>,
    tables: Weak<Catalog>,
    worker: Weak<Inner>,
    properties: Arc<PlanProperties>,
}

/// How many tasks run.
#[derive(Clone, Debug, Default)]
pub(super) struct Running(Arc<AtomicUsize>);

/// A task that runs.
struct Run(Running);

impl Running {
    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    fn begin(&self) -> Run {
        self.0.fetch_add(1, Ordering::AcqRel);
        Run(self.clone())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Fragment {
    pub(super) fn new(
        plan: Arc<dyn ExecutionPlan>,
        tables: &Arc<Catalog>,
        worker: &Arc<Inner>,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(end_of_stream::sent_schema(&plan.schema())),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let (tables, worker) = (Arc::downgrade(tables), Arc::downgrade(worker));
        Self { plan, tables, worker, properties: Arc::new(properties) }
    }
}

/// What a task runs.
struct Work {
    plan: Arc<dyn ExecutionPlan>,
    tables: Arc<Catalog>,
    sql: Sql,
    sent: SchemaRef,
}

/// Runs a task where queries run, and hands over its rows and then its end.
async fn run(work: Work, stop: Deadline, sender: mpsc::Sender<RecordBatch>) -> Result<()> {
    let Work { plan, tables, sql, sent } = work;
    // Its memory is kept to the end: by that the node knows that it works for somebody.
    let (state, task) = sql.part(&tables, &stop);
    let plan = replan::expand(plan, &tables, &state).await.map_err(told)?;
    let plan = yielding(plan, &stop)?;
    for missing in tables.missing_rows() {
        if sender.send(end_of_stream::notice(&sent, &missing)?).await.is_err() {
            return Ok(());
        }
    }
    let mut rows = execute_stream(Arc::clone(&plan), Arc::clone(&task)).map_err(told)?;
    while let Some(batch) = rows.next().await {
        // A message has a limit.
        for piece in pieces(batch.map_err(told)?) {
            if sender.send(end_of_stream::rows(&piece, &sent)?).await.is_err() {
                return Ok(());
            }
        }
    }
    let _ = sender.send(end_of_stream::end(&sent, rows_read(&plan))?).await;
    Ok(())
}

/// The error that the query node receives: unreadable rows have a kind that it recognizes.
fn told(error: DataFusionError) -> DataFusionError {
    match find_storage_error(&error) {
        Some(error) => io::Error::new(Error::DAMAGE, error.to_string()).into(),
        None => error,
    }
}

/// The rows of a task that runs. Dropping it stops the work.
struct Rows {
    batches: mpsc::Receiver<RecordBatch>,
    work: JoinSet<Result<()>>,
    stop: Deadline,
    _run: Run,
}

impl Rows {
    /// The next rows, or how the work failed.
    async fn next(&mut self) -> Option<Result<RecordBatch>> {
        if let Some(batch) = self.batches.recv().await {
            return Some(Ok(batch));
        }
        match self.work.join_next().await? {
            Ok(ended) => ended.err().map(Err),
            Err(error) => Some(Err(DataFusionError::External(Box::new(error)))),
        }
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.stop.now();
    }
}

impl DisplayAs for Fragment {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Task")
    }
}

impl ExecutionPlan for Fragment {
    fn name(&self) -> &'static str {
        "Task"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some((tables, worker)) = self.tables.upgrade().zip(self.worker.upgrade()) else {
            return ended();
        };
        let sent = self.schema();
        let (sender, batches) = mpsc::channel(BATCHES_READY);
        let stop = Deadline::after(TIME_MAX);
        let work = Work {
            plan: Arc::clone(&self.plan),
            tables,
            sql: worker.sql.clone(),
            sent: Arc::clone(&sent),
        };
        let called_off = stop.clone();
        let running = run(work, stop.clone(), sender);
        let work = worker.sql.workers().run(async move {
            tokio::select! {
                biased;
                () = called_off.called_off() => resources_err!("the operator is short of memory"),
                ended = running => ended,
            }
        });
        let rows = Rows { batches, work, stop, _run: worker.running.begin() };
        let rows = stream::unfold(rows, |mut rows| async {
            let next = rows.next().await?;
            Some((next, rows))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(sent, rows)))
    }
}
