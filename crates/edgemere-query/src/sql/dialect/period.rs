//! `period(hour, 1, '2026-01-02', timestamp, and device = 'x')`: the last span of time with rows in
//! it, up to an end.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, Query, Select, SelectItem, SetExpr, VisitMut, VisitorMut,
};

use crate::sql::dialect::build;
use crate::sql::dialect::calls::{Call, call};
use crate::sql::dialect::units::span;
use crate::sql::error::Error;

/// Replaces `period(…)` in the conditions of a query, and of all queries in it, by comparisons.
pub(super) fn expand(query: &mut Query) -> Result<(), Error> {
    match query.visit(&mut Selects) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Selects;

impl VisitorMut for Selects {
    type Break = Box<Error>;

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Box<Error>> {
        let Some(mut condition) = select.selection.take() else {
            return ControlFlow::Continue(());
        };
        let flow = condition.visit(&mut Conditions { select });
        select.selection = Some(condition);
        flow
    }
}

struct Conditions<'a> {
    select: &'a Select,
}

impl VisitorMut for Conditions<'_> {
    type Break = Box<Error>;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Box<Error>> {
        let Some(found) = call(expr, "period") else { return ControlFlow::Continue(()) };
        match comparisons(found, self.select) {
            Ok(replaced) => {
                *expr = replaced;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }
}

fn comparisons(call: Call, select: &Select) -> Result<Expr, Error> {
    let position = call.position;
    let (unit, count, end, column, condition) = match call.arguments.as_slice() {
        [unit, count, end, column] => (unit, count, end, column, None),
        [unit, count, end, column, condition] => (unit, count, end, column, Some(condition)),
        _ => {
            let reason = "write it as period(UNIT, COUNT, END, COLUMN[, and CONDITION])".into();
            return Err(Error::Function { name: "period", reason, position });
        }
    };
    let span = span("period", &unit.to_string(), &count.to_string(), position)?;
    let and = |left, right| build::both(left, BinaryOperator::And, right);
    let limited = |expr| match condition {
        Some(condition) => and(expr, Expr::Nested(Box::new(condition.clone()))),
        None => expr,
    };
    let until = build::both(column.clone(), BinaryOperator::LtEq, end.clone());
    let last = latest(column, limited(until), select);
    let begin = build::both(last.clone(), BinaryOperator::Minus, build::interval(span));
    let after = build::both(column.clone(), BinaryOperator::Gt, begin);
    let before = build::both(column.clone(), BinaryOperator::LtEq, last);
    Ok(limited(and(after, before)))
}

/// `(SELECT max(column) FROM … WHERE condition)`, of the same tables.
fn latest(column: &Expr, condition: Expr, select: &Select) -> Expr {
    let max = build::call("max", vec![column.clone()]);
    let select = Select {
        projection: vec![SelectItem::UnnamedExpr(max)],
        selection: Some(condition),
        ..bare(select)
    };
    Expr::Subquery(Box::new(build::query(SetExpr::Select(Box::new(select)))))
}

/// A select of the same tables with nothing else of what it had.
pub(super) fn bare(select: &Select) -> Select {
    Select {
        distinct: None,
        projection: Vec::new(),
        selection: None,
        group_by: GroupByExpr::Expressions(Vec::new(), Vec::new()),
        having: None,
        named_window: Vec::new(),
        qualify: None,
        ..select.clone()
    }
}
