//! The boundary: on the query node, the step that passes on what operators send, one partition for
//! each part of the table.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
};
use futures_util::stream;

use super::coordinator::RemoteTasks;

/// What operators do, and what comes of it.
#[derive(Clone, Debug)]
pub(super) struct MergeScan {
    tasks: Arc<RemoteTasks>,
    properties: Arc<PlanProperties>,
}

impl MergeScan {
    pub(super) fn new(tasks: RemoteTasks) -> Self {
        let properties = PlanProperties::new(
            tasks.plan().properties().eq_properties.clone(),
            Partitioning::UnknownPartitioning(tasks.parts().len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { tasks: Arc::new(tasks), properties: Arc::new(properties) }
    }

    /// What operators are given to do.
    pub(super) fn tasks(&self) -> &Arc<RemoteTasks> {
        &self.tasks
    }
}

impl DisplayAs for MergeScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gather: parts={}", self.tasks.parts().len())
    }
}

impl ExecutionPlan for MergeScan {
    fn name(&self) -> &'static str {
        "Gather"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    /// None: what operators do is nothing that this node runs.
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

    fn execute(&self, part: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let reading = self.tasks.reading(part)?;
        let rows = stream::try_unfold(reading, |mut reading| async move {
            let rows = reading.next().await.map_err(DataFusionError::from)?;
            Ok(rows.map(|rows| (rows, reading)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}
