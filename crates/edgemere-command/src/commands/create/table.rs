//! `create table`: makes a table on this node, from its policy or from columns.

use std::fmt;

use edgemere_query::Definition;
use edgemere_storage::Schema;
use edgemere_storage::storage::Error as StorageError;

use crate::announce;
use crate::commands::Declared;
use crate::commands::get::columns::definition;
use crate::commands::named::{name, required};
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::lexer::Token;
use crate::language::options::Options;
use crate::language::term::Term;
use crate::node::Role;
use crate::reply::Reply;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    name: Term,
    /// What stands between the parentheses.
    columns: Option<String>,
    options: Options,
}

impl Declared for Table {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "create table",
        usage: "create table NAME [(COLUMN TYPE, …)] where dbms = NAME",
        about: "Creates a table on this node, with the columns of its policy or with the given \
                ones.",
        details: "\
Without columns, the ledger must have the table's policy. With columns, the node publishes the \
policy. The columns row_id, insert_timestamp, tsd_name and tsd_id precede the table's own.

Types: int, bigint, decimal, float, numeric(P,S), boolean, date, time, timestamp, timestamp(9), \
timestamptz, interval, char(N), varchar, bytea. numeric(P,S) and decimal(P,S) are exact, up to \
38 digits; decimal and float without digits are 64-bit floats. All columns may be null; there \
are no keys or defaults. The first rows for a table also create it.",
        examples: &[
            "create table rand_data where dbms = new_company",
            "create table readings (timestamp timestamp, value float, device_name char(10)) where dbms = new_company",
        ],
        keys: &["dbms"],
        ..Declaration::WRITE
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let name = cursor.term("a table")?;
        let columns = match cursor.peek().token {
            Token::Symbol('(') => Some(take_parenthesized(cursor)?),
            _ => None,
        };
        Ok(Self { name, columns, options: Options::parse_required(cursor, Self::DECLARATION)? })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {}", self.name)?;
        if let Some(columns) = &self.columns {
            write!(f, " ({columns})")?;
        }
        write!(f, "{}", self.options)
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let node = context.node;
        if !node.has_role(Role::Operator) {
            return Err(edgemere_service::Error::NotOperator.into());
        }
        let table = name(&self.name, context)?;
        let dbms = required(&self.options, "dbms", Self::DECLARATION, context)?;
        let schema = self.schema(context, &dbms, &table)?;
        let storage = node.engine().storage();
        if storage.table(&dbms, &table).is_some() {
            return Err(StorageError::Taken { what: "table", dbms, name: table }.into());
        }
        storage.create_table(&dbms, &table, schema).await?;
        announce::settled(node).await;
        Ok(Reply::done())
    }
}

impl Table {
    fn schema(&self, context: &Context<'_>, dbms: &str, table: &str) -> Result<Schema, Error> {
        match &self.columns {
            Some(columns) => Definition::from_columns(table, columns)
                .and_then(|definition| definition.schema())
                .map_err(|source| Error::Columns { source }),
            None => definition(context.node, dbms, table)?
                .schema()
                .map_err(|source| Error::BadTable { table: format!("{dbms}.{table}"), source }),
        }
    }
}

/// Takes `( … )` with everything inside as it is written, and gives what is inside.
fn take_parenthesized(cursor: &mut Cursor<'_>) -> Result<String, Error> {
    let (source, _) = cursor.source();
    let start = cursor.take().span.end;
    let mut depth = 1_usize;
    loop {
        if matches!(cursor.peek().token, Token::End | Token::Invalid(_)) {
            return Err(cursor.expected("\")\""));
        }
        let lexeme = cursor.take();
        match lexeme.token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Ok(source.get(start..lexeme.span.start).unwrap_or_default().to_owned());
        }
    }
}
