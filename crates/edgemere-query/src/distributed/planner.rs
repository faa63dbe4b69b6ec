//! Divides a plan: what operators do, each on its own rows, and what is left for the query node.
//!
//! DataFusion has planned the query as if all rows were here, in partitions. A partition is as good as
//! an operator for every step that does not look across partitions, so the plan is walked from its
//! scans upwards, and everything goes to the operators until a step has to see all rows. There the
//! boundary goes in: [`MergeScan`].

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::scalar_subquery::ScalarSubqueryExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::UnionExec;

use super::coordinator::{DistributedQuery, RemoteTasks};
use super::error::Error;
use super::merge_scan::MergeScan;
use super::pushdown;
use super::scan::OperatorScan;
use super::shards::{Shard, Shards};
use super::subqueries::Subqueries;

/// The plan for the query node, with a [`MergeScan`] wherever rows come from operators.
pub(super) fn divide(
    plan: Arc<dyn ExecutionPlan>,
    job: &Arc<DistributedQuery>,
) -> Result<Arc<dyn ExecutionPlan>> {
    Planner { job, subqueries: None }.divide(plan)
}

/// A part of a plan, and where it runs.
enum Side {
    /// On the operators of these parts, each with its own rows.
    There(Arc<dyn ExecutionPlan>, Shards),
    /// On the query node.
    Here(Arc<dyn ExecutionPlan>),
}

struct Planner<'a> {
    job: &'a Arc<DistributedQuery>,
    /// The subqueries whose results the steps below may use.
    subqueries: Option<Subqueries>,
}

impl Planner<'_> {
    fn divide(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let side = self.side(plan)?;
        self.here(side)
    }

    fn side(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Side> {
        if let Some(scan) = plan.downcast_ref::<OperatorScan>() {
            if scan.parts.is_empty() {
                let table = format!("{}.{}", scan.dbms, scan.table);
                return Err(Error::NoOperator { table }.into());
            }
            return Ok(Side::There(Arc::clone(&plan), Arc::clone(&scan.parts)));
        }
        if let Some(step) = plan.downcast_ref::<ScalarSubqueryExec>() {
            return self.with_subqueries(step, &plan);
        }
        let children = plan.children().into_iter().map(Arc::clone);
        let mut sides = children.map(|child| self.side(child)).collect::<Result<Vec<_>>>()?;
        match (sides.pop(), sides.pop()) {
            (Some(only), None) => self.above(plan, only),
            (Some(right), Some(left)) if sides.is_empty() && pushdown::is_join_by_parts(&plan) => {
                self.join(plan, left, right)
            }
            (last, before) => {
                sides.extend(before);
                sides.extend(last);
                self.several(plan, sides)
            }
        }
    }

    /// A step with one input.
    fn above(&self, plan: Arc<dyn ExecutionPlan>, input: Side) -> Result<Side> {
        let (input, parts) = match input {
            Side::Here(input) => return rebuilt(plan, vec![input]).map(Side::Here),
            Side::There(input, parts) => (input, parts),
        };
        if pushdown::is_repartition(&plan) {
            return Ok(Side::There(input, parts));
        }
        if pushdown::is_pushable(&plan) {
            return Ok(Side::There(rebuilt(plan, vec![input])?, parts));
        }
        // An operator puts its rows together in the same way, so that no more than needed come over.
        let input = match plan.is::<SortPreservingMergeExec>() {
            true => rebuilt(Arc::clone(&plan), vec![input])?,
            false if plan.is::<CoalescePartitionsExec>() => limited(input, plan.fetch()),
            false => input,
        };
        let gather = self.gather(input, parts)?;
        rebuilt(plan, vec![gather]).map(Side::Here)
    }

    /// A join whose left side is needed whole, and whose right side may be in parts.
    fn join(&self, plan: Arc<dyn ExecutionPlan>, left: Side, right: Side) -> Result<Side> {
        match (left, right) {
            (Side::Here(left), Side::There(right, parts)) if is_all_written_out(&left) => {
                Ok(Side::There(rebuilt(plan, vec![left, right])?, parts))
            }
            (left, right) => self.several(plan, vec![left, right]),
        }
    }

    /// A step with several inputs.
    fn several(&self, plan: Arc<dyn ExecutionPlan>, sides: Vec<Side>) -> Result<Side> {
        if plan.is::<UnionExec>()
            && let Some(parts) = common_parts(&sides)
        {
            let inputs = sides.into_iter().map(|side| match side {
                Side::There(input, _) | Side::Here(input) => input,
            });
            return Ok(Side::There(rebuilt(plan, inputs.collect())?, parts));
        }
        let inputs = sides.into_iter().map(|side| self.here(side)).collect::<Result<Vec<_>>>()?;
        rebuilt(plan, inputs).map(Side::Here)
    }

    /// The subqueries run here, each as a query of its own; what they give is sent with the rest.
    fn with_subqueries(
        &self,
        step: &ScalarSubqueryExec,
        plan: &Arc<dyn ExecutionPlan>,
    ) -> Result<Side> {
        let below = Planner { job: self.job, subqueries: Some(Subqueries::of(step)) };
        let mut inputs = vec![below.divide(Arc::clone(step.input()))?];
        for subquery in step.subqueries() {
            inputs.push(self.divide(Arc::clone(&subquery.plan))?);
        }
        rebuilt(Arc::clone(plan), inputs).map(Side::Here)
    }

    fn here(&self, side: Side) -> Result<Arc<dyn ExecutionPlan>> {
        match side {
            Side::Here(plan) => Ok(plan),
            Side::There(plan, parts) => self.gather(plan, parts),
        }
    }

    fn gather(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        parts: Shards,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let subqueries = self.subqueries.clone().filter(|all| all.are_used_in(&plan));
        let tasks = RemoteTasks::new(plan, parts, subqueries, Arc::clone(self.job));
        Ok(Arc::new(MergeScan::new(tasks)))
    }
}

