//! `print`: says a text, with the values of the variables in it.

use std::fmt;

use super::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::term::Term;
use crate::reply::Reply;
use edgemere_service::Effect;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Print(Vec<Term>);

impl Declared for Print {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "print",
        usage: "print WORD|\"TEXT\"|!NAME …",
        about: "Prints a text, with the values of the variables in it.",
        examples: &["print \"The node is\" !node_name"],
        effect: Effect::Read,
        ..Declaration::WRITE
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let mut terms = vec![cursor.term("a text")?];
        while !cursor.at_end() {
            terms.push(cursor.term("a text")?);
        }
        Ok(Self(terms))
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|term| write!(f, " {term}"))
    }

    fn effect(&self) -> Effect {
        self.0.iter().map(Term::effect_of_showing).max().unwrap_or(Effect::Read)
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let texts = self.0.iter().map(|term| term.text(context.variables()));
        Ok(Reply::text(texts.collect::<Result<Vec<_>, _>>()?.join(" ")))
    }
}
