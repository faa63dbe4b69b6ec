//! The names of results: `select count(*), avg(value)` answers with the columns `count(*)` and
//! `avg(value)`, as they were written.

use datafusion::sql::sqlparser::ast::{Distinct, Expr, Ident, Query, Select, SelectItem, SetExpr};

/// Names every result of a query that has no name.
pub(super) fn keep(query: &mut Query) {
    keep_in(&mut query.body);
}

fn keep_in(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => keep_in_select(select),
        SetExpr::Query(query) => keep(query),
        // The first part of a union names the results of all.
        SetExpr::SetOperation { left, .. } => keep_in(left),
        _ => {}
    }
}

fn keep_in_select(select: &mut Select) {
    let is_distinct = matches!(select.distinct, Some(Distinct::Distinct));
    for item in &mut select.projection {
        let SelectItem::UnnamedExpr(expr) = item else { continue };
        let Some(name) = name_of(expr, is_distinct) else { continue };
        let alias = Ident::with_quote('"', name);
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
    }
}

/// The name of an expression that is not itself a name.
fn name_of(expr: &Expr, is_distinct: bool) -> Option<String> {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => None,
        Expr::Nested(inner) if is_distinct => Some(format!("distinct({inner})")),
        // A cast changes how a value looks, not what it is called.
        Expr::Cast { expr, .. } => Some(match expr.as_ref() {
            Expr::Identifier(name) => name.value.clone(),
            other => name_of(other, false)?,
        }),
        other => Some(other.to_string()),
    }
}
