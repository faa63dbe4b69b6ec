//! The first rows of tables that are put together: `SELECT 'a' AS t, … UNION ALL SELECT 'b', … ORDER BY
//! t, id LIMIT 3`.
//!
//! DataFusion sees that `t` is the same in all rows of a part, and orders each part by `id` alone. But
//! all parts share the bound beyond which a row is not among the first, and that bound is then without
//! `t`: a row of one part is thrown away because another part has enough rows with a smaller `id`. Rows
//! are missing, now and then. So each part is ordered by all of the keys that the parts are merged by,
//! and the bound has them too; where those are not known, each part is ordered without a bound.

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::physical_expr::{AcrossPartitions, LexOrdering};
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

/// The plan with bounds that hold for all parts.
pub(crate) fn apply(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    below(plan, None)
}

/// The same for a step whose parts are merged by these keys, if they are.
fn below(
    step: Arc<dyn ExecutionPlan>,
    merged_by: Option<&LexOrdering>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let keys = step.downcast_ref::<SortPreservingMergeExec>().map(|merge| merge.expr().clone());
    let inputs = step.children().into_iter().map(Arc::clone);
    let inputs = inputs.map(|input| below(input, keys.as_ref())).collect::<Result<Vec<_>>>()?;
    let step = replace_children_if_necessary(step, inputs)?;
    Ok(match (bounded(&step), merged_by) {
        (None, _) => step,
        (Some((sort, _)), Some(keys)) if keys == sort.expr() => step,
        (Some((sort, fetch)), Some(keys)) => {
            Arc::new(sorted(sort, keys.clone()).with_fetch(Some(fetch)))
        }
        (Some((sort, fetch)), None) => {
            Arc::new(LocalLimitExec::new(Arc::new(sorted(sort, sort.expr().clone())), fetch))
        }
    })
}

/// A sort with a bound, of parts that have something in all of their rows which others have not.
fn bounded(step: &Arc<dyn ExecutionPlan>) -> Option<(&SortExec, usize)> {
    let sort = step.downcast_ref::<SortExec>().filter(|sort| sort.preserve_partitioning())?;
    let fetch = sort.fetch()?;
    let constants = sort.input().equivalence_properties().constants();
    let mut across = constants.iter().map(|constant| &constant.across_partitions);
    across.any(|across| *across == AcrossPartitions::Heterogeneous).then_some((sort, fetch))
}

/// The same parts, each ordered by these keys.
fn sorted(sort: &SortExec, keys: LexOrdering) -> SortExec {
    SortExec::new(keys, Arc::clone(sort.input())).with_preserve_partitioning(true)
}
