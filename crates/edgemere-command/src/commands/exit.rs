//! `exit`: ends the script that it stands in, or stops the node.

use std::fmt;

use super::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::reply::Reply;
use edgemere_service::Effect;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Ends the script.
    Script,
    /// Stops the node.
    Node,
}

impl Declared for Exit {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "exit",
        usage: "exit [script|node]",
        about: "Ends the script that contains it, or with \"node\" stops the node.",
        details: "In the shell \"exit\" leaves the shell; the node continues.",
        examples: &["exit", "exit node"],
        effect: Effect::Destructive,
        ..Declaration::WRITE
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        if cursor.at_end() || cursor.keyword("script") {
            return Ok(Self::Script);
        }
        match cursor.keyword("node") {
            true => Ok(Self::Node),
            false => Err(cursor.expected("\"script\", \"node\" or the end of the command")),
        }
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Script => "",
            Self::Node => " node",
        })
    }

    fn effect(&self) -> Effect {
        match self {
            Self::Script => Effect::Read,
            Self::Node => Effect::Destructive,
        }
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        match self {
            // Outside of a script there is nothing to end; inside, the script sees it first.
            Self::Script => Ok(Reply::done()),
            Self::Node => {
                tracing::info!(principal = context.principal.name(), "asked to stop");
                context.node.settings().shutdown.cancel();
                Ok(Reply::text("the node is stopping"))
            }
        }
    }
}
