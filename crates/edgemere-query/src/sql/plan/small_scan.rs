//! Queries of few rows. One thread has put their groups together before several have shared them out and
//! woken each other for it.

use std::any::Any;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::source_as_provider;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{LogicalPlan, TableScan};

use crate::sql::plan::table_scan::LocalTable;
use crate::sql::plan::visible::Visible;

/// Has a plan of few rows run without sharing them out. The pieces of files still are, to all threads.
pub(crate) fn prepare(state: &mut SessionState, plan: &LogicalPlan, few: u64) {
    if rows(plan).is_some_and(|rows| rows <= few) {
        let optimizer = &mut state.config_mut().options_mut().optimizer;
        optimizer.repartition_aggregations = false;
        optimizer.enable_round_robin_repartition = false;
    }
}

/// How many rows a plan reads, at most. None when it is not known, as on the network, or when it makes
/// more of them.
fn rows(plan: &LogicalPlan) -> Option<u64> {
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
    walk.ok().and(rows)
}

/// The rows of a table of this node; none when it is another's, and they are not known.
fn rows_of(scan: &TableScan) -> Option<u64> {
    let table = source_as_provider(&scan.source).ok()?;
    let any: &dyn Any = table.as_ref();
    let whole = any.downcast_ref::<Visible>().map(Visible::table).unwrap_or(&table);
    let whole: &dyn Any = whole.as_ref();
    whole.downcast_ref::<LocalTable>().map(LocalTable::rows)
}
