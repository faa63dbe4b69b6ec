//! A task on its operator: the scans become the operator's own rows, and the whole is planned again
//! as the operator plans: with its threads, its files and their statistics.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column, lit};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::error::Error;
use super::scan::OperatorScan;
use crate::sql::{Catalog, FILTER_RULES, PROVING_RULE, mend_first_rows};
use edgemere_storage::schema::told;

/// The rule that adds steps which let others run in between.
const YIELDING_RULE: &str = "EnsureCooperative";

/// The plan of a task with this operator's rows, in one partition.
pub(super) async fn expand(
    plan: Arc<dyn ExecutionPlan>,
    tables: &Catalog,
    state: &SessionState,
) -> Result<Arc<dyn ExecutionPlan>> {
    let fetch = if plan.is::<AggregateExec>() { None } else { plan.fetch() };
    let ordered = plan.output_ordering().is_some();
    let of_one_table = !has_step(&plan, &|step| step.is::<UnionExec>());
    let plan = with_rows(plan, tables, state).await?;
    let plan = if ordered { merged(plan, fetch) } else { plan };
    let is_plain = of_one_table && !has_step(&plan, &|step| !is_plain(step));
    together(mend_first_rows(improved(plan, is_plain, state)?)?, fetch)
}

/// Whether a plan has a step of a kind.
fn has_step(
    plan: &Arc<dyn ExecutionPlan>,
    is_such: &dyn Fn(&Arc<dyn ExecutionPlan>) -> bool,
) -> bool {
    is_such(plan) || plan.children().into_iter().any(|child| has_step(child, is_such))
}

/// Whether a step has only columns as they are in one table: read, filtered, sorted, cut off. The same
/// as `sql::physical` asks of a whole query.
fn is_plain(step: &Arc<dyn ExecutionPlan>) -> bool {
    let is_column = |expression: &Arc<dyn PhysicalExpr>| expression.is::<Column>();
    if let Some(sort) = step.downcast_ref::<SortExec>() {
        return sort.expr().iter().all(|key| is_column(&key.expr));
    }
    if let Some(projection) = step.downcast_ref::<ProjectionExec>() {
        return projection.expr().iter().all(|projected| is_column(&projected.expr));
    }
    step.is::<DataSourceExec>()
        || step.is::<UnionExec>()
        || step.is::<FilterExec>()
        || step.is::<LocalLimitExec>()
        || step.is::<CoalescePartitionsExec>()
        || step.is::<SortPreservingMergeExec>()
}

/// The plan as this operator would plan it.
///
/// When DataFusion cannot prove that its rules were right (see `sql::physical`), the plan stays as the
/// query node made it, where every sort is said.
fn improved(
    plan: Arc<dyn ExecutionPlan>,
    is_plain: bool,
    state: &SessionState,
) -> Result<Arc<dyn ExecutionPlan>> {
    let rules = state.physical_optimizers().iter();
    // The sides of a join are as the query node chose them, and fixed by then.
    let rules = rules.filter(|rule| rule.name() != "join_selection");
    let rules = rules.filter(|rule| is_plain || !is_filter_rule(rule));
    let mut better = Arc::clone(&plan);
    for rule in rules {
        better = match rule.optimize(better, state.config_options()) {
            Ok(better) => better,
            Err(_) if rule.name() == PROVING_RULE => return cooperative(plan, state),
            Err(error) => return Err(error),
        };
    }
    Ok(better)
}

/// The plan with steps that let others run in between, and otherwise as it is.
fn cooperative(
    plan: Arc<dyn ExecutionPlan>,
    state: &SessionState,
) -> Result<Arc<dyn ExecutionPlan>> {
    let mut rules = state.physical_optimizers().iter().filter(|rule| rule.name() == YIELDING_RULE);
    rules.try_fold(plan, |plan, rule| rule.optimize(plan, state.config_options()))
}

/// Whether a rule brings filters down, which it does wrongly but in plain plans: see `sql::physical`.
/// What the query itself rules out comes with the scan.
fn is_filter_rule(rule: &Arc<dyn PhysicalOptimizerRule + Send + Sync>) -> bool {
    rule.name().starts_with(FILTER_RULES)
}

/// Puts rows in place of the scans.
async fn with_rows(
    plan: Arc<dyn ExecutionPlan>,
    tables: &Catalog,
    state: &SessionState,
) -> Result<Arc<dyn ExecutionPlan>> {
    let mut scans = Vec::new();
    plan.apply(|step| {
        scans.extend(step.downcast_ref::<OperatorScan>().cloned());
        Ok(TreeNodeRecursion::Continue)
    })?;
    let mut rows = VecDeque::new();
    for scan in scans {
        let table = tables.source(&scan.dbms, &scan.table);
        rows.push_back(match table {
            Some(table) => rows_of(&scan, table.as_ref(), state).await?,
            // The operator has no rows of it yet.
            None => Arc::new(EmptyExec::new(scan.schema())),
        });
    }
    let replaced = plan.transform_up(|step| match step.is::<OperatorScan>() {
        true => Ok(Transformed::yes(rows.pop_front().unwrap_or(step))),
        false => Ok(without_cooperation(step)),
    })?;
    Ok(replaced.data)
}

