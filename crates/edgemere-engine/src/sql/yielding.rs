//! Queries that let themselves be stopped.
//!
//! DataFusion's operators yield when they read their input, which is often enough for all but those
//! that make many batches of one: a join of two small tables may go on for hours without reading
//! anything. Those yield after each batch that they give.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::unnest::UnnestExec;

/// A plan whose operators yield.
pub(super) fn yielding(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        Ok(match multiplies(plan.as_ref()) {
            true => Transformed::yes(Arc::new(CooperativeExec::new(plan)) as _),
            false => Transformed::no(plan),
        })
    })
    .data()
}

/// Whether an operator may give many batches for one that it reads: whatever joins, and what makes
/// rows of lists.
fn multiplies(plan: &dyn ExecutionPlan) -> bool {
    plan.children().len() > 1 || plan.is::<UnnestExec>()
}
