//! `job stop`, or `query cancel`: ends a query that runs.

use std::fmt;

use crate::commands::Declared;
use crate::commands::query::number;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::reply::Reply;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stop(u64);

impl Declared for Stop {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "job stop",
        aliases: &["query cancel"],
        usage: "job stop NUMBER",
        about: "Ends a query that runs, on every node; whoever asked is told that it was cancelled.",
        details: "\"job status all\" shows the numbers.",
        examples: &["job stop 8", "query cancel 8"],
        ..Declaration::WRITE
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        number(cursor, "the number of a query").map(Self)
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {}", self.0)
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let id = self.0;
        match context.node.engine().sql().queries().cancel(id) {
            None => Err(Error::NoQuery { id }),
            Some(true) => Ok(Reply::text(format!("query {id} is cancelled"))),
            Some(false) => Ok(Reply::text(format!("query {id} had ended"))),
        }
    }
}
