//! `get dictionary`: the node's variables.

use std::fmt;

use serde_json::{Value, json};

use crate::commands::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::cursor::Cursor;
use crate::language::lexer::{quote, word_or_quote};
use crate::language::options::{Options, Output};
use crate::language::term::text_of;
use crate::reply::Reply;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dictionary {
    part: Option<String>,
    options: Options,
}

impl Declared for Dictionary {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get dictionary",
        usage: "get dictionary [PART] [where format = FORMAT]",
        about: "Lists the node's variables, or those with PART in their name.",
        details: "\
The values of secret variables are hidden: those whose name contains password, secret or token, \
for example.",
        examples: &["get dictionary", "get dictionary _port where format = json"],
        ..Declaration::READ
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let is_part = !cursor.at_end() && cursor.peek_keyword().as_deref() != Some("where");
        let part = is_part.then(|| cursor.name("a part of a name")).transpose()?;
        Ok(Self { part, options: Options::parse(cursor, Self::DECLARATION)? })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(part) = &self.part {
            let is_keyword = part.eq_ignore_ascii_case("where");
            let shown = if is_keyword { quote(part) } else { word_or_quote(part) };
            write!(f, " {shown}")?;
        }
        write!(f, "{}", self.options)
    }

    fn output(&self) -> &Output {
        &self.options.output
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let variables = context.node.variables.list(self.part.as_deref().unwrap_or_default());
        let mut table = Table::new(["Name", "Value"]);
        for (name, value) in &variables {
            table.push([json!(name), json!(text_of(value))]);
        }
        let json = variables.into_iter().collect();
        Ok(Reply::table(table).with_json(Value::Object(json)))
    }
}
