//! Names that a query must not see while it is planned.
//!
//! `select n::str from t order by n` answers with a column `n`, and is ordered by the number. Were the
//! text called `n` from the beginning, ORDER BY would find the text. So its name is veiled until the
//! query is planned, and lifted then.

use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

use crate::sql::error::Error;

/// What stands before a veiled name: a character that no name has.
const VEIL: char = '\u{1}';

/// A name, veiled.
pub(crate) fn veiled(name: &str) -> String {
    format!("{VEIL}{name}")
}

/// The plan with the true names of its results.
pub(crate) fn lift(plan: LogicalPlan) -> Result<LogicalPlan, Error> {
    if !plan.schema().fields().iter().any(|field| field.name().starts_with(VEIL)) {
        return Ok(plan);
    }
    let column = |(qualifier, field)| {
        let column: datafusion::common::Column = (qualifier, field).into();
        match column.name.strip_prefix(VEIL).map(str::to_owned) {
            Some(name) => Expr::Column(column).alias(name),
            None => Expr::Column(column),
        }
    };
    let columns: Vec<_> = plan.schema().iter().map(column).collect();
    LogicalPlanBuilder::from(plan)
        .project(columns)
        .and_then(LogicalPlanBuilder::build)
        .map_err(Error::Plan)
}
