//! Columns by the names that they had where they came from. `"Air Temp (°C)"` of a file is the column
//! `air_temp_c`, and a query may name it in either way.
//!
//! A statement is planned as it is written first. Only a column in quotes that is not there is taken for
//! another in its place: for the one that was called so, or else for the one with its plain name. A result
//! keeps the name that it was asked by.

use std::ops::ControlFlow;

use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, OrderBy, Query, Select, SelectItem, Statement, Visit, VisitMut, Visitor,
    VisitorMut,
};

use crate::sql::error::Error;
use crate::sql::plan::catalog::Catalog;
use crate::sql::plan::validate::{nearest, plan_error};
use edgemere_storage::decode::plain_names;

/// How many names of one statement are looked up so.
const NAMES_MAX: usize = 64;

/// The plan of a statement whose tables are there.
pub(crate) async fn plan(
    state: &SessionState,
    statement: DfStatement,
    tables: &Catalog,
) -> Result<LogicalPlan, Error> {
    let mut statement = statement;
    let mut renamed: Vec<String> = Vec::new();
    loop {
        let kept = match &statement {
            DfStatement::Statement(kept) if has_names(kept) => Some(kept.clone()),
            _ => None,
        };
        let planned = state.statement_to_plan(statement).await.map_err(plan_error);
        let Some(mut kept) = kept else { return planned.map_err(|error| told(error, tables)) };
        let (column, known) = match &planned {
            Err(Error::UnknownColumn { column, known, .. }) => (column, known),
            _ => return planned,
        };
        // The second time it stands in an ORDER BY, and is not among the results.
        let times = renamed.iter().filter(|name| *name == column).count();
        let may_rename = times < 2 && renamed.len() < NAMES_MAX;
        let found = meant(column, known, &tables.originals()).filter(|_| may_rename);
        let Some(plain) = found else { return planned.map_err(|error| told(error, tables)) };
        let mut rename =
            Rename { name: column, plain: &plain, in_order: times > 0, orders: vec![], depth: 0 };
        let _ = VisitMut::visit(&mut kept, &mut rename);
        renamed.push(column.clone());
        statement = DfStatement::Statement(kept);
    }
}

/// The column that a name means. Where two tables have it, planning says so.
fn meant(name: &str, known: &[String], originals: &[(String, String)]) -> Option<String> {
    let was_called =
        |(column, original): &&(String, String)| original == name && known.contains(column);
    let called = originals.iter().find(was_called).map(|(column, _)| column.clone());
    called.or_else(|| plain_names(name).into_iter().find(|plain| known.contains(plain)))
}

/// An error that tells the columns by both of their names, where they have two.
fn told(error: Error, tables: &Catalog) -> Error {
    let Error::UnknownColumn { column, near, known } = error else { return error };
    let originals = tables.originals();
    let original = |name: &String| {
        let found = originals.iter().find(|(column, _)| column == name);
        found.map(|(_, original)| original.as_str())
    };
    let called = known.iter().filter_map(original);
    let near = near.or_else(|| nearest(&column, called));
    let both = |name: &String| match original(name) {
        Some(original) => format!("{name} (\"{original}\")"),
        None => name.clone(),
    };
    let known = known.iter().map(both).collect();
    Error::UnknownColumn { column, near, known }
}

/// Whether a statement has names in quotes that no column has.
fn has_names(statement: &Statement) -> bool {
    statement.visit(&mut HasNames).is_break()
}

struct HasNames;

impl Visitor for HasNames {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let is_name = |ident: &Ident| {
            ident.quote_style.is_some() && plain_names(&ident.value).first() != Some(&ident.value)
        };
        match column(expr).is_some_and(is_name) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// The column that an expression is, without its table.
fn column(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Identifier(ident) => Some(ident),
        Expr::CompoundIdentifier(parts) => parts.last(),
        _ => None,
    }
}

/// Gives a column in quotes its plain name.
struct Rename<'a> {
    name: &'a str,
    plain: &'a str,
    /// Whether in ORDER BY too, where the name may be that of a result.
    in_order: bool,
    /// What the queries around are ordered by, which is not looked at meanwhile.
    orders: Vec<Option<OrderBy>>,
    /// How many queries stand around, this one too.
    depth: usize,
}

impl Rename<'_> {
    fn is_meant(&self, expr: &Expr) -> bool {
        column(expr).is_some_and(|ident| ident.quote_style.is_some() && ident.value == self.name)
    }
}

impl VisitorMut for Rename<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        if !self.in_order {
            self.orders.push(query.order_by.take());
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        if !self.in_order {
            query.order_by = self.orders.pop().flatten();
        }
        ControlFlow::Continue(())
    }

    /// The results of the whole statement have the names they were asked by. Those of a query inside
    /// have plain ones, as everything that names them has by then.
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if self.depth > 1 {
            return ControlFlow::Continue(());
        }
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && self.is_meant(expr)
            {
                let alias = Ident::with_quote('"', self.name);
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.is_meant(expr) {
            let ident = match expr {
                Expr::Identifier(ident) => Some(ident),
                Expr::CompoundIdentifier(parts) => parts.last_mut(),
                _ => None,
            };
            if let Some(ident) = ident {
                ident.value = self.plain.to_owned();
            }
        }
        ControlFlow::Continue(())
    }
}
