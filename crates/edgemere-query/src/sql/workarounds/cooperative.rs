//! Queries that let themselves be stopped.
//!
//! DataFusion's operators yield when they read their input, which is often enough for all but those
//! that make many batches of one: a join of two small tables may go on for hours without reading
//! anything. Those yield after each batch that they give, and look at the clock while they seek one.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{NestedLoopJoinExec, NestedLoopJoinExecBuilder};
use datafusion::physical_plan::unnest::UnnestExec;

use crate::sql::bounds;
use crate::sql::run::deadline::{Deadline, Stoppable};

/// A plan whose operators yield, and end when they are to stop.
pub(crate) fn yielding(
    plan: Arc<dyn ExecutionPlan>,
    stop: &Deadline,
) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        let (before, multiplies) = (Arc::clone(&plan), multiplies(plan.as_ref()));
        let plan = match plan.downcast_ref::<NestedLoopJoinExec>() {
            Some(join) => stoppable(join, stop)?,
            None => plan,
        };
        let plan = bounds::metered(bounds::plain_scan(plan)?, stop)?;
        Ok(match (multiplies, Arc::ptr_eq(&before, &plan)) {
            (true, _) => Transformed::yes(Arc::new(CooperativeExec::new(plan)) as _),
            (false, false) => Transformed::yes(plan),
            (false, true) => Transformed::no(plan),
        })
    })
    .data()
}

/// Whether an operator may give many batches for one that it reads: whatever joins, and what makes
/// rows of lists.
fn multiplies(plan: &dyn ExecutionPlan) -> bool {
    plan.children().len() > 1 || plan.is::<UnnestExec>()
}

/// A join that looks at the clock for each row and batch.
fn stoppable(join: &NestedLoopJoinExec, stop: &Deadline) -> Result<Arc<dyn ExecutionPlan>> {
    let filter = join.filter().map(|filter| {
        let condition = Arc::clone(filter.expression());
        let condition = Arc::new(Stoppable { condition, stop: stop.clone() });
        JoinFilter::new(condition, filter.column_indices().to_vec(), Arc::clone(filter.schema()))
    });
    Ok(Arc::new(NestedLoopJoinExecBuilder::from(join).with_filter(filter).build()?))
}
