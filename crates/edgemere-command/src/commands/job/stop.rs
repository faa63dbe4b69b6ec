//! `job stop`, or `query cancel`: ends a query that runs.

use std::fmt;

use crate::commands::Declared;
use crate::commands::query::number;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::reply::Reply;
use edgemere_service::Effect;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stop(u64);

impl Declared for Stop {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "job stop",
        aliases: &["query cancel"],
        usage: "job stop NUMBER",
        about: "Cancels a running query on every node; its caller gets an error that says so.",
        details: "\
\"job status all\" shows the numbers. Callers may cancel their own queries; an admin may cancel \
any. The same user with other access, such as an agent that may only read, counts as another \
caller.",
        examples: &["job stop 8", "query cancel 8"],
        effect: Effect::Read,
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
        let queries = context.node.engine().sql().queries();
        let query = queries.get(id).ok_or(Error::NoQuery { id })?;
        if query.caller != context.principal.label() {
            context.principal.authorize(Self::DECLARATION.name, Effect::Destructive)?;
        }
        match queries.cancel(id) {
            Some(true) => Ok(Reply::text(format!("query {id} is cancelled"))),
            Some(false) | None => Ok(Reply::text(format!("query {id} had ended"))),
        }
    }
}
