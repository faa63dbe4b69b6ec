//! `increments(hour, 6, timestamp)`: groups rows by spans of time, and orders them so.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, OrderBy,
    OrderByExpr, OrderByKind, OrderByOptions, Query, Select, SelectItem, SetExpr,
};

use super::period::parse_expr;
use crate::sql::error::Error;

/// The beginning of the first span. It is a Monday, so that weeks begin on one.
const ORIGIN: &str = "timestamp '1970-01-05 00:00:00'";

/// Replaces `increments(…)` in a query by a grouping.
pub(super) fn expand(query: &mut Query) -> Result<(), Error> {
    let SetExpr::Select(select) = query.body.as_mut() else { return Ok(()) };
    let Some((index, arguments)) = find(select) else { return Ok(()) };
    let bucket = bucket(&arguments)?;
    select.projection.remove(index);
    if select.projection.is_empty() {
        return Err(Error::Function {
            name: "increments",
            reason: "it needs aggregates beside it, as in increments(hour, 1, t), avg(value)"
                .into(),
        });
    }
    match &mut select.group_by {
        GroupByExpr::Expressions(expressions, _) => expressions.push(bucket.clone()),
        all @ GroupByExpr::All(_) => {
            *all = GroupByExpr::Expressions(vec![bucket.clone()], Vec::new());
        }
    }
    if query.order_by.is_none() {
        let options = OrderByOptions::default();
        let first = OrderByExpr { expr: bucket, options, with_fill: None };
        query.order_by =
            Some(OrderBy { kind: OrderByKind::Expressions(vec![first]), interpolate: None });
    }
    Ok(())
}

fn find(select: &Select) -> Option<(usize, Vec<Expr>)> {
    select.projection.iter().enumerate().find_map(|(index, item)| {
        let expr = match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => expr,
            _ => return None,
        };
        Some((index, call(expr, "increments")?))
    })
}

/// The arguments of a call of that name.
pub(super) fn call(expr: &Expr, name: &str) -> Option<Vec<Expr>> {
    let Expr::Function(Function { name: called, args, .. }) = expr else { return None };
    let FunctionArguments::List(list) = args else { return None };
    if !called.to_string().eq_ignore_ascii_case(name) {
        return None;
    }
    let argument = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    list.args.iter().map(argument).collect()
}

/// The beginning of the span that a row is in.
fn bucket(arguments: &[Expr]) -> Result<Expr, Error> {
    match arguments {
        [unit, count, column] => {
            let span = span("increments", unit, count)?;
            parse_expr(&format!("date_bin(interval '{span}', {column}, {ORIGIN})"))
        }
        _ => Err(Error::Function {
            name: "increments",
            reason: "write it as increments(UNIT, COUNT, COLUMN), as in increments(hour, 6, t)"
                .into(),
        }),
    }
}

/// `6 hour`, of a unit and a count.
pub(super) fn span(name: &'static str, unit: &Expr, count: &Expr) -> Result<String, Error> {
    const UNITS: [&str; 7] = ["second", "minute", "hour", "day", "week", "month", "year"];
    let unit_text = unit.to_string().trim_matches('\'').to_lowercase();
    let unit_text = unit_text.strip_suffix('s').unwrap_or(&unit_text);
    let count_text = count.to_string();
    let count = count_text.parse::<u32>().ok().filter(|count| *count > 0);
    match (UNITS.contains(&unit_text), count) {
        (true, Some(count)) => Ok(format!("{count} {unit_text}")),
        (false, _) => Err(Error::Function {
            name,
            reason: format!("\"{unit}\" is none of second, minute, hour, day, week, month, year"),
        }),
        (true, None) => Err(Error::Function {
            name,
            reason: format!("\"{count_text}\" is not a whole number above 0"),
        }),
    }
}
