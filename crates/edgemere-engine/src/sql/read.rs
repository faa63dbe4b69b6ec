//! How many rows a plan has read of its tables.

use std::any::Any;
use std::sync::Arc;

use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::{DataSource, DataSourceExec};
use datafusion::physical_plan::ExecutionPlan;

/// How many rows came out of the tables so far. Rows that a filter ruled out inside of a file count as
/// little as those of files that were not opened.
pub(crate) fn rows_read(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let own = plan.downcast_ref::<DataSourceExec>().map_or(0, of_source);
    own as u64 + plan.children().into_iter().map(rows_read).sum::<u64>()
}

/// Files count what they give. Rows in memory do not: all of them are given.
fn of_source(source: &DataSourceExec) -> usize {
    let data: &dyn DataSource = source.data_source().as_ref();
    match (data as &dyn Any).downcast_ref::<MemorySourceConfig>() {
        Some(memory) => memory.partitions().iter().flatten().map(|batch| batch.num_rows()).sum(),
        None => source.metrics().and_then(|metrics| metrics.output_rows()).unwrap_or(0),
    }
}
