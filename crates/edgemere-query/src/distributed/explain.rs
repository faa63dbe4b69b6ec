//! How a query of the network would run, for people.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, displayable};

use super::merge_scan::MergeScan;
use super::scan::OperatorScan;
use super::shards::Operator;

/// How a query of the network would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// Whether rows are passed on as they come. Otherwise the query node puts results together.
    pub pass_through: bool,
    /// What operators do. A query may need several results of them.
    pub parts: Vec<FragmentPlan>,
    /// What is done with the results: a step on each line, the last ones first.
    pub consolidation: String,
}

/// What some operators do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FragmentPlan {
    /// The operators that are asked.
    pub operators: Vec<Operator>,
    /// What each does on its own rows: a step on each line, the last ones first.
    pub plan: String,
}

impl Explained {
    /// Of a plan that was divided.
    pub(crate) fn of(plan: &Arc<dyn ExecutionPlan>) -> Self {
        let parts = gathers(plan).into_iter().map(|gather| {
            let parts = gather.tasks().parts().iter();
            let operators = parts.filter_map(|part| part.operators.first().cloned()).collect();
            FragmentPlan { operators, plan: text(gather.tasks().plan()) }
        });
        Self { pass_through: is_passed_on(plan), parts: parts.collect(), consolidation: text(plan) }
    }
}

/// The boundaries of a plan.
pub(super) fn gathers(plan: &Arc<dyn ExecutionPlan>) -> Vec<MergeScan> {
    let mut gathers = Vec::new();
    // Nothing in here fails.
    let _ = plan.apply(|step| {
        gathers.extend(step.downcast_ref::<MergeScan>().cloned());
        Ok(TreeNodeRecursion::Continue)
    });
    gathers
}

/// What operators do at a boundary; none when a step is no boundary.
pub(crate) fn task_plan(step: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    step.downcast_ref::<MergeScan>().map(|gather| Arc::clone(gather.tasks().plan()))
}

/// Whether a step reads an operator's rows.
pub(crate) fn is_scan(step: &Arc<dyn ExecutionPlan>) -> bool {
    step.is::<OperatorScan>()
}

/// Whether no step waits for more than one batch.
fn is_passed_on(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let step = plan.is::<MergeScan>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<ProjectionExec>()
        || plan.is::<FilterExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<GlobalLimitExec>()
        || plan.is::<LocalLimitExec>()
        || plan.is::<UnionExec>()
        || plan.is::<EmptyExec>();
    step && plan.children().into_iter().all(is_passed_on)
}

fn text(plan: &Arc<dyn ExecutionPlan>) -> String {
    displayable(plan.as_ref()).indent(false).to_string().trim_end().to_owned()
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.pass_through { "pass-through" } else { "consolidation" };
        writeln!(f, "{kind}")?;
        for remote in &self.parts {
            let names: Vec<_> = remote.operators.iter().map(Operator::to_string).collect();
            writeln!(f, "each of {}:", names.join(", "))?;
            indented(f, &remote.plan)?;
        }
        writeln!(f, "the query node:")?;
        indented(f, &self.consolidation)
    }
}

fn indented(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    text.lines().try_for_each(|line| writeln!(f, "  {line}"))
}
