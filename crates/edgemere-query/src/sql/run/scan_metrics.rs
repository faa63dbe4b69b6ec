//! How many rows a plan has read of its tables.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::{DataSource, DataSourceExec};
use datafusion::physical_plan::ExecutionPlan;

/// A plan that runs. When it is dropped, its count stays.
pub(crate) struct ScanMetrics {
    plan: Arc<dyn ExecutionPlan>,
    total: Arc<AtomicU64>,
}

/// The count of a plan, without a hold on it: what it has open is not kept for the sake of a number.
#[derive(Clone, Debug)]
pub(crate) struct Count {
    plan: Weak<dyn ExecutionPlan>,
    total: Arc<AtomicU64>,
}

impl ScanMetrics {
    pub(crate) fn new(plan: Arc<dyn ExecutionPlan>) -> Self {
        Self { plan, total: Arc::default() }
    }

    pub(crate) fn count(&self) -> Count {
        Count { plan: Arc::downgrade(&self.plan), total: Arc::clone(&self.total) }
    }
}

impl Drop for ScanMetrics {
    fn drop(&mut self) {
        self.total.store(rows_read(&self.plan), Ordering::Relaxed);
    }
}

impl Count {
    /// How many rows came out of the tables so far.
    pub(crate) fn rows(&self) -> u64 {
        let running = self.plan.upgrade().map(|plan| rows_read(&plan));
        running.unwrap_or_else(|| self.total.load(Ordering::Relaxed))
    }
}

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
