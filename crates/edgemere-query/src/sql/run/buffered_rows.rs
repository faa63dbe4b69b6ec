//! Whether a query holds rows in memory while nobody reads: whether it has a step that keeps more than the
//! batch at hand, here or on operators.

use std::sync::Arc;

use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::unnest::UnnestExec;

use crate::distributed;

/// Whether a plan holds rows.
pub(crate) fn holds_rows(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some(there) = distributed::task_plan(plan) {
        return holds_rows(&there);
    }
    !passes_on(plan) || plan.children().into_iter().any(holds_rows)
}

fn passes_on(step: &Arc<dyn ExecutionPlan>) -> bool {
    step.is::<DataSourceExec>()
        || distributed::is_scan(step)
        || step.is::<FilterExec>()
        || step.is::<ProjectionExec>()
        || step.is::<CoalescePartitionsExec>()
        || step.is::<RepartitionExec>()
        || step.is::<CooperativeExec>()
        || step.is::<GlobalLimitExec>()
        || step.is::<LocalLimitExec>()
        || step.is::<UnionExec>()
        || step.is::<UnnestExec>()
        || step.is::<EmptyExec>()
        || step.is::<PlaceholderRowExec>()
}
