//! `extend = (+node_name, @ip as "Node IP", …)`: columns in front of a query's own that tell where
//! its rows come from. `@NAME` is one of a few that every node knows, `+NAME` a variable of the
//! node's.

use edgemere_query::sql::{Extended, Extension};

use super::include::list;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::lexer::{Token, quote};
use crate::language::term::text_of;
use crate::near;
use crate::variables::is_secret_name;
use edgemere_service::Effect;

/// What every node knows of itself.
const KNOWN: [&str; 6] = ["ip", "port", "ip_port", "node_name", "dbms_name", "table_name"];

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    is_variable: bool,
    name: String,
    /// The name in the result, when it is another.
    title: Option<String>,
}

/// Takes `extend = …`: one column, or several in parentheses.
pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Vec<Column>, Error> {
    cursor.expect_keyword("extend")?;
    cursor.expect_operator("=")?;
    list(cursor, column)
}

fn column(cursor: &mut Cursor<'_>) -> Result<Column, Error> {
    const WHAT: &str = "a column: +VARIABLE, @ip, @port, @ip_port, @node_name, @dbms_name or \
                        @table_name";
    let Token::Word(word) = cursor.peek().token else { return Err(cursor.expected(WHAT)) };
    let (is_variable, name) = match (word.strip_prefix('+'), word.strip_prefix('@')) {
        (Some(name), _) if !name.is_empty() => (true, name.to_owned()),
        (_, Some(name)) if KNOWN.contains(&name) => (false, name.to_owned()),
        (_, Some(name)) => {
            let near = near::nearest(name, KNOWN);
            let hint = near.map(|near| format!("did you mean \"@{near}\"?"));
            return Err(cursor.expected_with_hint(WHAT, hint));
        }
        _ => return Err(cursor.expected(WHAT)),
    };
    cursor.take();
    let title = if cursor.keyword("as") { Some(title(cursor)?) } else { None };
    Ok(Column { is_variable, name, title })
}

/// A name in quotes, or of some words.
fn title(cursor: &mut Cursor<'_>) -> Result<String, Error> {
    let mut title = cursor.name("a name")?;
    while let Token::Word(word) = cursor.peek().token {
        // Without parentheses around it, the list ends where the options go on.
        let word_in_lower = word.to_lowercase();
        if word_in_lower == "and" || super::BEGINNINGS.contains(&word_in_lower.as_str()) {
            break;
        }
        title.push(' ');
        title.push_str(&word);
        cursor.take();
    }
    Ok(title)
}

/// The option as it is written.
pub(super) fn directive(columns: &[Column]) -> Option<String> {
    let columns: Vec<_> = columns.iter().map(written).collect();
    (!columns.is_empty()).then(|| format!("extend = ({})", columns.join(", ")))
}

fn written(Column { is_variable, name, title }: &Column) -> String {
    let sign = if *is_variable { '+' } else { '@' };
    match title {
        Some(title) => format!("{sign}{name} as {}", quote(title)),
        None => format!("{sign}{name}"),
    }
}

/// What showing the columns is: the value of a variable whose name says so is a secret.
pub(super) fn effect(columns: &[Column]) -> Effect {
    let shows_secret =
        columns.iter().any(|column| column.is_variable && is_secret_name(&column.name));
    if shows_secret { Effect::Secret } else { Effect::Read }
}

/// The columns with the node's values.
pub(super) fn extensions(
    columns: &[Column],
    dbms: &str,
    context: &Context<'_>,
) -> Result<Vec<Extension>, Error> {
    let extension = |column: &Column| {
        let name = column.title.clone().unwrap_or_else(|| column.name.clone());
        Ok(Extension { name, value: value(column, dbms, context)? })
    };
    columns.iter().map(extension).collect()
}

/// A variable that has no value is what the node knows under that name, or nothing.
fn value(column: &Column, dbms: &str, context: &Context<'_>) -> Result<Extended, Error> {
    match column.is_variable.then(|| context.variables().get(&column.name)) {
        None | Some(Err(Error::UnknownVariable { .. })) => {}
        Some(value) => return Ok(Extended::Text(Some(text_of(&value?)))),
    }
    let network = context.node.settings().network;
    Ok(Extended::Text(match column.name.as_str() {
        "ip" => Some(network.ip().to_string()),
        "port" => Some(network.port().to_string()),
        "ip_port" => Some(network.to_string()),
        "node_name" => Some(context.node.name()),
        "dbms_name" => Some(dbms.to_owned()),
        "table_name" => return Ok(Extended::TableName),
        _ => None,
    }))
}
