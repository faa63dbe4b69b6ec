//! The way from a plan to steps that run.

use std::sync::Arc;

use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;

use super::error::Error;

/// The steps of a plan that was optimized.
///
/// DataFusion sorts the parts of a table each on its own and merges them, and at the end checks that
/// they are sorted. It does not see that they are when a column is there twice or is always the same,
/// since equalities get lost between its rules, and gives up. Such a query is planned again, and
/// sorted in one piece.
pub(super) async fn plan(
    state: &SessionState,
    plan: &LogicalPlan,
) -> Result<Arc<dyn ExecutionPlan>, Error> {
    match state.query_planner().create_physical_plan(plan, state).await {
        Err(error) if is_unproven(&error) => {
            let mut careful = state.clone();
            careful.config_mut().options_mut().optimizer.repartition_sorts = false;
            let planner = Arc::clone(careful.query_planner());
            planner.create_physical_plan(plan, &careful).await.map_err(Error::Plan)
        }
        other => other.map_err(Error::Plan),
    }
}

/// Whether it is DataFusion's own check that failed.
fn is_unproven(error: &DataFusionError) -> bool {
    matches!(error, DataFusionError::Context(rule, _) if rule == "SanityCheckPlan")
}
