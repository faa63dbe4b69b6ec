//! `increase(counter, time)` and `rate(counter, time)`: how much a counter has counted, over its
//! resets.
//!
//! What a counter counts between two rows is the difference of its values; a value that is smaller
//! than the one before says that it began again from zero. So rows are needed in the order of their
//! times, wherever they are kept: the aggregate is written here as a window (the value before, in the
//! same group) and a sum. The sort of the window goes to disk when it has to, and on the network rows
//! come to the query node with the columns that are needed.

use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result, ScalarValue, exec_err, plan_err};
use datafusion::functions_aggregate::expr_fn::{max, min, sum};
use datafusion::functions_window::expr_fn::lag;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::expr_fn::{cast, when};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, Aggregate, AggregateUDF, AggregateUDFImpl, Expr, ExprFunctionExt, ExprSchemable,
    LogicalPlan, LogicalPlanBuilder, Signature, Volatility, lit,
};

use edgemere_storage::schema::told;

/// How many decimals whole numbers have at most.
const WHOLE: DataType = DataType::Decimal128(20, 0);

/// Both functions, as SQL knows them. They are never run.
pub(super) fn all() -> [AggregateUDF; 2] {
    [Kind::Increase, Kind::Rate].map(|kind| {
        let signature = Signature::user_defined(Volatility::Immutable);
        AggregateUDF::new_from_impl(Function { kind, signature })
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Increase,
    Rate,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    kind: Kind,
    signature: Signature,
}

impl AggregateUDFImpl for Function {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Increase => "increase",
            Kind::Rate => "rate",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, found: &[DataType]) -> Result<Vec<DataType>> {
        let name = self.name();
        let Some(counter) = found.first().filter(|_| found.len() <= 2) else {
            return plan_err!(
                "{name} takes a counter and the time of its value: {name}(counter, time)"
            );
        };
        if !counter.is_numeric() && *counter != DataType::Null {
            return plan_err!("{name} needs a number that counts, not {}", told(counter));
        }
        if let Some(time) = found.get(1) {
            self.check_time(time)?;
        }
        Ok(found.to_vec())
    }

    fn return_type(&self, found: &[DataType]) -> Result<DataType> {
        Ok(match (self.kind, found.first()) {
            (Kind::Rate, _) => DataType::Float64,
            (Kind::Increase, Some(DataType::UInt64)) => DataType::UInt64,
            (Kind::Increase, Some(counter)) if counter.is_integer() => DataType::Int64,
            (Kind::Increase, Some(DataType::Decimal128(_, scale))) => {
                DataType::Decimal128(38, *scale)
            }
            (Kind::Increase, _) => DataType::Float64,
        })
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        exec_err!("{} is an aggregate of groups, and does not stand with OVER", self.name())
    }

    fn state_fields(&self, _: StateFieldsArgs<'_>) -> Result<Vec<arrow::datatypes::FieldRef>> {
        exec_err!("{} is an aggregate of groups, and does not stand with OVER", self.name())
    }
}

impl Function {
    fn check_time(&self, time: &DataType) -> Result<()> {
        match time {
            DataType::Timestamp(..) | DataType::Date32 | DataType::Null => Ok(()),
            other => plan_err!("{} needs a time, not {}", self.name(), told(other)),
        }
    }
}

/// The plan with windows and sums in the place of counters.
pub(super) fn rewrite(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|step| match step {
        LogicalPlan::Aggregate(groups) if groups.aggr_expr.iter().any(|one| of(one).is_some()) => {
            Groups::new(groups)?.finish().map(Transformed::yes)
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

/// The counter that an aggregate is.
fn of(aggregate: &Expr) -> Option<(&AggregateFunction, &Function)> {
    let Expr::AggregateFunction(call) = aggregate else { return None };
    call.func.inner().downcast_ref::<Function>().map(|function| (call, function))
}

/// An aggregate with counters in it, as it is written anew.
struct Groups {
    old: Aggregate,
    windows: Vec<Expr>,
    aggregates: Vec<Expr>,
    results: Vec<Expr>,
}

impl Groups {
    fn new(old: Aggregate) -> Result<Self> {
        if old.group_expr.iter().any(|group| matches!(group, Expr::GroupingSet(_))) {
            return plan_err!(
                "increase and rate do not stand with CUBE, ROLLUP or GROUPING SETS: ask once for \
                 each set of groups"
            );
        }
        Ok(Self { old, windows: vec![], aggregates: vec![], results: vec![] })
    }

    fn finish(mut self) -> Result<LogicalPlan> {
        let groups = self.old.schema.fields().len() - self.old.aggr_expr.len();
        let columns: Vec<_> = self.old.schema.iter().map(Column::from).collect();
        self.results.extend(columns.iter().take(groups).cloned().map(Expr::Column));
        let old = self.old.aggr_expr.clone();
        for (aggregate, column) in old.iter().zip(columns.into_iter().skip(groups)) {
            let result = match of(aggregate) {
                Some((call, function)) => {
                    let counter = self.counter(call, function)?;
                    counter.alias_qualified(column.relation, column.name)
                }
                None => {
                    self.add_aggregate(aggregate.clone())?;
                    Expr::Column(column)
                }
            };
            self.results.push(result);
        }
        // A step for each order: one step has one.
        let input = Arc::unwrap_or_clone(self.old.input);
        let input = LogicalPlanBuilder::window_plan(input, self.windows)?;
        LogicalPlanBuilder::from(input)
            .aggregate(self.old.group_expr, self.aggregates)?
            .project(self.results)?
            .build()
    }

    /// What stands for a counter, above the groups.
    fn counter(&mut self, call: &AggregateFunction, function: &Function) -> Result<Expr> {
        let (value, time) = arguments(call, function)?;
        let schema = self.old.input.schema();
        let value_type = value.get_type(schema)?;
        let (work, result) = (work_type(&value_type), function.return_type(&[value_type])?);
        let time_type = time.get_type(schema)?;
        function.check_time(&time_type)?;
        let value = cast(value, work.clone());
        let mut counts = value.clone().is_not_null().and(time.clone().is_not_null());
        if work == DataType::Float64 {
            counts = counts.and(!datafusion::functions::math::expr_fn::isnan(value.clone()));
        }
        if let Some(filter) = &call.params.filter {
            counts = counts.and(filter.as_ref().clone());
        }
        let counts = counts.is_true();
        let before = self.before(&value, &time, &counts)?;
        let more = when(value.clone().lt(before.clone()), value.clone())
            .otherwise(value - before.clone())?;
        let more = when(counts.clone().and(before.is_not_null()), more).end()?;
        let increase = self.add_aggregate(sum(more))?;
        if function.kind == Kind::Increase {
            return Ok(cast(increase, result));
        }
        let ticks = when(counts, ticks(time, &time_type)).end()?;
        let first = self.add_aggregate(min(ticks.clone()))?;
        let last = self.add_aggregate(max(ticks))?;
        let seconds = cast(cast(last.clone(), WHOLE) - cast(first.clone(), WHOLE), result.clone())
            / lit(ticks_per_second(&time_type));
        when(last.gt(first), cast(increase, result) / seconds).end()
    }

    /// The value before, in the same group, of the rows that count.
    fn before(&mut self, value: &Expr, time: &Expr, counts: &Expr) -> Result<Expr> {
        let mut partition = self.old.group_expr.clone();
        partition.push(counts.clone());
        let before = lag(value.clone(), Some(1), None)
            .partition_by(partition)
            .order_by(vec![time.clone().sort(true, false), value.clone().sort(true, false)])
            .build()?;
        let column = Expr::Column(Column::from_name(before.schema_name().to_string()));
        if !self.windows.contains(&before) {
            self.windows.push(before);
        }
        Ok(column)
    }

    fn add_aggregate(&mut self, aggregate: Expr) -> Result<Expr> {
        let column = Expr::Column(Column::from_name(aggregate.schema_name().to_string()));
        if !self.aggregates.contains(&aggregate) {
            self.aggregates.push(aggregate);
        }
        Ok(column)
    }
}

/// The counter and the time: `increase(counter, time)` or `increase(counter ORDER BY time)`.
fn arguments(call: &AggregateFunction, function: &Function) -> Result<(Expr, Expr)> {
    let (name, params) = (function.name(), &call.params);
    if params.distinct || params.null_treatment.is_some() {
        return plan_err!("{name} takes neither DISTINCT nor a word about NULLs");
    }
    match (params.args.as_slice(), params.order_by.as_slice()) {
        ([value, time], []) => Ok((value.clone(), time.clone())),
        ([value], [order]) if order.asc => Ok((value.clone(), order.expr.clone())),
        _ => plan_err!("{name} takes a counter and the time of its value: {name}(counter, time)"),
    }
}

/// The type in which differences are exact.
fn work_type(counter: &DataType) -> DataType {
    match counter {
        counter if counter.is_integer() => WHOLE,
        DataType::Decimal128(..) => counter.clone(),
        _ => DataType::Float64,
    }
}

/// A time as a whole number.
fn ticks(time: Expr, time_type: &DataType) -> Expr {
    match time_type {
        DataType::Date32 => cast(cast(time, DataType::Int32), DataType::Int64),
        DataType::Null => lit(ScalarValue::Int64(None)),
        _ => cast(time, DataType::Int64),
    }
}

fn ticks_per_second(time_type: &DataType) -> f64 {
    match time_type {
        DataType::Timestamp(TimeUnit::Second, _) => 1.0,
        DataType::Timestamp(TimeUnit::Millisecond, _) => 1e3,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => 1e9,
        DataType::Date32 => 1.0 / 86_400.0,
        _ => 1e6,
    }
}
