//! Validation, before anything runs: the statement only reads, and everything that it names is
//! there.

use datafusion::common::{DataFusionError, SchemaError};
use datafusion::execution::context::SQLOptions;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::resolve::resolve_table_references;
use datafusion::sql::sqlparser::ast::Statement;

use super::error::Error;
use crate::storage::Storage;

/// The tables that statements may name.
pub(crate) trait Tables: Sync {
    /// The databases.
    fn databases(&self) -> Vec<String>;

    /// The tables of a database.
    fn tables(&self, dbms: &str) -> Vec<String>;

    /// Whether there is a table.
    fn has(&self, dbms: &str, table: &str) -> bool;
}

impl Tables for Storage {
    fn databases(&self) -> Vec<String> {
        self.databases()
    }

    fn tables(&self, dbms: &str) -> Vec<String> {
        self.tables(dbms).iter().map(|table| table.name().to_owned()).collect()
    }

    fn has(&self, dbms: &str, table: &str) -> bool {
        self.table(dbms, table).is_some()
    }
}

/// The plan of a statement that only reads.
pub(super) async fn plan(
    known: &impl Tables,
    dbms: &str,
    context: &SessionContext,
    statement: Statement,
) -> Result<LogicalPlan, Error> {
    if !matches!(statement, Statement::Query(_)) {
        return Err(Error::NotReadOnly { what: first_words(&statement) });
    }
    let statement = DfStatement::Statement(Box::new(statement));
    check_tables(known, dbms, &statement)?;
    let plan = context.state().statement_to_plan(statement).await.map_err(plan_error)?;
    // The statement is a query by its grammar; this proves it of everything inside.
    SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false)
        .verify_plan(&plan)
        .map_err(|error| Error::NotReadOnly { what: error.strip_backtrace() })?;
    Ok(plan)
}

fn first_words(statement: &Statement) -> String {
    let text = statement.to_string();
    text.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

fn check_tables(known: &impl Tables, dbms: &str, statement: &DfStatement) -> Result<(), Error> {
    if !known.databases().iter().any(|one| one == dbms) {
        return Err(unknown_table(known, dbms, ""));
    }
    let (tables, _) = resolve_table_references(statement, true).map_err(Error::Plan)?;
    for reference in tables {
        let database = reference.schema().unwrap_or(dbms);
        let table = reference.table();
        if reference.catalog().is_some() || !known.has(database, table) {
            return Err(unknown_table(known, database, table));
        }
    }
    Ok(())
}

fn unknown_table(known: &impl Tables, dbms: &str, table: &str) -> Error {
    let databases = known.databases();
    if !databases.iter().any(|one| one == dbms) {
        let near = nearest(dbms, databases.iter().map(String::as_str));
        return Error::UnknownDatabase { dbms: dbms.to_owned(), near };
    }
    let tables = known.tables(dbms);
    let near = nearest(table, tables.iter().map(String::as_str));
    Error::UnknownTable { dbms: dbms.to_owned(), table: table.to_owned(), near }
}

fn plan_error(error: DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::SchemaError(schema, _) => match schema.as_ref() {
            SchemaError::FieldNotFound { field, valid_fields } => Error::UnknownColumn {
                column: field.name().to_owned(),
                near: nearest(field.name(), valid_fields.iter().map(|column| column.name())),
            },
            _ => Error::Plan(error),
        },
        _ => Error::Plan(error),
    }
}

/// The candidate that is nearest to a name, when it is near enough to be a slip of the same name.
fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    const LIKENESS_MIN: f64 = 0.8;
    candidates
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate.to_owned())
}