/// The query node's planning ends with steps that let others run in between, and so does this one's.
/// They must not be there when it begins: a projection over such a step over a projection, which is
/// what columns that this operator lacks make, is exchanged by DataFusion with itself without end.
fn without_cooperation(step: Arc<dyn ExecutionPlan>) -> Transformed<Arc<dyn ExecutionPlan>> {
    match step.downcast_ref::<CooperativeExec>() {
        Some(cooperative) => Transformed::yes(Arc::clone(cooperative.input())),
        None => Transformed::no(step),
    }
}

/// The rows of a table with the columns that are wanted.
async fn rows_of(
    scan: &OperatorScan,
    table: &dyn TableProvider,
    state: &SessionState,
) -> Result<Arc<dyn ExecutionPlan>> {
    let (wanted, held) = (scan.schema(), table.schema());
    let columns: Vec<usize> =
        wanted.fields().iter().filter_map(|field| held.index_of(field.name()).ok()).collect();
    let filters = scan.filters.for_table(&held);
    let rows = table.scan(state, Some(&columns), &filters, None).await?;
    let rows = adapted(rows, &wanted)?;
    Ok(match scan.fetch {
        Some(fetch) => Arc::new(LocalLimitExec::new(rows, fetch)),
        None => rows,
    })
}

/// Refuses to read columns whose values would be cut off, since the query node does not know yet that
/// they became wider. It plans again when its ledger tells so.
pub(super) fn check_types(wanted: &SchemaRef, held: &SchemaRef) -> Result<()> {
    for field in wanted.fields() {
        let Ok(own) = held.field_with_name(field.name()) else { continue };
        if cuts_off(own.data_type(), field.data_type()) {
            let (from, to) = (told(own.data_type()), told(field.data_type()));
            let reason = format!("the column \"{}\" is {from} there, and {to} here", field.name());
            return Err(io::Error::new(Error::AHEAD, reason).into());
        }
    }
    Ok(())
}

/// Rows with the columns that are wanted: null where there is no such column, cast where its type is
/// another.
fn adapted(rows: Arc<dyn ExecutionPlan>, wanted: &SchemaRef) -> Result<Arc<dyn ExecutionPlan>> {
    let held = rows.schema();
    check_types(wanted, &held)?;
    let is_same =
        |(a, b): (&FieldRef, &FieldRef)| a.name() == b.name() && a.data_type() == b.data_type();
    let mut pairs = wanted.fields().iter().zip(held.fields());
    if wanted.fields().len() == held.fields().len() && pairs.all(is_same) {
        return Ok(rows);
    }
    let column = |field: &FieldRef| -> Result<(Arc<dyn PhysicalExpr>, String)> {
        let name = field.name().clone();
        let Ok(at) = held.index_of(&name) else {
            return Ok((lit(ScalarValue::try_from(field.data_type())?), name));
        };
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(&name, at));
        let (from, to) = (held.field(at).data_type(), field.data_type());
        if from == to {
            return Ok((column, name));
        }
        Ok((Arc::new(CastExpr::new(column, to.clone(), None)), name))
    };
    let columns = wanted.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(ProjectionExec::try_new(columns, rows)?))
}

/// Whether a cast changes values without a word: fractions of numbers, and digits of times.
fn cuts_off(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Float64 | DataType::Decimal128(..), DataType::Int64) => {
            !matches!(from, DataType::Decimal128(_, 0))
        }
        (DataType::Float64, DataType::Decimal128(..)) => true,
        (DataType::Decimal128(_, from), DataType::Decimal128(_, to)) => from > to,
        (DataType::Timestamp(from, _), DataType::Timestamp(to, _)) => from > to,
        (DataType::Timestamp(..), DataType::Date32) => true,
        _ => false,
    }
}

/// Sorted partitions as one.
fn merged(plan: Arc<dyn ExecutionPlan>, fetch: Option<usize>) -> Arc<dyn ExecutionPlan> {
    match plan.output_ordering().cloned() {
        Some(order) if !plan.is::<SortPreservingMergeExec>() => {
            Arc::new(SortPreservingMergeExec::new(order, plan).with_fetch(fetch))
        }
        _ => plan,
    }
}

/// All partitions as one. Groups that several of them have become one group: fewer bytes to send.
fn together(plan: Arc<dyn ExecutionPlan>, fetch: Option<usize>) -> Result<Arc<dyn ExecutionPlan>> {
    if plan.output_partitioning().partition_count() <= 1 {
        return Ok(plan);
    }
    let one: Arc<dyn ExecutionPlan> =
        Arc::new(CoalescePartitionsExec::new(Arc::clone(&plan)).with_fetch(fetch));
    let Some(partial) = plan.downcast_ref::<AggregateExec>() else { return Ok(one) };
    let is_plain = partial.aggr_expr().iter().all(|function| function.order_bys().is_empty());
    if *partial.mode() != AggregateMode::Partial || partial.group_expr().is_empty() || !is_plain {
        return Ok(one);
    }
    Ok(Arc::new(AggregateExec::try_new(
        AggregateMode::PartialReduce,
        partial.group_expr().as_final(),
        partial.aggr_expr().to_vec(),
        vec![None; partial.aggr_expr().len()],
        one,
        partial.input_schema(),
    )?))
}
