//! The way from a plan to steps that run, around what DataFusion does wrongly on it.

use std::sync::Arc;

use datafusion::common::tree_node::TreeNode;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;

use crate::sql::Session;
use crate::sql::error::Error;
use crate::sql::plan::missing;
use crate::sql::workarounds::topk_union;

/// How the rules' names begin that bring filters down to where rows are read. They are for plain plans
/// alone.
///
/// DataFusion brings filters down, also those that a sort finds while it runs, by the names of their
/// columns and by their places, which it mixes up. After a join two columns may have one name, and
/// `x.d <= y.d` becomes `x.d <= x.d`: rows too many, or too few. Of `ORDER BY a - b LIMIT 3` it takes
/// the columns of another step, and panics. What can be known before rows are read is in the scans
/// already, where the plan was optimized.
pub(crate) const FILTER_RULES: &str = "FilterPushdown";

/// The rule that checks what the others have done.
pub(crate) const PROVING_RULE: &str = "SanityCheckPlan";

/// The steps of a plan that was optimized.
///
/// DataFusion sorts the parts of a table each on its own and merges them, and at the end checks that
/// they are sorted. It does not see that they are when a column is there twice or is always the same,
/// since equalities get lost between its rules, and gives up. Such a query is planned again, and
/// sorted in one piece.
pub(crate) async fn plan(
    session: &Session,
    plan: &LogicalPlan,
) -> Result<Arc<dyn ExecutionPlan>, Error> {
    let with_all_rules = match is_plain(plan)? {
        true => Some(session.sessions.with_all_rules(&session.state)),
        false => None,
    };
    let state = with_all_rules.as_ref().unwrap_or(&session.state);
    let steps = match state.query_planner().create_physical_plan(plan, state).await {
        Err(error) if is_unproven(&error) => {
            let mut without_filter_pushdown = state.clone();
            without_filter_pushdown.config_mut().options_mut().optimizer.repartition_sorts = false;
            let planner = Arc::clone(without_filter_pushdown.query_planner());
            planner.create_physical_plan(plan, &without_filter_pushdown).await
        }
        other => other,
    };
    steps.and_then(topk_union::apply).map_err(unplanned)
}

/// Why there are no steps. The rows may not be there to be read.
fn unplanned(error: DataFusionError) -> Error {
    missing::find(&error).map_or_else(|| Error::Plan(error), Error::Storage)
}

/// Whether a plan has only columns as they are in one table: read, filtered, sorted, cut off.
fn is_plain(plan: &LogicalPlan) -> Result<bool, Error> {
    let is_column = |expr: &Expr| matches!(expr, Expr::Column(_));
    let is_other = |step: &LogicalPlan| match step {
        LogicalPlan::Projection(projection) => !projection.expr.iter().all(is_column),
        LogicalPlan::Sort(sort) => !sort.expr.iter().all(|key| is_column(&key.expr)),
        LogicalPlan::TableScan(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Limit(_) => false,
        _ => true,
    };
    plan.exists(|step| Ok(is_other(step))).map(|found| !found).map_err(Error::Plan)
}

/// Whether it is DataFusion's own check that failed.
fn is_unproven(error: &DataFusionError) -> bool {
    matches!(error, DataFusionError::Context(rule, _) if rule == PROVING_RULE)
}
