//! Commands for a node of EdgeLake: the text that it understands, and what makes of its reply the one that
//! a node of ours would have given. It knows no network; who asks is elsewhere.
//!
//! EdgeLake takes `format` and `extract` for conditions in `blockchain get`, has no `format = mcp` for
//! `sql`, and does not resolve escapes in quoted values. So looks are given here, queries are asked as
//! `format = json`, and a value that would need an escape is not sent.

use std::ops::Range;
use std::sync::Arc;

use edgemere_ledger::Policy;
use serde_json::Value;

use crate::commands::Command;
use crate::format::{Format, Rendered, render_small};
use crate::language::lexer::{Lexeme, Token, lexeme_at};
use crate::language::options::Output;
use crate::reply::Reply;

/// A command for a node of EdgeLake.
#[derive(Clone, Debug)]
pub struct Foreign {
    texts: Vec<String>,
    reply: Expected,
    output: Output,
}

/// What its reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The rows of a query, as `{"Query": [{…}], "Statistics": [{…}]}`.
    Rows,
    /// A list of policies, or of what was taken out of them.
    Policies,
    /// JSON.
    Json,
    /// Text for people.
    Text,
}

/// A value that EdgeLake would not read as one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a node of EdgeLake cannot be given the value {value:?}: it has quotes, backslashes or lines"
)]
pub struct Unsendable {
    /// The value.
    pub value: String,
}

impl Foreign {
    /// What a command is to EdgeLake.
    pub fn of(command: &Command, text: &str) -> Result<Self, Unsendable> {
        let output = command.output().clone();
        let (texts, reply) = match command.declaration().name {
            "sql" => (vec![query(&command.to_string())?], Expected::Rows),
            "blockchain get" => (vec![plain(&without(text, &output_keys()))?], Expected::Policies),
            _ => others(text, &output)?,
        };
        Ok(Self { texts, reply, output })
    }

    /// The texts to try: the next one when EdgeLake does not take one.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// What the reply is.
    pub fn expected(&self) -> Expected {
        self.reply
    }

    /// A reply with the looks that were asked for.
    pub fn shaped(&self, reply: Value) -> Rendered {
        let reply = match self.reply {
            Expected::Policies => policies(reply),
            _ => Reply::value(reply),
        };
        render_small(reply, &self.output)
    }
}

fn policies(reply: Value) -> Reply {
    let list = reply.as_array().into_iter().flatten().cloned();
    let policies = list.map(|policy| Policy::from_value(policy).map(Arc::new));
    match policies.collect::<Result<Vec<_>, _>>() {
        Ok(policies) if reply.is_array() => Reply::policies(policies),
        // What `bring` took out of policies is no policy any more.
        _ => Reply::value(reply),
    }
}

fn output_keys() -> [&'static str; 2] {
    ["format", "extract"]
}

/// EdgeLake has `mcp` for some commands and `json` for most.
fn others(text: &str, output: &Output) -> Result<(Vec<String>, Expected), Unsendable> {
    let text = plain(&without(text, &["extract"]))?;
    let expected = match output.format {
        None | Some(Format::Table) => Expected::Text,
        Some(_) => Expected::Json,
    };
    let mut texts = vec![text];
    if matches!(output.format, Some(Format::Mcp | Format::McpColumns)) {
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

/// What `get status` has at its end for more figures.
const STATISTICS: &str = "include statistics";

/// `sql DBMS [options] "SELECT …"` as EdgeLake reads it: as JSON with statistics, and the query as it is.
fn query(canonical: &str) -> Result<String, Unsendable> {
    let text = without(canonical, &["format", "stat", "limit", "batch_rows"]);
    let lexemes = lexemes(&text);
    let (Some(dbms), Some(sql)) = (lexemes.get(1), lexemes.last()) else { return Ok(text) };
    let Token::Quoted(statement) = &sql.token else { return Ok(text) };
    let part = |range: Range<usize>| text.get(range).unwrap_or_default().trim();
    let options = part(dbms.span.end..sql.span.start);
    let and = if options.is_empty() { "" } else { " and " };
    let front = format!("sql {} format = json{and}{options}", part(dbms.span.clone()));
    let front = plain(&front)?;
    Ok(format!("{front} {}", statement_of(statement)?))
}

/// A statement on one line, its plain names without quotes: EdgeLake knows no quoted names.
fn statement_of(sql: &str) -> Result<String, Unsendable> {
    let unsendable = || Unsendable { value: sql.to_owned() };
    let mut statement = String::with_capacity(sql.len());
    let mut rest = sql.trim().trim_end_matches(';');
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '\'' | '"' => closed(rest, first).ok_or_else(unsendable)?,
            _ => first.len_utf8(),
        };
        let (piece, after) = rest.split_at_checked(end).ok_or_else(unsendable)?;
        match first {
            '"' => statement.push_str(plain_name(piece).ok_or_else(unsendable)?),
            '\'' if piece.chars().any(char::is_control) => return Err(unsendable()),
            c if c.is_whitespace() => statement.push(' '),
            _ => statement.push_str(piece),
        }
        rest = after;
    }
    Ok(statement)
}

