//! `create view`: gives a query a name, under which it is a table to other queries.

use std::fmt;

use crate::commands::Declared;
use crate::commands::named::{name, required};
use crate::commands::sql::take_sql;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::lexer::quote;
use crate::language::options::Options;
use crate::language::term::Term;
use crate::reply::Reply;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    name: Term,
    options: Options,
    sql: String,
}

impl Declared for View {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "create view",
        usage: "create view NAME where dbms = NAME as SELECT …",
        about: "Creates a view: a named query that other queries use like a table.",
        details: "\
The node validates the query now, and runs it as a part of each query that uses the view. It may \
do what \"sql\" may, and use other views. Name computed columns with AS.

A view belongs to this node, and survives a restart. When a table that it uses is dropped, the \
view remains, and queries that use it fail with an error that says so.",
        examples: &[
            "create view warm where dbms = new_company as select * from rand_data where value > 90",
            "create view hourly where dbms = new_company as \"select increments(hour, 1, timestamp), max(timestamp) as timestamp, avg(value) as value from rand_data\"",
        ],
        keys: &["dbms"],
        ..Declaration::WRITE
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let name = cursor.term("a view")?;
        let options = Options::parse_required(cursor, Self::DECLARATION)?;
        cursor.expect_keyword("as")?;
        Ok(Self { name, options, sql: take_sql(cursor, "a SELECT statement")? })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {}{} as {}", self.name, self.options, quote(&self.sql))
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let view = name(&self.name, context)?;
        let dbms = required(&self.options, "dbms", Self::DECLARATION, context)?;
        context.node.engine().create_view(&dbms, &view, &self.sql).await?;
        Ok(Reply::done())
    }
}
