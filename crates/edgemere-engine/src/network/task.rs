//! A task while an operator runs it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
    execute_stream,
};
use datafusion::prelude::SessionContext;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::{ending, expand};
use crate::sql::Snapshots;

/// A plan that was accepted, with what this operator's rows were then.
#[derive(Debug)]
pub(super) struct Task {
    plan: Arc<dyn ExecutionPlan>,
    tables: Arc<Snapshots>,
    session: Session,
    running: Running,
    properties: Arc<PlanProperties>,
}

/// Makes the session that a task is planned and run in.
#[derive(Clone)]
pub(super) struct Session(pub(super) Arc<dyn Fn() -> SessionContext + Send + Sync>);

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

impl Task {
    pub(super) fn new(
        plan: Arc<dyn ExecutionPlan>,
        tables: Arc<Snapshots>,
        session: Session,
        running: Running,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(ending::sent_schema(&plan.schema())),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { plan, tables, session, running, properties: Arc::new(properties) }
    }
}

/// The rows of a task, and then its end.
async fn rows(
    plan: Arc<dyn ExecutionPlan>,
    tables: Arc<Snapshots>,
    session: Session,
    sent: SchemaRef,
) -> Result<impl futures_util::Stream<Item = Result<RecordBatch>>> {
    let state = (session.0)().state();
    let plan = expand::expand(plan, &tables, &state).await?;
    let rows = execute_stream(plan, state.task_ctx())?;
    let end = Arc::clone(&sent);
    let rows = rows.map(move |batch| Ok(ending::rows(&batch?, &sent)?));
    Ok(rows.chain(stream::once(async move { Ok(ending::end(&end)?) })))
}

impl DisplayAs for Task {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Task")
    }
}

impl ExecutionPlan for Task {
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
        let sent = self.schema();
        let run = self.running.begin();
        let rows = rows(
            Arc::clone(&self.plan),
            Arc::clone(&self.tables),
            self.session.clone(),
            Arc::clone(&sent),
        );
        let rows = stream::once(rows).try_flatten().inspect(move |_| {
            // It runs as long as its rows are wanted.
            let _ = &run;
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(sent, rows)))
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}
