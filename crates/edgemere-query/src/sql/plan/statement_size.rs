//! The size of a statement, told from its grammar before it is planned: a line of SQL can stand for
//! more groups or columns than planning has memory for.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, GroupByWithModifier, Query, Select, SelectItem, Visit, Visitor,
};

use crate::sql::error::Error;

/// How many sets of columns a query may be grouped by: CUBE of ten columns has so many.
const GROUPING_SETS_MAX: usize = 1024;

/// How many columns a result may have.
pub(crate) const COLUMNS_MAX: usize = 4096;

/// How many times the columns of a table may be asked for with `*`.
const STARS_MAX: usize = 256;

/// How many terms a statement may have: values, columns and what is made of them.
const TERMS_MAX: usize = 200_000;

/// How many rows a VALUES may have.
const VALUES_MAX: usize = 100_000;

/// Refuses what stands for too much.
pub(crate) fn check(statement: &impl Visit) -> Result<(), Error> {
    match statement.visit(&mut Count::default()) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break((what, limit)) => Err(Error::TooComplex { what, limit }),
    }
}

type Refused = (&'static str, usize);

#[derive(Default)]
struct Count {
    terms: usize,
    stars: usize,
}

impl Visitor for Count {
    type Break = Refused;

    fn pre_visit_expr(&mut self, _: &Expr) -> ControlFlow<Refused> {
        self.terms += 1;
        limit("terms", self.terms, TERMS_MAX)
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Refused> {
        let rows = match query.body.as_ref() {
            datafusion::sql::sqlparser::ast::SetExpr::Values(values) => values.rows.len(),
            _ => 0,
        };
        limit("rows in VALUES", rows, VALUES_MAX)
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Refused> {
        limit("columns in a result", select.projection.len(), COLUMNS_MAX)?;
        let stars = select.projection.iter().filter(|item| is_star(item)).count();
        let tables = select.from.iter().map(|table| 1 + table.joins.len()).sum::<usize>();
        self.stars = self.stars.saturating_add(stars.saturating_mul(tables));
        limit("tables whose columns are asked for with \"*\"", self.stars, STARS_MAX)?;
        limit("sets of columns to group by", sets(&select.group_by), GROUPING_SETS_MAX)
    }
}

fn is_star(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}

/// How many sets of columns a query is grouped by: the product of what stands in GROUP BY.
fn sets(group_by: &GroupByExpr) -> usize {
    let (expressions, modifiers): (&[Expr], _) = match group_by {
        GroupByExpr::All(modifiers) => (&[], modifiers),
        GroupByExpr::Expressions(expressions, modifiers) => (expressions, modifiers),
    };
    let written = expressions.iter().map(sets_of).fold(1, usize::saturating_mul);
    let modified = modifiers.iter().map(|modifier| match modifier {
        GroupByWithModifier::Cube => powers(expressions.len()),
        GroupByWithModifier::Rollup => expressions.len() + 1,
        GroupByWithModifier::Totals => 1,
        GroupByWithModifier::GroupingSets(sets) => sets_of(sets),
    });
    modified.fold(written, usize::saturating_mul)
}

fn sets_of(expression: &Expr) -> usize {
    match expression {
        Expr::Cube(parts) => powers(parts.len()),
        Expr::Rollup(parts) => parts.len() + 1,
        Expr::GroupingSets(sets) => {
            let inner =
                sets.iter().map(|set| set.iter().map(sets_of).fold(1, usize::saturating_mul));
            inner.fold(0, usize::saturating_add)
        }
        Expr::Nested(inner) => sets_of(inner),
        _ => 1,
    }
}

fn powers(count: usize) -> usize {
    u32::try_from(count).ok().and_then(|count| 1_usize.checked_shl(count)).unwrap_or(usize::MAX)
}

fn limit(what: &'static str, count: usize, limit: usize) -> ControlFlow<Refused> {
    match count > limit {
        true => ControlFlow::Break((what, limit)),
        false => ControlFlow::Continue(()),
    }
}
