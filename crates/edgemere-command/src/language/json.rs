//! JSON as it is written in commands: as everywhere, but also with single quotes, and with
//! variables as values (`{"device": {"name": !name}}`). Plain JSON is read by serde_json, so that
//! its escapes are the standard's; only what it refuses is read here.

use std::fmt;

use serde_json::{Map, Number, Value};

use super::cursor::Cursor;
use super::lexer::{Token, quote};
use crate::error::Error;

/// JSON with variables in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    Variable(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The value with the variables' values in it, which `variable` gives.
    pub(crate) fn value(
        &self,
        variable: &mut impl FnMut(&str) -> Result<Value, Error>,
    ) -> Result<Value, Error> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone()),
            Self::Variable(name) => variable(name)?,
            Self::List(items) => {
                let items = items.iter().map(|item| item.value(variable));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Self::Object(entries) => {
                let mut object = Map::with_capacity(entries.len());
                for (key, value) in entries {
                    object.insert(key.clone(), value.value(variable)?);
                }
                Value::Object(object)
            }
        })
    }

    /// The names of the variables in it.
    pub(crate) fn variables(&self) -> Vec<&str> {
        match self {
            Self::Variable(name) => vec![name],
            Self::List(items) => items.iter().flat_map(Self::variables).collect(),
            Self::Object(entries) => {
                entries.iter().flat_map(|(_, value)| value.variables()).collect()
            }
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => Vec::new(),
        }
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Number(number) => Self::Number(number),
            Value::String(text) => Self::Text(text),
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Object(object) => {
                Self::Object(object.into_iter().map(|(k, v)| (k, Self::from(v))).collect())
            }
        }
    }
}

/// Takes an object or a list, whose `{` or `[` is next.
pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Json, Error> {
    match plain(cursor) {
        Some(json) => Ok(json),
        None => value(cursor),
    }
}

/// Takes plain JSON, if it is next.
fn plain(cursor: &mut Cursor<'_>) -> Option<Json> {
    let (source, offset) = cursor.source();
    let mut values = serde_json::Deserializer::from_str(source.get(offset..)?).into_iter::<Value>();
    let value = values.next()?.ok()?;
    cursor.advance_to(offset + values.byte_offset());
    Some(Json::from(value))
}

fn object(cursor: &mut Cursor<'_>) -> Result<Json, Error> {
    cursor.nested(|cursor| {
        cursor.expect_symbol('{')?;
        let mut entries: Vec<(String, Json)> = Vec::new();
        while !cursor.symbol('}') {
            let key = entry_key(cursor, &entries)?;
            entries.push((key, value(cursor)?));
            if !cursor.symbol(',') && cursor.peek().token != Token::Symbol('}') {
                return Err(cursor.expected("\",\" or \"}\""));
            }
        }
        Ok(Json::Object(entries))
    })
}

/// Takes an entry's key and its colon. The lexer knows no colon, so `"a":` is a quoted text and
/// then a word that begins with one.
fn entry_key(cursor: &mut Cursor<'_>, entries: &[(String, Json)]) -> Result<String, Error> {
    let Token::Quoted(key) = cursor.peek().token else {
        return Err(cursor.expected("a key in quotes"));
    };
    if entries.iter().any(|(known, _)| *known == key) {
        return Err(cursor.expected("a key that the object does not have yet"));
    }
    cursor.take();
    let (source, offset) = cursor.source();
    if !source.get(offset..).is_some_and(|rest| rest.starts_with(':')) {
        return Err(cursor.expected("\":\""));
    }
    cursor.advance_to(offset + 1);
    Ok(key)
}

fn value(cursor: &mut Cursor<'_>) -> Result<Json, Error> {
    let json = match cursor.peek().token {
        Token::Symbol('{') => return object(cursor),
        Token::Symbol('[') => return list(cursor),
        Token::Quoted(text) => Json::Text(quoted_text(cursor, text)),
        Token::Variable(name) => Json::Variable(name),
        Token::Word(word) => scalar(&word).ok_or_else(|| cursor.expected("a JSON value"))?,
        _ => return Err(cursor.expected("a JSON value")),
    };
    cursor.take();
    Ok(json)
}

/// A text with JSON's own escapes, where it is written as JSON writes it.
fn quoted_text(cursor: &Cursor<'_>, text: String) -> String {
    let (source, _) = cursor.source();
    let written = source.get(cursor.peek().span);
    written.and_then(|written| serde_json::from_str(written).ok()).unwrap_or(text)
}

fn list(cursor: &mut Cursor<'_>) -> Result<Json, Error> {
    cursor.nested(|cursor| {
        cursor.expect_symbol('[')?;
        let mut items = Vec::new();
        while !cursor.symbol(']') {
            items.push(value(cursor)?);
            if !cursor.symbol(',') && cursor.peek().token != Token::Symbol(']') {
                return Err(cursor.expected("\",\" or \"]\""));
            }
        }
        Ok(Json::List(items))
    })
}

fn scalar(word: &str) -> Option<Json> {
    match word {
        "null" | "None" => Some(Json::Null),
        "true" | "True" => Some(Json::Bool(true)),
        "false" | "False" => Some(Json::Bool(false)),
        number => serde_json::from_str(number).ok().map(Json::Number),
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(&quote(text)),
            Self::Variable(name) => write!(f, "!{name}"),
            Self::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{item}")?;
                }
                f.write_str("]")
            }
            Self::Object(entries) => {
                f.write_str("{")?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{}: {value}", quote(key))?;
                }
                f.write_str("}")
            }
        }
    }
}
