//! What commands with holes are made with, for those who fill holes: the tokens of a text, and each
//! kind of value as text that is read back as that value and nothing else. Where holes are and what
//! fills them is not known here.

use std::ops::Range;

pub use edgemere_query::sql::template as sql;
use serde_json::Value;

use super::cursor::Cursor;
use super::filter::Filter;
use super::lexer::{self, lexeme_at};
use super::options::Output;
use super::term::Term;
use crate::declaration::Declaration;
use crate::destination::is_address;
use crate::error::Error;

pub use super::lexer::quote;

/// A token of a command's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where, in bytes.
    pub range: Range<usize>,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A bare word.
    Word(String),
    /// A quoted text, without its quotes and with its escapes resolved.
    Quoted(String),
    /// `(` or `[`.
    Open,
    /// `)` or `]`.
    Close,
    /// `=`.
    Equals,
    /// Any other sign, or a variable.
    Other,
    /// A quoted text that does not end, or a character that begins nothing.
    Invalid(&'static str),
}

/// The tokens of a text.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut at = 0;
    let next = || {
        let lexeme = lexeme_at(text, at);
        at = lexeme.span.end;
        let kind = match lexeme.token {
            lexer::Token::End => return None,
            lexer::Token::Word(word) => TokenKind::Word(word),
            lexer::Token::Quoted(text) => TokenKind::Quoted(text),
            lexer::Token::Symbol('(' | '[') => TokenKind::Open,
            lexer::Token::Symbol(')' | ']') => TokenKind::Close,
            lexer::Token::Operator("=") => TokenKind::Equals,
            lexer::Token::Symbol(_) | lexer::Token::Operator(_) | lexer::Token::Variable(_) => {
                TokenKind::Other
            }
            lexer::Token::Invalid(reason) => TokenKind::Invalid(reason),
        };
        Some(Token { kind, range: lexeme.span })
    };
    std::iter::from_fn(next).collect()
}

/// A value as it stands in a command: a text in quotes, a number or a boolean as it is, an object as
/// JSON, a list as its items with commas between them.
pub fn value(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Array(values) => {
            let values = values.iter().map(json).collect::<Vec<_>>();
            (!values.is_empty()).then(|| values.join(", "))
        }
        value => Some(json(value)),
    }
}

/// JSON in the quotes of the command language, whose escapes are not all those of JSON.
fn json(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(json).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Object(entries) => {
            let entries: Vec<_> = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", quote(key), json(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

/// A text that is one condition on policies, as `name = x and port > 1`. It is about attributes and
/// values: no variables of the node are in it, and nothing about the looks of the reply.
pub fn condition(text: &str) -> Result<String, Error> {
    let mut cursor = Cursor::new(text);
    let mut output = Output::default();
    let filter = Filter::parse(&mut cursor, &CONDITION, &mut output)?;
    cursor.end()?;
    if output != Output::default() || filter.is_everything() {
        return Err(Cursor::new(text).expected("a condition on policies, as: name = x"));
    }
    match has_variable(&filter) {
        true => Err(Cursor::new(text).expected("a condition without variables")),
        false => Ok(format!("({filter})")),
    }
}

/// What a condition by itself is declared as: nothing more than reading.
const CONDITION: Declaration = Declaration { name: "blockchain get", ..Declaration::READ };

fn has_variable(filter: &Filter) -> bool {
    match filter {
        Filter::All(filters) | Filter::Any(filters) => filters.iter().any(has_variable),
        // Variables could be in JSON as well, which a condition has no need of.
        Filter::Compare { value, .. } => matches!(value, Term::Variable(_) | Term::Json(_)),
    }
}

/// Nodes, as a text or a list of texts: addresses as `IP:PORT`, or names of nodes.
pub fn nodes(value: &Value) -> Option<String> {
    let texts = match value {
        Value::String(text) => vec![text.as_str()],
        Value::Array(values) => values.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    let parts: Vec<_> = texts.iter().flat_map(|text| text.split(',')).map(str::trim).collect();
    let is_named = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
    };
    let are_nodes = parts.iter().all(|part| is_address(part) || is_named(part));
    let quoted: Vec<_> = parts.iter().map(|part| quote(part)).collect();
    (are_nodes && !quoted.is_empty()).then(|| quoted.join(", "))
}

/// Columns that tell where rows come from, as in `extend = (@ip, +NAME)`.
pub fn extensions(value: &Value) -> Option<String> {
    let texts = match value {
        Value::String(text) => text.split(',').map(str::trim).collect(),
        Value::Array(values) => values.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?,
        _ => return None,
    };
    let is_column = |text: &&str| {
        let name = text.strip_prefix(['+', '@']).unwrap_or_default();
        !name.is_empty() && name.chars().all(lexer::is_name_character)
    };
    (!texts.is_empty() && texts.iter().all(is_column)).then(|| texts.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_read_back_as_itself() {
        let texts = ["", "a b", "a\"b", "a\\", "\\\"", "\n\t\r", "!name", "#", ") system ls", "'"];
        for text in texts {
            let written = value(&json!(text)).unwrap();
            let tokens = tokens(&written);
            assert_eq!(tokens.len(), 1, "{written}");
            assert_eq!(tokens[0].kind, TokenKind::Quoted(text.into()));
        }
        assert_eq!(value(&json!(["a", 1])).unwrap(), "\"a\", 1");
        assert_eq!(
            value(&json!({"a": {"b": [true, "c\""]}})).unwrap(),
            r#"{"a": {"b": [true, "c\""]}}"#
        );
        assert_eq!(value(&json!([])), None);
        assert_eq!(value(&json!(null)), None);
    }

    #[test]
    fn a_condition_is_one_and_reads_no_variables() {
        assert_eq!(condition("name = operator1").unwrap(), "([name] = operator1)");
        assert_eq!(
            condition("name = a or [port] > 1 and x contains \"b c\"").unwrap(),
            "([name] = a or ([port] > 1 and [x] contains \"b c\"))"
        );
        for text in [
            "",
            "name",
            "name = a bring.json",
            "name = a) system ls (",
            "name = !password",
            "name = a and format = json",
            "format = json",
            "x = {\"a\": !b}",
            "name = a; drop",
        ] {
            assert!(condition(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nodes_are_addresses_or_names() {
        assert_eq!(
            nodes(&json!("10.0.0.1:32148, plant-1")).unwrap(),
            "\"10.0.0.1:32148\", \"plant-1\""
        );
        assert_eq!(nodes(&json!(["a:1", "b:2"])).unwrap(), "\"a:1\", \"b:2\"");
        for value in
            [json!(""), json!("a:1,"), json!("a) system ls"), json!([1]), json!(1), json!("!x")]
        {
            assert_eq!(nodes(&value), None, "{value}");
        }
    }

    #[test]
    fn extensions_are_words() {
        assert_eq!(extensions(&json!(["@ip", "+node_name"])).unwrap(), "@ip, +node_name");
        for value in [json!("ip"), json!("@"), json!("@ip as x"), json!(["@ip) select"]), json!([])]
        {
            assert_eq!(extensions(&value), None, "{value}");
        }
    }
}
