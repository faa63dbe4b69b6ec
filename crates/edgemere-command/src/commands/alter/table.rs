//! `alter table`: gives a column of this node's table another type.

use std::fmt;

use edgemere_query::Definition;
use edgemere_storage::Kind;

use crate::announce;
use crate::commands::Declared;
use crate::commands::named::{name, optional};
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::options::Options;
use crate::language::term::Term;
use crate::lookup;
use crate::reply::Reply;
use edgemere_service::Effect;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    /// The table, with its database before it or without.
    name: Term,
    column: Term,
    /// The type as it is written.
    type_name: String,
    options: Options,
}

impl Declared for Table {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "alter table",
        usage: "alter table DBMS.TABLE alter column COLUMN type TYPE",
        about: "Changes the type of a column of a table of this node.",
        details: "\
Every value of the column must be valid in the new type: otherwise nothing changes, and the \
reply names the first value that is not. The node rewrites the table, which takes a while for a \
large one; rows may arrive in the meantime. The table's policy gets the new type. Other \
operators keep theirs until they get the same command with \"run client\".

The types are those of \"create table\". Numeric columns become wider by themselves: a column of \
whole numbers accepts fractions without this command.",
        examples: &[
            "alter table new_company.rand_data alter column value type numeric(12,3)",
            "alter table readings alter column taken type timestamp with time zone where dbms = plant",
        ],
        effect: Effect::Destructive,
        keys: &["dbms"],
        ..Declaration::WRITE
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let name = cursor.term("a table")?;
        cursor.expect_keyword("alter")?;
        cursor.expect_keyword("column")?;
        let column = cursor.term("a column")?;
        cursor.expect_keyword("type")?;
        let type_name = take_type(cursor)?;
        Ok(Self { name, column, type_name, options: Options::parse(cursor, Self::DECLARATION)? })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, column, type_name, options } = self;
        write!(f, " {name} alter column {column} type {type_name}{options}")
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let node = context.node;
        let written = name(&self.name, context)?;
        let given = optional(&self.options, "dbms", context)?;
        let (dbms, table) = match (given, written.split_once('.')) {
            (Some(dbms), _) => (dbms, written),
            (None, Some((dbms, table))) => (dbms.to_owned(), table.to_owned()),
            // Says that it is missing.
            (None, None) => {
                (name(self.options.require("dbms", Self::DECLARATION)?, context)?, written)
            }
        };
        let column = name(&self.column, context)?;
        let kind = self.kind(&table, &column)?;
        let storage = node.engine().storage();
        let found = lookup::local_table(storage, &dbms, &table)?;
        storage.alter_column(&found, &column, kind).await?;
        announce::retype(node, &dbms, &table, &column, kind).await?;
        announce::settled(node).await;
        Ok(Reply::done())
    }
}

impl Table {
    fn kind(&self, table: &str, column: &str) -> Result<Kind, Error> {
        let name = column.replace('"', "\"\"");
        let definition = Definition::from_columns(table, &format!("\"{name}\" {}", self.type_name));
        let schema = definition.and_then(|definition| definition.schema());
        let schema = schema.map_err(|source| Error::Columns { source })?;
        let only = |columns: &[edgemere_storage::Column]| match columns {
            [column] => Some(column.kind),
            _ => None,
        };
        let source = edgemere_query::DefinitionError::NoTable;
        only(&schema.columns).ok_or(Error::Columns { source })
    }
}

/// Takes a type as it is written, up to `where` or the end: `numeric(10,2)`, `timestamp with time zone`.
fn take_type(cursor: &mut Cursor<'_>) -> Result<String, Error> {
    let (source, _) = cursor.source();
    let start = cursor.peek().span.start;
    let mut end = start;
    while !cursor.at_end() && cursor.peek_keyword().as_deref() != Some("where") {
        let lexeme = cursor.take();
        if lexeme.span.end <= end {
            break;
        }
        end = lexeme.span.end;
    }
    match source.get(start..end) {
        Some(type_name) if !type_name.trim().is_empty() => Ok(type_name.trim().to_owned()),
        _ => Err(cursor.expected("a type")),
    }
}
