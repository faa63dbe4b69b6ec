//! Refuses clauses that the parser reads and the planner passes over: their queries would be answered as
//! if the clause were not there. The nodes of a statement are taken apart here field by field, so that a
//! clause that a later parser brings has to be decided about.

use std::ops::ControlFlow;

use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArguments, GroupByExpr, OrderByExpr, OrderByKind, Query, Select,
    Statement, TableFactor, Visit, Visitor,
};

use crate::sql::error::Error;

/// Refuses a statement with a clause that would be passed over.
pub(crate) fn check(statement: &Statement) -> Result<(), Error> {
    match statement.visit(&mut Clauses) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(clause) => {
            let message = format!("{clause} is not supported: the query would ignore it");
            Err(Error::Plan(DataFusionError::Plan(message)))
        }
    }
}

struct Clauses;

/// The clauses, and whether each is there.
fn none_of<const N: usize>(clauses: [(&'static str, bool); N]) -> ControlFlow<&'static str> {
    match clauses.into_iter().find(|(_, is_there)| *is_there) {
        Some((clause, _)) => ControlFlow::Break(clause),
        None => ControlFlow::Continue(()),
    }
}

fn no_fill(order: &[OrderByExpr]) -> ControlFlow<&'static str> {
    none_of([("WITH FILL", order.iter().any(|key| key.with_fill.is_some()))])
}

impl Visitor for Clauses {
    type Break = &'static str;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<&'static str> {
        let Query {
            with: _,
            body: _,
            order_by,
            limit_clause: _,
            fetch,
            locks: _,
            for_clause,
            settings,
            format_clause,
            pipe_operators: _,
        } = query;
        if let Some(order) = order_by
            && let OrderByKind::Expressions(keys) = &order.kind
        {
            no_fill(keys)?;
        }
        none_of([
            ("FETCH … WITH TIES", fetch.as_ref().is_some_and(|fetch| fetch.with_ties)),
            ("FETCH … PERCENT", fetch.as_ref().is_some_and(|fetch| fetch.percent)),
            ("FETCH beside LIMIT", fetch.is_some()),
            ("FOR XML, JSON or BROWSE", for_clause.is_some()),
            ("SETTINGS", settings.is_some()),
            ("FORMAT", format_clause.is_some()),
        ])
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<&'static str> {
        let Select {
            select_token: _,
            // A comment, for other databases.
            optimizer_hints: _,
            distinct: _,
            select_modifiers,
            top: _,
            top_before_distinct: _,
            projection: _,
            exclude,
            into: _,
            from: _,
            lateral_views: _,
            prewhere,
            selection: _,
            connect_by,
            group_by,
            cluster_by,
            distribute_by,
            sort_by,
            having: _,
            named_window: _,
            qualify: _,
            window_before_qualify: _,
            value_table_mode,
            flavor: _,
        } = select;
        let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) = group_by;
        none_of([
            ("a word between SELECT and its columns", select_modifiers.is_some()),
            ("EXCLUDE after the columns", exclude.is_some()),
            ("PREWHERE", prewhere.is_some()),
            ("CONNECT BY", !connect_by.is_empty()),
            ("GROUP BY … WITH", !modifiers.is_empty()),
            ("CLUSTER BY", !cluster_by.is_empty()),
            ("DISTRIBUTE BY", !distribute_by.is_empty()),
            ("SORT BY", !sort_by.is_empty()),
            ("SELECT AS", value_table_mode.is_some()),
        ])
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<&'static str> {
        match table {
            TableFactor::Table {
                name: _,
                alias: _,
                args: _,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
            } => none_of([
                ("WITH (…) after a table", !with_hints.is_empty()),
                ("a version of a table", version.is_some()),
                ("WITH ORDINALITY", *with_ordinality),
                ("PARTITION after a table", !partitions.is_empty()),
                ("a path after a table", json_path.is_some()),
                ("TABLESAMPLE", sample.is_some()),
                ("an index after a table", !index_hints.is_empty()),
            ]),
            TableFactor::Derived { lateral: _, subquery: _, alias: _, sample } => {
                none_of([("TABLESAMPLE", sample.is_some())])
            }
            TableFactor::Function { with_ordinality, .. } => {
                none_of([("WITH ORDINALITY", *with_ordinality)])
            }
            // The planner refuses what it does not know of all others.
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<&'static str> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        let Function {
            name: _,
            uses_odbc_syntax: _,
            parameters,
            args: _,
            filter: _,
            null_treatment: _,
            over: _,
            within_group,
        } = function;
        no_fill(within_group)?;
        none_of([("a second list of arguments", !matches!(parameters, FunctionArguments::None))])
    }
}
