//! `period(hour, 1, '2026-01-02', timestamp, and device = 'x')`: the last span of time with rows in
//! it, up to an end.

use datafusion::sql::sqlparser::ast::{Expr, Query, Select, SetExpr, VisitMut, VisitorMut};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;

use super::increments::{call, span};
use crate::sql::error::Error;

/// Replaces `period(…)` in a query's conditions by comparisons.
pub(super) fn expand(query: &mut Query) -> Result<(), Error> {
    let SetExpr::Select(select) = query.body.as_mut() else { return Ok(()) };
    let from = from_text(select);
    let Some(condition) = &mut select.selection else { return Ok(()) };
    let mut replace = Replace { from, failed: None };
    let _ = condition.visit(&mut replace);
    match replace.failed {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

fn from_text(select: &Select) -> String {
    let tables: Vec<_> = select.from.iter().map(ToString::to_string).collect();
    tables.join(", ")
}

struct Replace {
    from: String,
    failed: Option<Error>,
}

impl VisitorMut for Replace {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Some(arguments) = call(expr, "period") else { return ControlFlow::Continue(()) };
        match comparisons(&arguments, &self.from) {
            Ok(replaced) => {
                *expr = replaced;
                ControlFlow::Continue(())
            }
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

fn comparisons(arguments: &[Expr], from: &str) -> Result<Expr, Error> {
    let (unit, count, end, column, condition) = match arguments {
        [unit, count, end, column] => (unit, count, end, column, String::new()),
        [unit, count, end, column, condition] => {
            (unit, count, end, column, format!(" and ({condition})"))
        }
        _ => {
            let reason = "write it as period(UNIT, COUNT, END, COLUMN[, and CONDITION])".into();
            return Err(Error::Function { name: "period", reason });
        }
    };
    let span = span("period", unit, count)?;
    let last = format!("(select max({column}) from {from} where {column} <= {end}{condition})");
    parse_expr(&format!(
        "({column} <= {last} and {column} > {last} - interval '{span}'{condition})"
    ))
}

/// Parses an expression that was put together from expressions.
pub(super) fn parse_expr(text: &str) -> Result<Expr, Error> {
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text);
    parser
        .and_then(|mut parser| parser.parse_expr())
        .map_err(|error| super::syntax(text, &super::parser_message(&error)))
}
