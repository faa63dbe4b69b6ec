//! `time_bucket_gapfill(width, time [, zone] [, start, finish])` in GROUP BY: buckets without rows are
//! there too, with NULL for their aggregates, or with what `locf` and `interpolate` make of the buckets
//! around them.
//!
//! 1. `rewrite` finds the groups. They become groups by `time_bucket`, with a [`node`] above them; the
//!    range comes from the call, or from the conditions on the same time in WHERE.
//! 2. [`node`] is what the optimizer sees, and becomes a [`step`], which always runs where the groups
//!    are put together: on the query node.
//! 3. [`fill`] fills one group.

mod fill;
mod node;
mod range;
mod step;

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result, exec_err, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    Aggregate, ColumnarValue, Expr, ExprSchemable, Extension, LogicalPlan, LogicalPlanBuilder,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

pub(in crate::sql) use self::node::Planner;
use self::node::{Fill, GapFill};
use crate::sql::functions::time_bucket;

/// The functions, as SQL knows them. They are never run.
pub(super) fn all() -> impl Iterator<Item = ScalarUDF> {
    let function = |kind| {
        let signature = Signature::user_defined(Volatility::Immutable);
        ScalarUDF::new_from_impl(Function { kind, signature })
    };
    [Kind::Bucket, Kind::Carried, Kind::Interpolated].into_iter().map(function)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Bucket,
    Carried,
    Interpolated,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    kind: Kind,
    signature: Signature,
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Bucket => "time_bucket_gapfill",
            Kind::Carried => "locf",
            Kind::Interpolated => "interpolate",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, found: &[DataType]) -> Result<Vec<DataType>> {
        let name = self.name();
        match (self.kind, found) {
            (Kind::Bucket, [width, time, ..]) if found.len() <= 5 => {
                time_bucket::width_type(name, width)?;
                time_bucket::time_type(name, time)?;
                Ok(found.to_vec())
            }
            (Kind::Bucket, _) => plan_err!(
                "{name} takes a width as '1 hour', a time, and if need be a zone, and a start and a \
                 finish"
            ),
            (Kind::Interpolated, [value]) if !value.is_numeric() && *value != DataType::Null => {
                plan_err!("{name} needs a number: take locf for other values")
            }
            (Kind::Carried | Kind::Interpolated, [_]) => Ok(found.to_vec()),
            _ => plan_err!("{name} takes one aggregate: {name}(avg(value))"),
        }
    }

    fn return_type(&self, found: &[DataType]) -> Result<DataType> {
        match (self.kind, found) {
            (Kind::Bucket, [_, time, ..]) => time_bucket::time_type(self.name(), time),
            (Kind::Interpolated, _) => Ok(DataType::Float64),
            (_, [value, ..]) => Ok(value.clone()),
            _ => plan_err!("{} takes a value", self.name()),
        }
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match self.kind {
            Kind::Bucket => exec_err!("{} stands by itself in GROUP BY", self.name()),
            _ => misplaced(self.name()),
        }
    }
}

fn misplaced<T>(name: &str) -> Result<T> {
    plan_err!("{name} stands after SELECT in a query that is grouped by time_bucket_gapfill")
}

/// A call of one of the functions.
fn call(expr: &Expr) -> Option<(Kind, &ScalarFunction)> {
    let Expr::ScalarFunction(call) = expr else { return None };
    call.func.inner().downcast_ref::<Function>().map(|function| (function.kind, call))
}

/// The plan with a step that fills gaps in the place of the functions.
pub(super) fn rewrite(plan: LogicalPlan) -> Result<LogicalPlan> {
    if !has_calls(&plan)? {
        return Ok(plan);
    }
    let plan = plan.transform_up_with_subqueries(|step| {
        let step = match step {
            LogicalPlan::Aggregate(groups) => filled(groups)?,
            other => with_fills(other)?,
        };
        // A count is never NULL, and that of a gap is.
        step.recompute_schema().map(Transformed::yes)
    })?;
    Ok(plan.data)
}

