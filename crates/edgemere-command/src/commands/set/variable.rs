//! `set NAME = VALUE`: the same as `NAME = VALUE`.

use std::fmt;

use crate::commands::Declared;
use crate::commands::assign::Assign;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::reply::Reply;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variable(Assign);

impl Declared for Variable {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "set NAME = VALUE",
        usage: "set NAME = VALUE",
        about: "Sets a variable.",
        details: "The same as \"NAME = VALUE\".",
        examples: &["set rate = 5"],
        ..Declaration::WRITE
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        Assign::parse(cursor).map(Self)
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(" ")?;
        self.0.print(f)
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        self.0.run(context).await
    }
}
