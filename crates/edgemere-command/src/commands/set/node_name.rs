//! `set node name`: gives the node another name until it stops.

use std::fmt;

use crate::commands::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::term::Term;
use crate::reply::Reply;

/// How long a node's name may be.
const NAME_CHARACTERS_MAX: usize = 128;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NodeName(Term);

impl Declared for NodeName {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "set node name",
        usage: "set node name NAME",
        about: "Renames the node until it stops.",
        details: "An empty name, \"\", restores the name it was started with.",
        examples: &["set node name Operator_3"],
        ..Declaration::WRITE
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        cursor.operator("=");
        cursor.term("a name").map(Self)
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {}", self.0)
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let name = self.0.text(context.variables())?;
        let is_fine = |c: char| c.is_alphanumeric() || "_-. ".contains(c);
        if !name.chars().all(is_fine) || name.chars().count() > NAME_CHARACTERS_MAX {
            return Err(Error::BadValue {
                key: "node name".into(),
                value: name,
                expected: format!(
                    "up to {NAME_CHARACTERS_MAX} letters, digits, spaces and the signs _ - ."
                ),
                at: None,
            });
        }
        let own = || context.node.settings().name.clone();
        context.node.rename(if name.is_empty() { own() } else { name });
        Ok(Reply::done())
    }
}
