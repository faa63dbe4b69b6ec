//! Queries of few rows. One thread has put groups together before several have shared them out and
//! woken each other for it.

use std::any::Any;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::source_as_provider;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{LogicalPlan, TableScan};

use super::source::Source;

/// As many rows are few: one thread takes a few milliseconds to put all of them together, each a group
/// of its own.
const ROWS_MAX: u64 = 128 * 1024;

/// Has a plan of few rows run without sharing them out. The pieces of files still are, to all threads.
pub(super) fn prepare(state: &mut SessionState, plan: &LogicalPlan) {
    if are_all(plan) {
        let optimizer = &mut state.config_mut().options_mut().optimizer;
        optimizer.repartition_aggregations = false;
        optimizer.enable_round_robin_repartition = false;
    }
}

/// Whether a plan reads few rows, all of them of this node's tables, and does not multiply them.
fn are_all(plan: &LogicalPlan) -> bool {
    let mut rows = Some(0_u64);
    let walk = plan.apply_with_subqueries(|step| {
        let read = match step {
            LogicalPlan::TableScan(scan) => rows_of(scan),
            LogicalPlan::Join(_) | LogicalPlan::Unnest(_) | LogicalPlan::RecursiveQuery(_) => None,
            _ => Some(0),
        };
        rows = rows.zip(read).map(|(rows, read)| rows.saturating_add(read));
        Ok(match rows {
            Some(_) => TreeNodeRecursion::Continue,
            None => TreeNodeRecursion::Stop,
        })
    });
    walk.is_ok() && rows.is_some_and(|rows| rows <= ROWS_MAX)
}

/// The rows of a table of this node; none when it is another's, and they are not known.
fn rows_of(scan: &TableScan) -> Option<u64> {
    let table = source_as_provider(&scan.source).ok()?;
    let table: &dyn Any = table.as_ref();
    table.downcast_ref::<Source>().map(Source::rows)
}
