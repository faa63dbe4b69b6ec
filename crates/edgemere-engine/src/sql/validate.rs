//! Validation, before anything runs: the statement only reads, and everything that it names is
//! there.

use datafusion::common::{DataFusionError, SchemaError};
use datafusion::execution::context::SQLOptions;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::Statement;

use super::error::Error;
use super::views::Names;
use crate::storage::Storage;

/// The plan of a statement that only reads.
pub(super) async fn plan(names: Names<'_>, statement: Statement) -> Result<LogicalPlan, Error> {
    if !matches!(statement, Statement::Query(_)) {
        return Err(Error::NotReadOnly { what: first_words(&statement) });
    }
    if !names.storage.databases().iter().any(|known| known == names.dbms) {
        return Err(unknown_table(names.storage, names.dbms, ""));
    }
    let statement = DfStatement::Statement(Box::new(statement));
    names.resolve(&statement).await?;
    let state = names.session.state_in(names.dbms);
    let plan = state.statement_to_plan(statement).await.map_err(plan_error)?;
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

/// The error that there is no such table, or not even its database.
pub(super) fn unknown_table(storage: &Storage, dbms: &str, table: &str) -> Error {
    let databases = storage.databases();
    if storage.is_disconnected(dbms) {
        return Error::Disconnected { dbms: dbms.to_owned() };
    }
    if !databases.iter().any(|known| known == dbms) {
        let near = nearest(dbms, databases.iter().map(String::as_str));
        return Error::UnknownDatabase { dbms: dbms.to_owned(), near };
    }
    let (tables, views) = (storage.tables(dbms), storage.views(dbms));
    let tables = tables.iter().map(|table| table.name());
    let near = nearest(table, tables.chain(views.iter().map(|view| view.name.as_str())));
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
pub(super) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    const LIKENESS_MIN: f64 = 0.8;
    candidates
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate.to_owned())
}
