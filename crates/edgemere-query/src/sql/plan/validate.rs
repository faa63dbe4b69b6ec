//! Validation, before anything runs: the statement only reads, and everything that it names is
//! there.

use std::ops::ControlFlow;

use datafusion::common::{Column, DataFusionError, SchemaError, TableReference};
use datafusion::execution::context::SQLOptions;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::{
    ObjectName, Query, Select, SelectFlavor, SetExpr, Statement, Visit, Visitor,
};

use crate::sql::bounds;
use crate::sql::error::Error;
use crate::sql::functions;
use crate::sql::options::TableName;
use crate::sql::plan::catalog::Kind;
use crate::sql::plan::clauses;
use crate::sql::plan::column_names;
use crate::sql::plan::include;
use crate::sql::plan::information;
use crate::sql::plan::stars;
use crate::sql::plan::statement_size;
use crate::sql::plan::tables::Tables;
use crate::sql::plan::views::NameResolver;
use crate::sql::plan::visible::Internal;
use crate::sql::workarounds::not_in;
use crate::sql::workarounds::plan_size;

/// The plan of a statement that only reads.
pub(crate) async fn plan(
    names: NameResolver<'_>,
    mut statement: Statement,
    internal: Internal,
) -> Result<LogicalPlan, Error> {
    only_reads(&statement)?;
    names_columns(&statement)?;
    clauses::check(&statement)?;
    statement_size::check(&statement)?;
    plan_size::check_names(&statement)?;
    check_database(names.known(), names.dbms)?;
    if !names.all_columns {
        stars::rewrite(&mut statement, internal, &|name| has_internal(names, name))?;
    }
    let statement = DfStatement::Statement(Box::new(statement));
    names.resolve(&statement).await?;
    let state = names.session.state_in(names.dbms, internal);
    let plan = column_names::plan(&state, statement, &names.session.tables).await?;
    let plan = functions::rewrite(plan).and_then(bounds::bounded_plan).map_err(Error::Plan)?;
    plan_size::check(&plan)?;
    // The statement is a query by its grammar; this proves it of everything inside.
    SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false)
        .verify_plan(&plan)
        .map_err(|error| Error::NotReadOnly { what: error.strip_backtrace() })?;
    not_in::apply(plan)
}

/// By its grammar the statement is a query, in which there are only queries that lock nothing.
fn only_reads(statement: &Statement) -> Result<(), Error> {
    match statement.visit(&mut OnlyReads) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(what) => Err(Error::NotReadOnly { what }),
    }
}

/// Every SELECT says what it wants: `select from t` is a slip, and would be as many empty rows as the
/// table has.
fn names_columns(statement: &Statement) -> Result<(), Error> {
    match statement.visit(&mut NamesColumns) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => {
            let message = "SELECT names no columns: write them, or *, between SELECT and FROM";
            Err(Error::Plan(DataFusionError::Plan(message.to_owned())))
        }
    }
}

struct NamesColumns;

impl Visitor for NamesColumns {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        match select.projection.is_empty() && select.flavor == SelectFlavor::Standard {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

struct OnlyReads;

impl Visitor for OnlyReads {
    type Break = String;

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<String> {
        match statement {
            Statement::Query(_) => ControlFlow::Continue(()),
            other => ControlFlow::Break(first_words(other)),
        }
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<String> {
        if let Some(lock) = query.locks.first() {
            return ControlFlow::Break(lock.to_string());
        }
        match query.body.as_ref() {
            SetExpr::Insert(inner)
            | SetExpr::Update(inner)
            | SetExpr::Delete(inner)
            | SetExpr::Merge(inner) => ControlFlow::Break(first_words(inner)),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<String> {
        match &select.into {
            Some(into) => ControlFlow::Break(format!("SELECT {into}")),
            None => ControlFlow::Continue(()),
        }
    }
}

pub(crate) fn first_words(statement: &Statement) -> String {
    let text = statement.to_string();
    text.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

/// Whether a name is a table's, which has internal columns.
fn has_internal(names: NameResolver<'_>, name: &ObjectName) -> bool {
    let Some(TableName { dbms, table }) = include::table_name(name) else { return false };
    let dbms = dbms.as_deref().unwrap_or(names.dbms);
    match names.session.tables.kind(dbms, &table) {
        Some(kind) => kind != Kind::View,
        None => dbms != information::SCHEMA && names.known().has(dbms, &table),
    }
}

/// Fails when there is no such database.
pub(crate) fn check_database(known: &dyn Tables, dbms: &str) -> Result<(), Error> {
    let is_there = dbms == information::SCHEMA || known.databases().iter().any(|one| one == dbms);
    if is_there { Ok(()) } else { Err(unknown_table(known, dbms, "")) }
}

/// The error that there is no such table, or not even its database.
pub(crate) fn unknown_table(known: &dyn Tables, dbms: &str, table: &str) -> Error {
    let databases = known.databases();
    if known.is_disconnected(dbms) {
        return Error::Disconnected { dbms: dbms.to_owned() };
    }
    if !databases.iter().any(|one| one == dbms) {
        let near = nearest(dbms, databases.iter().map(String::as_str));
        return Error::UnknownDatabase { dbms: dbms.to_owned(), near, known: databases };
    }
    let (tables, views) = (known.tables(dbms), known.views(dbms));
    let near = nearest(table, tables.iter().chain(&views).map(String::as_str));
    let known = tables.into_iter().chain(views).collect();
    Error::UnknownTable { dbms: dbms.to_owned(), table: table.to_owned(), near, known }
}

pub(crate) fn plan_error(error: DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::SchemaError(schema, _) => match schema.as_ref() {
            SchemaError::FieldNotFound { field, valid_fields } => {
                unknown_column(field, valid_fields)
            }
            _ => Error::Plan(error),
        },
        _ => Error::Plan(error),
    }
}

fn unknown_column(column: &Column, known: &[Column]) -> Error {
    let is_of_table = |table: &TableReference| {
        known.iter().any(|one| one.relation.as_ref().is_some_and(|other| table.resolved_eq(other)))
    };
    let names = || known.iter().map(|column| column.name());
    // `x.n` is no misspelt `n` when there is no table `x`.
    let (name, near) = match &column.relation {
        Some(table) if !is_of_table(table) => (format!("{}.{}", table.table(), column.name), None),
        _ => (column.name.clone(), nearest(column.name(), names())),
    };
    let mut all: Vec<String> = Vec::new();
    for name in names() {
        if !all.iter().any(|known| known == name) {
            all.push(name.to_owned());
        }
    }
    Error::UnknownColumn { column: name, near, known: all }
}

/// The candidate that is nearest to a name, when it is near enough to be a slip of the same name.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    const LIKENESS_MIN: f64 = 0.8;
    candidates
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate.to_owned())
}
