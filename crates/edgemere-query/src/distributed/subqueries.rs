//! Scalar subqueries whose results a step on operators needs: `where value > (select avg(value) …)`.
//! They run on the query node first; their results are then sent along as rows of the plan.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{ScalarValue, internal_datafusion_err};
use datafusion::error::Result;
use datafusion::logical_expr::physical_planning_context::{ScalarSubqueryResults, SubqueryIndex};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::lit;
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::scalar_subquery::{ScalarSubqueryExec, ScalarSubqueryLink};

/// The subqueries of one level of a query.
#[derive(Clone, Debug)]
pub(super) struct Subqueries {
    indexes: Vec<SubqueryIndex>,
    results: ScalarSubqueryResults,
}

impl Subqueries {
    pub(super) fn of(step: &ScalarSubqueryExec) -> Self {
        let indexes = step.subqueries().iter().map(|link| link.index).collect();
        Self { indexes, results: step.results().clone() }
    }

    /// Whether a plan uses a result.
    pub(super) fn are_used_in(&self, plan: &Arc<dyn ExecutionPlan>) -> bool {
        let mut used = false;
        // Nothing in here fails.
        let _ = plan.apply(|step| {
            step.apply_expressions(&mut |expression| {
                expression.apply(|inner: &Arc<dyn PhysicalExpr>| {
                    used |= inner.downcast_ref::<ScalarSubqueryExpr>().is_some();
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        });
        used
    }

    /// The plan, with the results in it. They are there: what uses them runs after the subqueries.
    pub(super) fn write_into(
        &self,
        plan: Arc<dyn ExecutionPlan>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let links = self.indexes.iter().map(|index| {
            let value = self
                .results
                .get(*index)
                .ok_or_else(|| internal_datafusion_err!("a subquery is used before it was run"))?;
            Ok(ScalarSubqueryLink { plan: row_of(value)?, index: *index })
        });
        let links = links.collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(ScalarSubqueryExec::new(plan, links, self.results.clone())))
    }
}

/// One row with one value.
fn row_of(value: ScalarValue) -> Result<Arc<dyn ExecutionPlan>> {
    let row = PlaceholderRowExec::new(Arc::new(arrow::datatypes::Schema::empty()));
    let value = [(lit(value), "value".to_owned())];
    Ok(Arc::new(ProjectionExec::try_new(value, Arc::new(row))?))
}