/// Where the quoted text ends that a text begins with; a doubled quote is one of its characters.
fn closed(text: &str, quote: char) -> Option<usize> {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character == quote && characters.next_if(|(_, next)| *next == quote).is_none() {
            return Some(at + quote.len_utf8());
        }
    }
    None
}

/// The name in quotes, when it is the same without them.
fn plain_name(quoted: &str) -> Option<&str> {
    let name = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    (begins && name.chars().all(is_plain)).then_some(name)
}

/// A text on one line whose quoted values are what stands between their quotes, also for a reader that
/// resolves no escapes.
fn plain(text: &str) -> Result<String, Unsendable> {
    let mut plain = String::with_capacity(text.len());
    for lexeme in lexemes(text) {
        let written = text.get(lexeme.span.clone()).unwrap_or_default();
        if let Token::Quoted(value) = &lexeme.token
            && value.contains(|c: char| c == '"' || c == '\\' || c.is_control())
        {
            return Err(Unsendable { value: value.clone() });
        }
        let gap = text.get(..lexeme.span.start).is_some_and(|t| t.ends_with(char::is_whitespace));
        if gap && !plain.is_empty() {
            plain.push(' ');
        }
        match &lexeme.token {
            Token::Quoted(value) => plain.push_str(&format!("\"{value}\"")),
            _ => plain.push_str(written),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::dispatch::parse;

    fn foreign(text: &str) -> Foreign {
        Foreign::of(&parse(text).unwrap(), text).unwrap()
    }

    async fn shaped(command: &str, reply: Value) -> Value {
        let text = foreign(command).shaped(reply).into_text().await.unwrap();
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_query_is_asked_as_json_with_its_names_bare() {
        let cases = [
            (
                "sql new_company format = mcp:columns \"SELECT max(\\\"value\\\") FROM \\\"rand_data\\\"\"",
                "sql new_company format = json SELECT max(value) FROM rand_data",
            ),
            (
                "sql d timezone = utc and stat = false and format = mcp select 'it''s \"so\"' from t",
                "sql d format = json and timezone = utc select 'it''s \"so\"' from t",
            ),
            ("sql d select a\n  from t;", "sql d format = json select a   from t"),
        ];
        for (ours, theirs) in cases {
            assert_eq!(foreign(ours).texts(), [theirs]);
            assert_eq!(foreign(ours).expected(), Expected::Rows);
        }
    }

    #[test]
    fn looks_are_no_conditions_for_edgelake() {
        let cases = [
            ("blockchain get table where format = mcp", "blockchain get table"),
            (
                "blockchain get table where dbms = \"new_company\" and format = mcp",
                "blockchain get table where dbms = \"new_company\"",
            ),
            (
                "blockchain get table where format = mcp and extract = dbms and [format] = x",
                "blockchain get table where [format] = x",
            ),
            (
                "blockchain get operator bring.json [operator][name] where format = json",
                "blockchain get operator bring.json [operator][name]",
            ),
        ];
        for (ours, theirs) in cases {
            assert_eq!(foreign(ours).texts(), [theirs], "{ours}");
        }
    }

    #[test]
    fn what_has_no_mcp_there_is_tried_as_json() {
        let asked = foreign("get columns where dbms = d and table = t and format = mcp");
        let texts = [
            "get columns where dbms = d and table = t and format = mcp",
            "get columns where dbms = d and table = t and format = json",
        ];
        assert_eq!(
            (asked.texts(), asked.expected()),
            (&texts.map(String::from)[..], Expected::Json)
        );
        assert_eq!(foreign("get status").expected(), Expected::Text);
        let asked = foreign("get status where format = mcp include statistics");
        let texts = [
            "get status where format = mcp include statistics",
            "get status where format = json include statistics",
            "get status where format = mcp",
            "get status where format = json",
        ];
        assert_eq!(asked.texts(), texts);
    }

    #[test]
    fn a_value_that_edgelake_would_read_as_more_is_not_sent() {
        for hostile in [
            r#"get columns where dbms = "x\" system ls" and table = t"#,
            r#"get columns where dbms = 'x" system ls' and table = t"#,
            r#"get columns where dbms = "x\nsystem ls" and table = t"#,
            r#"sql d select "a b" from t"#,
            "sql d select 'a\nb' from t",
        ] {
            let sent = Foreign::of(&parse(hostile).unwrap(), hostile);
            assert!(sent.is_err(), "{hostile}: {sent:?}");
        }
    }

    #[tokio::test]
    async fn policies_get_the_looks_that_edgelake_does_not_have() {
        let tables = json!([
            {"table": {"name": "b", "dbms": "d"}}, {"table": {"name": "a", "dbms": "d"}},
        ]);
        let list = shaped("blockchain get table where format = mcp", tables.clone()).await;
        assert_eq!(list, json!([{"database": "d", "table": "a"}, {"database": "d", "table": "b"}]));
        let names =
            shaped("blockchain get table where format = mcp and extract = dbms", tables).await;
        assert_eq!(names, json!(["d"]));
        let brought = json!([{"name": "operator1", "ip": "127.0.0.1"}]);
        let command = "blockchain get operator bring.json [*][name] [*][ip] where format = mcp";
        assert_eq!(shaped(command, brought.clone()).await, brought);
    }
}
