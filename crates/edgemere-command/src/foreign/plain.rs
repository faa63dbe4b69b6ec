//! The commands that are sent with the words that they have: those that EdgeLake has too and that read.

use std::ops::Range;

use edgemere_query::sql::edgelake::is_plain;

use super::{Expected, Unsendable};
use crate::commands::Command;
use crate::format::Format;
use crate::language::lexer::{Lexeme, Token, is_bare_word, lexeme_at};

/// The commands that are sent.
const SENT: [&str; 21] = [
    "get columns",
    "get connections",
    "get cpu usage",
    "get data nodes",
    "get databases",
    "get disk usage",
    "get memory info",
    "get metadata version",
    "get node name",
    "get node resources",
    "get partitions",
    "get processes",
    "get rest server info",
    "get rows count",
    "get status",
    "get synchronizer",
    "get tables",
    "get version",
    "test cluster setup",
    "test network",
    "test node",
];

/// Those that EdgeLake tells of in a text only.
const TEXTS: [&str; 4] = ["job status", "job stop", "query status", "query destination"];

/// What `get status` has at its end for more figures.
const STATISTICS: &str = "include statistics";

/// How long a name may be.
const NAME_CHARACTERS_MAX: usize = 128;

/// The texts of a command, and what it answers with.
pub(super) fn texts(command: &Command, text: &str) -> Result<(Vec<String>, Expected), Unsendable> {
    let name = command.declaration().name;
    match name {
        "help" => help(text),
        // EdgeLake knows of a table no more than its columns.
        "get schema" if !directives(&lexemes(text), &["table"]).is_empty() => {
            others(command, &text.replacen(name, "get columns", 1))
        }
        _ if TEXTS.contains(&name) => {
            let text = written(&without(text, &["format", "extract"]))?;
            Ok((vec![text], Expected::Text))
        }
        _ if SENT.contains(&name) => others(command, text),
        _ => Err(not_sent(name)),
    }
}

/// Whether a command is ever sent, by its declared name.
pub(super) fn is_sent(name: &str) -> bool {
    name == "help" || TEXTS.contains(&name) || SENT.contains(&name)
}

fn not_sent(name: &str) -> Unsendable {
    let hint = match name {
        "query explain" => {
            "EdgeLake plans nothing that it does not run: run the query, then look at job_status"
        }
        "get schema" => "EdgeLake lists its tables with blockchain get table",
        "get sample" => "EdgeLake has no such command: SELECT * with a LIMIT shows some rows",
        "query fetch" => {
            "EdgeLake keeps no cursors: ask for fewer columns, aggregates, or a narrower WHERE"
        }
        _ => "use a command that reads and that EdgeLake has too, or a node of Edgemere",
    };
    Unsendable::new(format!("\"{name}\" is not sent to a node of EdgeLake"), hint)
}

/// EdgeLake has `mcp` for some commands and `json` for most.
fn others(command: &Command, text: &str) -> Result<(Vec<String>, Expected), Unsendable> {
    let text = written(&without(text, &["extract"]))?;
    let format = command.output().format;
    let expected = match format {
        None | Some(Format::Table) => Expected::Text,
        Some(_) => Expected::Json,
    };
    let mut texts = vec![text];
    if matches!(format, Some(Format::Mcp | Format::McpColumns)) {
        let as_json: Vec<_> =
            texts.iter().filter_map(|text| with_format(text, Format::Json.name())).collect();
        texts.extend(as_json);
    }
    // Only a fork of EdgeLake has statistics; without them is better than nothing.
    let bare: Vec<_> = texts
        .iter()
        .filter_map(|text| text.trim_end().strip_suffix(STATISTICS))
        .map(|text| text.trim_end().to_owned())
        .collect();
    texts.extend(bare);
    Ok((texts, expected))
}

/// Help: the name of a command stands there without quotes.
fn help(text: &str) -> Result<(Vec<String>, Expected), Unsendable> {
    let mut words = vec!["help".to_owned()];
    for lexeme in lexemes(&without(text, &["format", "extract"])).into_iter().skip(1) {
        let (Token::Word(topic) | Token::Quoted(topic)) = lexeme.token else {
            return Err(Unsendable::value(text));
        };
        let is_topic = topic.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ' || c == '_');
        match is_topic {
            true => words.extend(topic.split_whitespace().map(str::to_lowercase)),
            false => return Err(Unsendable::value(&topic)),
        }
    }
    let plain = words.join(" ");
    match words.get(1).map(String::as_str) {
        Some("index") => Ok((vec![plain], Expected::Text)),
        _ => Ok((vec![format!("{plain} where format = mcp"), plain], Expected::Json)),
    }
}

