//! `a NOT IN (SELECT …)` is unknown, and so not true, when `a` is null or the query has a null.
//!
//! DataFusion knows that where the condition stands alone. Beside an OR it takes unknown for false,
//! of which the NOT makes true: rows too many, without a word. And it does not plan a NOT IN whose
//! query is about the outer row. In both places it is written here as NOT EXISTS, which is never
//! unknown and says the same: no row is equal, and none is unknown. Nulls in a list of values are
//! treated alike.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DataFusionError, ExprSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Exists, InList, InSubquery};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    BinaryExpr, Expr, Filter, LogicalPlan, LogicalPlanBuilder, Operator, Subquery, and, lit, or,
};

use crate::sql::error::Error;

/// The plan with every NOT IN written so that it is answered rightly.
pub(crate) fn apply(plan: LogicalPlan) -> Result<LogicalPlan, Error> {
    let mended = plan.transform_up_with_subqueries(|plan| match mend_lists(plan)?.data {
        LogicalPlan::Filter(Filter { predicate, input, .. }) => {
            let predicate = condition(predicate, Place::Alone, input.schema())?;
            Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, input)?)))
        }
        other => Ok(Transformed::no(other)),
    });
    mended.map(|mended| mended.data).map_err(|error| match error.find_root() {
        DataFusionError::External(own) if own.is::<Unmended>() => Error::NotIn,
        _ => Error::Plan(error),
    })
}

/// The step with every list that a NOT IN is about without its nulls.
fn mend_lists(step: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&step);
    step.map_expressions(|expr| {
        let name = names.save(&expr);
        let mended = expr.transform_up(|expr| Ok(without_nulls(expr)))?;
        Ok(mended.update_data(|expr| name.restore(expr)))
    })
}

/// `a NOT IN (1, NULL)` is never true. Beside another NOT IN DataFusion joins the two lists to the
/// values that are in both, and of none makes true; so it is written as `a NOT IN (1) AND NULL`.
fn without_nulls(expr: Expr) -> Transformed<Expr> {
    let is_null = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if value.is_null());
    match expr {
        Expr::InList(InList { expr, list, negated: true }) if list.iter().any(is_null) => {
            let unknown = lit(ScalarValue::Boolean(None));
            let values: Vec<_> = list.into_iter().filter(|value| !is_null(value)).collect();
            Transformed::yes(match values.is_empty() {
                true => unknown,
                false => and(expr.in_list(values, true), unknown),
            })
        }
        other => Transformed::no(other),
    }
}

/// A query in a condition whose unknown would not be seen.
#[derive(Debug, thiserror::Error)]
#[error("IN (SELECT …) inside of another expression")]
struct Unmended;

/// Where a condition stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It is the condition, or one of several that must all hold.
    Alone,
    /// There is an OR around it.
    InOr,
}

/// A condition of which only whether it is true matters.
fn condition(expr: Expr, place: Place, row: &DFSchema) -> Result<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            Ok(and(condition(*left, place, row)?, condition(*right, place, row)?))
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            Ok(or(condition(*left, Place::InOr, row)?, condition(*right, Place::InOr, row)?))
        }
        Expr::Not(inner) => negated(*inner, place, row),
        Expr::InSubquery(member) if member.negated => not_in(member, place, row),
        Expr::InSubquery(_) => Ok(expr),
        other => without_members(other),
    }
}

/// The opposite of a condition, with the NOT as far inside as it goes.
fn negated(expr: Expr, place: Place, row: &DFSchema) -> Result<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            Ok(or(negated(*left, Place::InOr, row)?, negated(*right, Place::InOr, row)?))
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            Ok(and(negated(*left, place, row)?, negated(*right, place, row)?))
        }
        Expr::Not(inner) => condition(*inner, place, row),
        Expr::InSubquery(member) => {
            let opposite = InSubquery { negated: !member.negated, ..member };
            condition(Expr::InSubquery(opposite), place, row)
        }
        other => Ok(Expr::Not(Box::new(without_members(other)?))),
    }
}

/// Anything else. An IN with a query in it could be unknown there, and would be taken for false.
fn without_members(expr: Expr) -> Result<Expr> {
    let mut found = false;
    expr.apply(|inner| {
        found = matches!(inner, Expr::InSubquery(_));
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    match found {
        true => Err(DataFusionError::External(Box::new(Unmended))),
        false => Ok(expr),
    }
}

fn not_in(member: InSubquery, place: Place, row: &DFSchema) -> Result<Expr> {
    let is_about_outer = !member.subquery.outer_ref_columns.is_empty();
    if place == Place::Alone && !is_about_outer {
        return Ok(Expr::InSubquery(member));
    }
    let InSubquery { expr, subquery, .. } = member;
    let Subquery { subquery: plan, spans, .. } = subquery;
    let Some(first) = plan.schema().iter().next() else {
        return Err(DataFusionError::External(Box::new(Unmended)));
    };
    let value = Expr::Column(Column::from(first));
    let outer = as_outer(*expr, row)?;
    let equal_or_unknown =
        or(or(value.clone().eq(outer.clone()), value.is_null()), outer.is_null());
    let plan = LogicalPlanBuilder::new_from_arc(plan).filter(equal_or_unknown)?.build()?;
    let outer_ref_columns = plan.all_out_ref_exprs();
    let subquery = Subquery { subquery: Arc::new(plan), outer_ref_columns, spans };
    Ok(Expr::Exists(Exists { subquery, negated: true }))
}

/// An expression on the outer row, as the query inside names it.
fn as_outer(expr: Expr, row: &DFSchema) -> Result<Expr> {
    let named = expr.transform(|inner| match inner {
        Expr::Column(column) => {
            let field = Arc::clone(row.field_from_column(&column)?);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(named.data)
}
