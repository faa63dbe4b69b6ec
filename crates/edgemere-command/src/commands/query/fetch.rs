//! `query fetch`: the rows that are left of a result of which somebody took the first.

use std::fmt;

use crate::commands::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::Format;
use crate::language::cursor::Cursor;
use crate::language::lexer::word_or_quote;
use crate::language::options::{Options, Output};
use crate::reply::Reply;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fetch {
    cursor: String,
    options: Options,
}

impl Declared for Fetch {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "query fetch",
        usage: "query fetch CURSOR [where format = FORMAT]",
        about: "Returns the next rows of a paged result.",
        details: "\
A tool whose result has more rows than fit returns a cursor, as next_cursor. A cursor works \
once, for five minutes, and only for the caller who got it.",
        examples: &["query fetch 0b6cf0c9c2d34a7a8a1c2f0d3f6a9e11 where format = csv"],
        formats: &[
            Format::Table,
            Format::Json,
            Format::JsonList,
            Format::Mcp,
            Format::McpColumns,
            Format::Csv,
            Format::Ndjson,
            Format::Arrow,
            Format::Parquet,
        ],
        ..Declaration::READ
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let name = cursor.name("a cursor")?;
        let options = Options::parse(cursor, Self::DECLARATION)?;
        Ok(Self { cursor: name, options })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {}{}", word_or_quote(&self.cursor), self.options)
    }

    fn output(&self) -> &Output {
        &self.options.output
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let rest = context.node.kept.take_rest(context.principal.name(), &self.cursor).await?;
        Ok(Reply::rows(rest))
    }
}
