//! `get !NAME`, or only `!NAME`: the value of a variable.

use std::fmt;

use crate::commands::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::term::Term;
use crate::reply::Reply;
use edgemere_service::Effect;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variable(Term);

impl Declared for Variable {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get !NAME",
        aliases: &["!NAME"],
        usage: "get !NAME",
        about: "Returns the value of a variable.",
        details: "A variable whose name speaks of a password, a secret or a token is not shown.",
        examples: &["get !node_name", "!company_name"],
        formats: &[],
        ..Declaration::READ
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        cursor.term("a variable").map(Self)
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {}", self.0)
    }

    fn effect(&self) -> Effect {
        self.0.effect_of_showing()
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        self.0.value(context.variables()).map(Reply::value)
    }
}