fn has_calls(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|step| {
        step.apply_expressions(|expr| {
            found |= expr.exists(|part| Ok(call(part).is_some()))?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(found)
}

/// Groups whose gaps are filled; the same when none of them is a bucket of such.
fn filled(groups: Aggregate) -> Result<LogicalPlan> {
    let is_bucket = |group: &Expr| matches!(call(group), Some((Kind::Bucket, _)));
    let Some(place) = groups.group_expr.iter().position(is_bucket) else {
        let sets = groups.group_expr.iter().any(|group| matches!(group, Expr::GroupingSet(_)));
        if sets
            && groups
                .group_expr
                .iter()
                .any(|group| group.exists(|e| Ok(is_bucket(e))).is_ok_and(|found| found))
        {
            return plan_err!(
                "time_bucket_gapfill does not stand in CUBE, ROLLUP or GROUPING SETS"
            );
        }
        return Ok(LogicalPlan::Aggregate(groups));
    };
    if groups.group_expr.iter().filter(|group| is_bucket(group)).count() > 1 {
        return plan_err!("time_bucket_gapfill stands once in GROUP BY");
    }
    let Some(Expr::ScalarFunction(bucket)) = groups.group_expr.get(place) else {
        return misplaced("time_bucket_gapfill");
    };
    let range = range::of(bucket, &groups.input)?;
    let mut grouped = vec![range.width.clone(), range.time.clone()];
    grouped.extend(range.zone.clone());
    let grouped = Expr::ScalarFunction(ScalarFunction {
        func: Arc::new(time_bucket::function()),
        args: grouped,
    });
    let old: Vec<_> = groups.schema.iter().map(Column::from).collect();
    let group_count = groups.group_expr.len();
    let mut group_expr = groups.group_expr.clone();
    if let Some(group) = group_expr.get_mut(place) {
        *group = grouped;
    }
    let inner = LogicalPlanBuilder::new_from_arc(Arc::clone(&groups.input))
        .aggregate(group_expr, groups.aggr_expr)?
        .build()?;
    // The names stay as they were.
    let columns = inner.schema().iter().map(Column::from).zip(old);
    let columns: Vec<_> = columns
        .map(|(new, old)| match new == old {
            true => Expr::Column(new),
            false => Expr::Column(new).alias_qualified(old.relation, old.name),
        })
        .collect();
    let fills = (0..columns.len()).map(|at| match at {
        at if at == place => Fill::Time,
        at if at < group_count => Fill::Group,
        _ => Fill::Null,
    });
    let fills = fills.collect();
    let inner = LogicalPlanBuilder::from(inner).project(columns)?.build()?;
    let node = GapFill::new(inner, fills, range)?;
    Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
}

/// A step above the groups, which takes what `locf` and `interpolate` give from the groups.
fn with_fills(step: LogicalPlan) -> Result<LogicalPlan> {
    let mut calls: Vec<Expr> = Vec::new();
    step.apply_expressions(|expr| {
        expr.apply(|part| {
            if matches!(call(part), Some((Kind::Carried | Kind::Interpolated, _)))
                && !calls.contains(part)
            {
                calls.push(part.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    if calls.is_empty() {
        return Ok(step);
    }
    let inputs = step.inputs().into_iter();
    let inputs = inputs.map(|input| with_columns(input, &calls)).collect::<Result<Vec<_>>>()?;
    let replaced = |expr: Expr| {
        expr.transform_down(|part| match calls.contains(&part) {
            true => Ok(Transformed::yes(Expr::Column(name_of(&part)))),
            false => Ok(Transformed::no(part)),
        })
        .map(|replaced| replaced.data)
    };
    let expressions = step.expressions().into_iter().map(replaced).collect::<Result<Vec<_>>>()?;
    step.with_new_exprs(expressions, inputs)
}

fn name_of(call: &Expr) -> Column {
    Column::from_name(call.schema_name().to_string())
}

/// The plan with a column for each call, made where gaps are filled.
fn with_columns(plan: &LogicalPlan, calls: &[Expr]) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Filter(_) | LogicalPlan::Window(_) | LogicalPlan::Sort(_) => {
            let inputs = plan.inputs().into_iter();
            let inputs = inputs.map(|one| with_columns(one, calls)).collect::<Result<Vec<_>>>()?;
            plan.with_new_exprs(plan.expressions(), inputs)
        }
        LogicalPlan::Extension(extension) => {
            let Some(node) = extension.node.as_any().downcast_ref::<GapFill>() else {
                return misplaced("locf");
            };
            let mut node = node.clone();
            for expr in calls {
                add(&mut node, expr)?;
            }
            Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
        }
        _ => misplaced(calls.first().and_then(call).map_or("locf", |(_, call)| call.func.name())),
    }
}

/// Adds a column to what is filled.
fn add(node: &mut GapFill, expr: &Expr) -> Result<()> {
    let Some((kind, call)) = call(expr) else { return Ok(()) };
    let name = name_of(expr);
    if node.input().schema().maybe_index_of_column(&name).is_some() {
        return Ok(());
    }
    let Some(value) = call.args.first().cloned() else { return misplaced(call.func.name()) };
    let (value, fill) = match kind {
        Kind::Interpolated => {
            (value.cast_to(&DataType::Float64, node.input().schema())?, Fill::Interpolated)
        }
        Kind::Bucket | Kind::Carried => (value, Fill::Carried),
    };
    node.add(value.alias(name.name), fill)
}