/// A name of letters, digits, `_` and `-`.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.len() <= NAME_CHARACTERS_MAX
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        && !text.contains("--")
}

/// Whether EdgeLake reads nothing but a value in it.
fn is_value(text: &str) -> bool {
    text == "*" || (is_plain(text) && !text.contains(['(', ')', ',', '%', '&', '*']))
}

/// A text on one line whose values are plain: a word as a word, several in quotes.
fn written(text: &str) -> Result<String, Unsendable> {
    let mut plain = String::with_capacity(text.len());
    for lexeme in lexemes(text) {
        let written = text.get(lexeme.span.clone()).unwrap_or_default();
        let gap = text.get(..lexeme.span.start).is_some_and(|t| t.ends_with(char::is_whitespace));
        if gap && !plain.is_empty() {
            plain.push(' ');
        }
        match &lexeme.token {
            Token::Word(value) | Token::Quoted(value) if !is_value(value) => {
                return Err(Unsendable::value(value));
            }
            Token::Quoted(value) if !is_bare_word(value) => plain.push_str(&format!("\"{value}\"")),
            Token::Word(value) | Token::Quoted(value) => plain.push_str(value),
            Token::Symbol('(' | ')' | '[' | ']' | ',') | Token::Operator(_) => {
                plain.push_str(written);
            }
            _ => return Err(Unsendable::value(written)),
        }
    }
    Ok(plain)
}

fn lexemes(text: &str) -> Vec<Lexeme> {
    let mut at = 0;
    let next = || {
        let lexeme = lexeme_at(text, at);
        at = lexeme.span.end;
        (lexeme.token != Token::End).then_some(lexeme)
    };
    std::iter::from_fn(next).collect()
}

/// The places of `key = value`, in lexemes. An attribute of such a name would stand in brackets.
fn directives(lexemes: &[Lexeme], keys: &[&str]) -> Vec<Range<usize>> {
    let is_directive = |at: usize| {
        let word = |at: usize| lexemes.get(at).map(|lexeme| &lexeme.token);
        let is_key = matches!(word(at), Some(Token::Word(key)) if is_one_of(key, keys));
        let is_bracketed = at > 0 && word(at - 1) == Some(&Token::Symbol('['));
        is_key && !is_bracketed && word(at + 1) == Some(&Token::Operator("="))
    };
    let starts = (0..lexemes.len()).filter(|at| is_directive(*at));
    starts.map(|at| at..(at + 3).min(lexemes.len())).collect()
}

fn is_one_of(word: &str, keys: &[&str]) -> bool {
    keys.iter().any(|key| word.eq_ignore_ascii_case(key))
}

/// The text without these directives, and without the words that joined them to the rest.
fn without(text: &str, keys: &[&str]) -> String {
    let mut text = text.to_owned();
    loop {
        let lexemes = lexemes(&text);
        let Some(place) = directives(&lexemes, keys).into_iter().next() else { return text };
        let is_word = |at: Option<usize>, word: &str| {
            let lexeme = at.and_then(|at| lexemes.get(at)).map(|lexeme| &lexeme.token);
            matches!(lexeme, Some(Token::Word(found)) if found.eq_ignore_ascii_case(word))
        };
        let before = place.start.checked_sub(1);
        let (mut first, mut last) = (place.start, place.end - 1);
        if is_word(before, "and") {
            first -= 1;
        } else if is_word(Some(place.end), "and") {
            last += 1;
        } else if is_word(before, "where") {
            first -= 1;
        }
        let span = |at: usize| lexemes.get(at).map(|lexeme| lexeme.span.clone());
        let (Some(first), Some(last)) = (span(first), span(last)) else { return text };
        text.replace_range(first.start..last.end, "");
    }
}

/// The text with another format in the place of its own; none when it has none.
fn with_format(text: &str, format: &str) -> Option<String> {
    let lexemes = lexemes(text);
    let place = directives(&lexemes, &["format"]).into_iter().next()?;
    let value = lexemes.get(place.end - 1)?.span.clone();
    let mut text = text.to_owned();
    text.replace_range(value, format);
    Some(text)
}
