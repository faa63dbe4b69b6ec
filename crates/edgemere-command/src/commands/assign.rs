//! `NAME = VALUE`: gives a variable a value, which may be what a command answers.

use std::fmt;

use serde_json::Value;

use super::{Command, Declared};
use crate::declaration::{Declaration, keywords};
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::render;
use crate::language::cursor::Cursor;
use crate::language::lexer::is_name_character;
use crate::language::term::Term;
use crate::reply::Reply;
use crate::variables::{RequestVariables, Variable};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Assign {
    name: String,
    value: Assigned,
}

#[derive(Clone, Debug, PartialEq)]
enum Assigned {
    Term(Term),
    Answer(Box<Command>),
}

impl Declared for Assign {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "NAME = VALUE",
        usage: "NAME = VALUE | COMMAND",
        about: "Sets a variable to a value, or to the reply of a command.",
        details: "\
The value is a word, a quoted text, another variable or JSON. The empty text, \"\", deletes the \
variable. A value over several lines is written between < and >.",
        examples: &["rate = 5", "operators = blockchain get operator bring.ip_port"],
        ..Declaration::WRITE
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let wrong = cursor.expected("a name of letters, digits and \"_\"");
        let name = cursor.name("a variable's name")?;
        if !name.chars().all(is_name_character) {
            return Err(wrong);
        }
        cursor.expect_operator("=")?;
        if !begins_command(cursor) {
            let value = cursor.term("a value")?;
            return Ok(Self { name, value: Assigned::Term(value) });
        }
        let command = cursor.nested(Command::parse)?;
        Ok(Self { name, value: Assigned::Answer(Box::new(command)) })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Assigned::Term(term) => write!(f, "{} = {term}", self.name),
            Assigned::Answer(command) => write!(f, "{} = {command}", self.name),
        }
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        context.node.variables.assign(&self.name, self.evaluate(context).await?)?;
        Ok(Reply::done())
    }
}

impl Assign {
    /// Gives the variable of a request its value, which only that request sees.
    pub(crate) async fn assign_to(
        &self,
        request: &RequestVariables,
        context: &Context<'_>,
    ) -> Result<(), Error> {
        request.assign(&self.name, self.evaluate(context).await?)
    }

    async fn evaluate(&self, context: &Context<'_>) -> Result<Variable, Error> {
        match &self.value {
            Assigned::Term(term) => term.assigned(context.variables()),
            Assigned::Answer(command) => {
                Ok(Variable { value: answer(command, context).await?, is_secret: false })
            }
        }
    }
}

/// Whether a command of several words begins here. `x = get` alone is a word.
fn begins_command(cursor: &Cursor<'_>) -> bool {
    super::declarations().iter().flat_map(|declaration| declaration.names()).any(|name| {
        let mut ahead = cursor.clone();
        keywords(name).count() > 1 && keywords(name).all(|word| ahead.keyword(word))
    })
}

async fn answer(command: &Command, context: &Context<'_>) -> Result<Value, Error> {
    render(command.run(context).await?, command.output())?.into_value().await
}
