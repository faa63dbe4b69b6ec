//! The names of results: `select count(*), avg(value)` answers with the columns `count(*)` and
//! `avg(value)`, as they were written.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    DataType, Distinct, Expr, GroupByExpr, Ident, ObjectName, Query, Select, SelectItem, SetExpr,
    VisitMut, VisitorMut,
};

use crate::sql::dialect::calls::call;
use crate::sql::dialect::casts::own;
use crate::sql::dialect::tokens::OwnCast;
use crate::sql::plan::alias_masking::veiled;

/// Names every result of a query that has no name.
pub(super) fn keep(query: &mut Query, casts: &[OwnCast]) {
    keep_in(&mut query.body, casts);
    if let SetExpr::Select(select) = query.body.as_mut()
        && query.order_by.is_some()
    {
        veil_casts(select);
    }
}

/// Veils the names of casts that are called as their column is, so that ORDER BY finds the column.
fn veil_casts(select: &mut Select) {
    // What is distinct can be ordered by what it looks like only, and so can groups of it.
    let GroupByExpr::Expressions(groups, _) = &select.group_by else { return };
    if select.distinct.is_some() {
        return;
    }
    for item in &mut select.projection {
        if let SelectItem::ExprWithAlias { expr: Expr::Cast { expr, .. }, alias } = item
            && let Expr::Identifier(column) = innermost(expr)
            && column.value == alias.value
            && (groups.is_empty() || groups.contains(innermost(expr)))
        {
            alias.value = veiled(&alias.value);
        }
    }
}

/// What is cast, and cast again.
fn innermost(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast { expr, .. } => innermost(expr),
        other => other,
    }
}

fn keep_in(body: &mut SetExpr, casts: &[OwnCast]) {
    match body {
        SetExpr::Select(select) => keep_in_select(select, casts),
        SetExpr::Query(query) => keep(query, casts),
        // The first part of a union names the results of all.
        SetExpr::SetOperation { left, .. } => keep_in(left, casts),
        _ => {}
    }
}

fn keep_in_select(select: &mut Select, casts: &[OwnCast]) {
    let is_distinct = matches!(select.distinct, Some(Distinct::Distinct));
    let mut taken: Vec<String> = select.projection.iter().filter_map(given).collect();
    for item in &mut select.projection {
        let SelectItem::UnnamedExpr(expr) = item else { continue };
        // It is a result only under a name that it is given.
        if call(expr, "increments").is_some() {
            continue;
        }
        let mut written = expr.clone();
        let ControlFlow::Continue(()) = written.visit(&mut AsWritten { casts });
        let Some(mut name) = name_of(&written, is_distinct) else { continue };
        // Of two casts of one thing, only one can be called as the thing is.
        if taken.contains(&name) {
            name = written.to_string();
        }
        taken.push(name.clone());
        let alias = Ident::with_quote('"', name);
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
    }
}

/// The name that a result has as it is written.
fn given(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(name.value.clone()),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(names)) => {
            names.last().map(|name| name.value.clone())
        }
        _ => None,
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
            Expr::CompoundIdentifier(names) => names.last()?.value.clone(),
            other => name_of(other, is_distinct)?,
        }),
        // As EdgeLake writes it.
        other => Some(other.to_string().replace("DISTINCT (", "distinct(")),
    }
}

/// Gives the casts that were set aside their own names back.
struct AsWritten<'a> {
    casts: &'a [OwnCast],
}

impl VisitorMut for AsWritten<'_> {
    type Break = std::convert::Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::Cast { data_type, .. } = expr
            && let Some(cast) = own(data_type, self.casts)
        {
            let arguments = cast.text.clone().into_iter().collect();
            let name = ObjectName::from(vec![Ident::new(cast.name)]);
            *data_type = DataType::Custom(name, arguments);
        }
        ControlFlow::Continue(())
    }
}
