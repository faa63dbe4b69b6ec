//! What may run on an operator. The query node's planner and the operator's gate go by the same list:
//! what the one sends, the other accepts, and nothing else.

use std::sync::Arc;

use datafusion::common::JoinType;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_expr::Partitioning;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, PartitionMode};
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::scalar_subquery::ScalarSubqueryExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::unnest::UnnestExec;

use super::scan::OperatorScan;

/// Whether a step gives the same rows when each operator does it on its own rows, and all the results
/// are put together.
pub(super) fn is_pushable(step: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some(aggregate) = step.downcast_ref::<AggregateExec>() {
        return *aggregate.mode() == AggregateMode::Partial;
    }
    if let Some(sort) = step.downcast_ref::<SortExec>() {
        return sort.preserve_partitioning();
    }
    step.is::<FilterExec>()
        || step.is::<ProjectionExec>()
        || step.is::<LocalLimitExec>()
        || step.is::<UnnestExec>()
        || step.is::<CooperativeExec>()
}

/// Whether a step only spreads rows over threads. An operator spreads its own.
pub(super) fn is_repartition(step: &Arc<dyn ExecutionPlan>) -> bool {
    let spreading = step.downcast_ref::<RepartitionExec>();
    spreading.is_some_and(|step| matches!(step.partitioning(), Partitioning::RoundRobinBatch(_)))
}

/// Whether a join may be done by each operator with its own rows on the right side, when all of the
/// left side is there: no row of the left may count as unmatched because its match is elsewhere.
pub(super) fn is_join_by_parts(step: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some(join) = step.downcast_ref::<HashJoinExec>() {
        return *join.partition_mode() == PartitionMode::CollectLeft && is_kept(*join.join_type());
    }
    step.is::<CrossJoinExec>()
}

fn is_kept(join: JoinType) -> bool {
    matches!(join, JoinType::Inner | JoinType::Right | JoinType::RightSemi | JoinType::RightAnti)
}

/// Whether the rows are in the plan itself.
pub(super) fn is_inline(step: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some(source) = step.downcast_ref::<DataSourceExec>() {
        return source.data_source().downcast_ref::<MemorySourceConfig>().is_some();
    }
    step.is::<EmptyExec>() || step.is::<PlaceholderRowExec>()
}

/// Whether an operator runs a step at all, whoever sent it: it computes, and reads nothing but the
/// operator's own tables.
pub(super) fn is_allowed(step: &Arc<dyn ExecutionPlan>) -> bool {
    is_pushable(step)
        || is_join_by_parts(step)
        || is_inline(step)
        || step.is::<OperatorScan>()
        || step.is::<UnionExec>()
        || step.is::<CoalescePartitionsExec>()
        || step.is::<SortPreservingMergeExec>()
        || step.is::<ScalarSubqueryExec>()
}
