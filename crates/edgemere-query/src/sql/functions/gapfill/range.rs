//! The range of time that is filled: from the call itself, or from the conditions on its time.

use arrow::datatypes::{DataType, IntervalMonthDayNano};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::{Between, ScalarFunction};
use datafusion::logical_expr::expr_fn::{cast, when};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, lit};

use crate::sql::functions::time_bucket::time_type;

/// The smallest time that there is between two times.
const MICROSECOND: IntervalMonthDayNano = IntervalMonthDayNano::new(0, 0, 1000);

/// What is filled, as expressions that do not depend on rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Range {
    pub(super) width: Expr,
    pub(super) time: Expr,
    pub(super) zone: Option<Expr>,
    pub(super) start: Expr,
    /// The first time that is not filled any more.
    pub(super) finish: Expr,
}

/// The range of a call, in a query of these rows.
pub(super) fn of(call: &ScalarFunction, rows: &LogicalPlan) -> Result<Range> {
    let (width, time, others) = match call.args.as_slice() {
        [width, time, others @ ..] => (width, time, others),
        _ => return plan_err!("time_bucket_gapfill takes a width and a time"),
    };
    let data_type = time_type("time_bucket_gapfill", &time.get_type(rows.schema())?)?;
    let (zone, given) = match others {
        [] => (None, None),
        [zone] => (Some(zone.clone()), None),
        [start, finish] => (None, Some((start, finish))),
        [zone, start, finish] => (Some(zone.clone()), Some((start, finish))),
        _ => return plan_err!("time_bucket_gapfill takes a zone, a start and a finish"),
    };
    // A time that has a zone goes by its clocks, in the buckets as in the range.
    let zone = zone.or_else(|| match &data_type {
        DataType::Timestamp(_, Some(zone)) => Some(lit(zone.to_string())),
        _ => None,
    });
    let (start, finish) = match given {
        Some((start, finish)) => {
            if !is_constant(start) || !is_constant(finish) {
                return plan_err!(
                    "time_bucket_gapfill needs a start and a finish that are the same for all rows"
                );
            }
            (Some(start.clone()), Some(finish.clone()))
        }
        None => conditions(time, rows),
    };
    let (Some(start), Some(finish)) = (start, finish) else {
        return plan_err!(
            "time_bucket_gapfill does not know where to begin and to end: give it a start and a \
             finish, or say in WHERE from when (>=) until when (<) {time} is"
        );
    };
    let (start, finish) = (cast(start, data_type.clone()), cast(finish, data_type));
    Ok(Range { width: width.clone(), time: time.clone(), zone, start, finish })
}

/// The latest of the beginnings and the earliest of the ends that WHERE has for a time.
fn conditions(time: &Expr, rows: &LogicalPlan) -> (Option<Expr>, Option<Expr>) {
    let (mut start, mut finish) = (None, None);
    let mut step = rows;
    while let LogicalPlan::Filter(filter) = step {
        for condition in split_conjunction(&filter.predicate) {
            for (operator, bound) in bounds(condition, time) {
                match operator {
                    Operator::GtEq => start = Some(latest(start, bound)),
                    Operator::Gt => start = Some(latest(start, after(bound))),
                    Operator::Lt => finish = Some(earliest(finish, bound)),
                    Operator::LtEq => finish = Some(earliest(finish, after(bound))),
                    _ => {}
                }
            }
        }
        step = filter.input.as_ref();
    }
    (start, finish)
}

/// What a condition compares a time with.
fn bounds(condition: &Expr, time: &Expr) -> Vec<(Operator, Expr)> {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            if plain(left) == time && is_constant(right) {
                return vec![(*op, right.as_ref().clone())];
            }
            match op.swap() {
                Some(op) if plain(right) == time && is_constant(left) => {
                    vec![(op, left.as_ref().clone())]
                }
                _ => vec![],
            }
        }
        Expr::Between(Between { expr, negated: false, low, high })
            if plain(expr) == time && is_constant(low) && is_constant(high) =>
        {
            vec![(Operator::GtEq, low.as_ref().clone()), (Operator::LtEq, high.as_ref().clone())]
        }
        _ => vec![],
    }
}

/// An expression without the casts around it.
fn plain(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(cast) => plain(&cast.expr),
        other => other,
    }
}

fn is_constant(expr: &Expr) -> bool {
    let depends = expr.exists(|part| {
        Ok(matches!(
            part,
            Expr::Column(_)
                | Expr::OuterReferenceColumn(..)
                | Expr::ScalarSubquery(_)
                | Expr::InSubquery(_)
                | Expr::Exists(_)
                | Expr::AggregateFunction(_)
                | Expr::WindowFunction(_)
                | Expr::Placeholder(_)
        ))
    });
    depends.is_ok_and(|depends| !depends)
}

fn as_time(bound: Expr) -> Expr {
    cast(bound, DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, None))
}

/// The next time.
fn after(bound: Expr) -> Expr {
    as_time(bound) + lit(ScalarValue::IntervalMonthDayNano(Some(MICROSECOND)))
}

fn latest(known: Option<Expr>, bound: Expr) -> Expr {
    chosen(known, bound, Expr::gt)
}

fn earliest(known: Option<Expr>, bound: Expr) -> Expr {
    chosen(known, bound, Expr::lt)
}

fn chosen(known: Option<Expr>, bound: Expr, is_better: fn(Expr, Expr) -> Expr) -> Expr {
    let bound = as_time(bound);
    let Some(known) = known else { return bound };
    let better = is_better(bound.clone(), known.clone());
    when(better, bound).otherwise(known.clone()).unwrap_or(known)
}
