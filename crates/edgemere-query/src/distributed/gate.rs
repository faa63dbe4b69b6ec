//! What an operator agrees to run: the steps of [`super::pushdown`] on its own tables, and scans that
//! name this very operator. A plan that was sent to the wrong node must fail: rows of another
//! operator would make a wrong answer that looks right.

use std::sync::Arc;

use datafusion::common::plan_err;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;

use super::pushdown;
use super::scan::OperatorScan;

/// How many steps a plan may have.
const STEPS_MAX: usize = 10_000;

/// Refuses a plan that is not for this operator to run.
pub(super) fn check(plan: &Arc<dyn ExecutionPlan>, id: &str) -> Result<()> {
    let mut steps = 0;
    plan.apply(|step| {
        steps += 1;
        if steps > STEPS_MAX {
            return plan_err!("this operator runs no plan of more than {STEPS_MAX} steps");
        }
        if !pushdown::is_allowed(step) {
            return plan_err!("this operator does not run {} for others", step.name());
        }
        if let Some(scan) = step.downcast_ref::<OperatorScan>()
            && scan.operator.as_deref() != Some(id)
        {
            let meant = scan.operator.as_deref().unwrap_or_default();
            return plan_err!("the scan is for operator \"{meant}\", and this is \"{id}\"");
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}