/// The plan of one operator: its scans are for it and for nobody else.
pub(super) fn pinned(
    plan: &Arc<dyn ExecutionPlan>,
    part: &Shard,
    operator: &str,
) -> Result<Arc<dyn ExecutionPlan>> {
    let pinned = Arc::clone(plan).transform_up(|step| {
        let Some(scan) = step.downcast_ref::<OperatorScan>() else {
            return Ok(Transformed::no(step));
        };
        // In a union, an operator may hold rows of one table and none of another.
        Ok(Transformed::yes(match scan.parts.iter().any(|held| held.is_colocated_with(part)) {
            true => Arc::new(scan.pinned(operator)) as _,
            false => Arc::new(EmptyExec::new(scan.schema())) as _,
        }))
    })?;
    Ok(pinned.data)
}

/// All parts of the inputs of a union, when all of them are on operators.
fn common_parts(sides: &[Side]) -> Option<Shards> {
    let mut all: Vec<Shard> = Vec::new();
    for side in sides {
        let Side::There(_, parts) = side else { return None };
        for part in parts.iter() {
            match all.iter_mut().find(|known| known.is_colocated_with(part)) {
                Some(known) => known.rows = known.rows.zip(part.rows).map(|(a, b)| a + b),
                None => all.push(part.clone()),
            }
        }
    }
    Some(all.into())
}

/// Whether the rows of a plan are all in it, and so can be sent along.
fn is_all_written_out(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let children = plan.children();
    let step = match children.is_empty() {
        true => pushdown::is_inline(plan),
        false => pushdown::is_pushable(plan) || plan.is::<CoalescePartitionsExec>(),
    };
    step && children.into_iter().all(is_all_written_out)
}

/// No more than so many rows of each operator.
fn limited(plan: Arc<dyn ExecutionPlan>, fetch: Option<usize>) -> Arc<dyn ExecutionPlan> {
    let Some(fetch) = fetch else { return plan };
    match plan.fetch() {
        Some(already) if already <= fetch => plan,
        _ => Arc::new(LocalLimitExec::new(plan, fetch)),
    }
}

fn rebuilt(
    plan: Arc<dyn ExecutionPlan>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    replace_children_if_necessary(plan, inputs)
}
