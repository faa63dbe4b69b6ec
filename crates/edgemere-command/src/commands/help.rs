//! `help`: what commands there are and how each is used, from their declarations.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use super::{Declared, declarations};
use crate::declaration::{Declaration, is_all_keywords, keywords};
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::cursor::Cursor;
use crate::language::lexer::{Token, quote};
use crate::language::options::{Options, Output};
use crate::near;
use crate::reply::Reply;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Help {
    topic: Topic,
    options: Options,
}

#[derive(Clone, Debug, PartialEq)]
enum Topic {
    All,
    Index,
    Command(Vec<String>),
}

impl Declared for Help {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "help",
        usage: "help [index | COMMAND] [where format = FORMAT]",
        about: "Lists the commands, or describes one.",
        details: "\
\"help index\" lists the commands by their first word. \"help get\" lists those that begin with \
\"get\".",
        examples: &["help", "help index", "help blockchain get"],
        ..Declaration::READ
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let mut words = Vec::new();
        // In quotes it is one name, of any number of words.
        if let Token::Quoted(name) = cursor.peek().token {
            cursor.take();
            words.extend(name.split_whitespace().map(str::to_lowercase));
        }
        while let Token::Word(word) = cursor.peek().token {
            if word.eq_ignore_ascii_case("where") {
                break;
            }
            cursor.take();
            words.push(word.to_lowercase());
        }
        let topic = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [] => Topic::All,
            ["index"] => Topic::Index,
            _ => Topic::Command(words),
        };
        Ok(Self { topic, options: Options::parse(cursor, Self::DECLARATION)? })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.topic {
            Topic::All => Ok(()),
            Topic::Index => f.write_str(" index"),
            Topic::Command(words) => write!(f, " {}", quote(&words.join(" "))),
        }?;
        write!(f, "{}", self.options)
    }

    fn output(&self) -> &Output {
        &self.options.output
    }

    async fn run(&self, _context: &Context<'_>) -> Result<Reply, Error> {
        match &self.topic {
            Topic::All => Ok(list(declarations())),
            Topic::Index => Ok(index()),
            Topic::Command(words) => about(&words.join(" ")),
        }
    }
}

fn list<'a>(declarations: impl IntoIterator<Item = &'a &'static Declaration>) -> Reply {
    let mut table = Table::new(["Command", "What it does"]);
    for declaration in declarations {
        table.push([declaration.name, declaration.about]);
    }
    Reply::table(table)
}

fn index() -> Reply {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for declaration in declarations() {
        let first = keywords(declaration.name).next().unwrap_or("(variables)");
        groups.entry(first).or_default().push(declaration.name);
    }
    let mut table = Table::new(["Begins with", "Command"]).grouped_by(1);
    for (first, names) in &groups {
        for name in names {
            table.push([*first, *name]);
        }
    }
    Reply::table(table).with_json(json!(groups))
}

fn about(topic: &str) -> Result<Reply, Error> {
    let exact = declarations()
        .iter()
        .find(|declaration| declaration.names().any(|name| is_all_keywords(name) && name == topic));
    let beginning = format!("{topic} ");
    let group: Vec<_> = declarations()
        .iter()
        .filter(|declaration| declaration.name.starts_with(&beginning))
        .collect();
    match (exact, group.is_empty()) {
        (Some(declaration), _) => Ok(details(declaration)),
        (None, false) => Ok(list(group)),
        (None, true) => {
            let names = declarations().iter().flat_map(|declaration| declaration.names());
            let hint = near::hint(topic, names);
            let hint = hint.or_else(|| Some("\"help index\" lists the commands".into()));
            Err(Error::NoHelp { name: topic.to_owned(), hint })
        }
    }
}

fn details(declaration: &Declaration) -> Reply {
    let mut text = format!("Usage: {}\n\n{}\n", declaration.usage, declaration.about);
    if !declaration.details.is_empty() {
        text.push_str(&format!("\n{}\n", declaration.details));
    }
    text.push_str("\nExamples:\n");
    for example in declaration.examples {
        text.push_str(&format!("  {example}\n"));
    }
    let formats: Vec<_> = declaration.formats.iter().map(|format| format.name()).collect();
    if !formats.is_empty() {
        text.push_str(&format!("\nFormats: {}\n", formats.join(", ")));
    }
    text.push_str(&format!("Effect: {}; REST: {}", declaration.effect, declaration.method));
    let json: Value = json!({
        "name": declaration.name,
        "usage": declaration.usage,
        "about": declaration.about,
        "details": declaration.details,
        "examples": declaration.examples,
        "formats": formats,
        "effect": declaration.effect.to_string(),
        "method": declaration.method.to_string(),
    });
    Reply::text(text).with_json(json)
}
