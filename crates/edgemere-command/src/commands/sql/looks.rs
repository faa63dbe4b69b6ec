//! A query and how its rows look, apart from each other: for a job, whose rows are read later.

use edgemere_query::sql::Query;

use super::{Sql, modes};
use crate::commands::Declared;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::options::{Options, Output};
use crate::sql_command;

/// How rows look.
#[derive(Debug)]
pub(crate) struct Looks {
    /// Their format.
    pub(crate) output: Output,
    /// The most rows, where they are collected.
    pub(crate) limit: Option<usize>,
    /// How many rows an event has.
    pub(crate) rows_at_once: usize,
}

impl Looks {
    /// Reads the options of a `sql` command that say how rows look.
    pub(crate) fn parse(options: &str, context: &Context<'_>) -> Result<Self, Error> {
        let mut cursor = Cursor::new(options);
        let options = Options::parse_pairs(&mut cursor, Sql::DECLARATION)?;
        cursor.end()?;
        let limit = modes::limit(&options, context)?;
        let rows_at_once = modes::rows_at_once(&options, context)?;
        Ok(Self { output: options.output, limit, rows_at_once })
    }
}

/// Begins a query for somebody who takes its rows as they are.
pub(crate) async fn ask(
    dbms: &str,
    options: &str,
    sql: &str,
    context: &Context<'_>,
) -> Result<Query, Error> {
    let text = sql_command(dbms, options, sql);
    let mut cursor = Cursor::new(&text);
    cursor.take();
    let command = Sql::parse(&mut cursor)?;
    cursor.end()?;
    context.principal.authorize(Sql::DECLARATION.name, command.effect())?;
    Ok(command.ask(context, None).await?.0)
}
