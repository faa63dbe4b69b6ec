//! Command templates: the text of a command with holes, each of which is one value, or stands in a
//! text that is one value. SQL in a command is a template of its own.

use std::ops::Range;

use edgemere_command::template::{Token, TokenKind, tokens};

use super::pieces::{Form, Part, Pieces, Slot};
use super::scan::{Mark, What, Wrong, scan};
use super::{format, sql};
use crate::file::surroundings::Surroundings;

/// What stands at both ends of a hole in the text that the lexer reads: they are letters to it.
const BEGIN: char = '\u{1}';
const END: char = '\u{2}';

/// Makes a template of a command. `format` is put in where the template says none.
pub(crate) fn compile(
    text: &str,
    format: Option<&str>,
    surroundings: &Surroundings,
) -> Result<Pieces, Vec<Wrong>> {
    let marks = scan(text, surroundings)?;
    let flat = flatten(text, &marks);
    let tokens = tokens(&flat);
    let query = query_range(&flat, &tokens);
    let tokens: Vec<Token> = match &query {
        Some(query) => tokens.into_iter().filter(|token| token.range.end <= query.start).collect(),
        None => tokens,
    };
    let is_outside = |mark: &&Mark| query.as_ref().is_none_or(|q| mark.range.end <= q.start);
    let marks: Vec<Mark> = marks.iter().filter(is_outside).cloned().collect();
    let mut wrong = misplaced(&flat, &tokens, &marks);
    let mut slots = slots(&tokens, &marks, &mut wrong);
    if let Some(range) = &query {
        match query_slot(text, range.clone(), surroundings) {
            Ok(slot) => slots.push(slot),
            Err(errors) => wrong.extend(errors),
        }
    }
    let added = format.map(|format| format::added(format, &tokens, &marks, query.as_ref(), text));
    match (wrong.is_empty(), added.transpose()) {
        (true, Ok(added)) => {
            let pieces = sql::built(text, &marks, slots);
            Ok(match added.flatten() {
                Some((at, addition)) => format::with_addition(pieces, at, &addition),
                None => pieces,
            })
        }
        (_, added) => {
            wrong.extend(added.err());
            Err(wrong)
        }
    }
}

/// The text as the lexer can read it, of the same length: a word in the place of each hole, blanks in
/// the places of brackets.
fn flatten(text: &str, marks: &[Mark]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for mark in marks {
        let place = bytes.get_mut(mark.range.clone()).unwrap_or_default();
        match mark.what {
            What::Open { .. } | What::Close => place.fill(b' '),
            What::Hole { .. } | What::Constant { .. } => {
                place.fill(b'x');
                if let [first, .., last] = place {
                    (*first, *last) = (BEGIN as u8, END as u8);
                }
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Where the SQL of a command stands: in quotes, as a hole for a whole query, or from its first word
/// to the end.
fn query_range(flat: &str, tokens: &[Token]) -> Option<Range<usize>> {
    let word = |at: usize| match tokens.get(at).map(|token| &token.kind) {
        Some(TokenKind::Word(word)) => word.to_ascii_lowercase(),
        _ => String::new(),
    };
    let is_command = |at: usize| {
        let is_first = at == 0 || tokens.get(at - 1).is_some_and(|t| t.kind == TokenKind::Close);
        let is_explained = at >= 2 && word(at - 2) == "query" && word(at - 1) == "explain";
        word(at) == "sql" && (is_first || is_explained)
    };
    let command = (0..tokens.len()).find(|at| is_command(*at))?;
    let after = command + 2..tokens.len();
    let begins = |at: &usize| matches!(word(*at).as_str(), "select" | "with");
    if let Some(first) = after.clone().find(begins).and_then(|at| tokens.get(at)) {
        return Some(first.range.start..flat.trim_end().len());
    }
    let last = tokens.get(after.last()?)?;
    let is_query = match &last.kind {
        TokenKind::Quoted(_) => true,
        TokenKind::Word(word) => word.starts_with(BEGIN) && word.ends_with(END),
        _ => false,
    };
    is_query.then(|| last.range.clone())
}

fn query_slot(
    text: &str,
    range: Range<usize>,
    surroundings: &Surroundings,
) -> Result<Slot, Vec<Wrong>> {
    let written = text.get(range.clone()).unwrap_or_default();
    let read = match tokens(written).first().map(|token| &token.kind) {
        Some(TokenKind::Quoted(sql)) => Some(sql.clone()),
        _ => None,
    };
    let (sql, at) = match &read {
        // Without escapes the SQL stands in the template as it is read, after the quote.
        Some(sql) if sql.len() + 2 == written.len() => (sql.as_str(), Some(range.start + 1)),
        Some(sql) => (sql.as_str(), None),
        None => (written, Some(range.start)),
    };
    let moved = |wrong: Wrong| match at {
        Some(at) => Wrong { range: wrong.range.start + at..wrong.range.end + at, ..wrong },
        None => Wrong { range: range.clone(), ..wrong },
    };
    match sql::compile(sql, surroundings) {
        Ok(pieces) => Ok(Slot { range, form: Form::Query { pieces, at } }),
        Err(errors) => Err(errors.into_iter().map(moved).collect()),
    }
}

fn misplaced(flat: &str, tokens: &[Token], marks: &[Mark]) -> Vec<Wrong> {
    let invalid = tokens.iter().filter_map(|token| match &token.kind {
        TokenKind::Invalid(reason) => {
            Some(Wrong::new(token.range.clone(), format!("the template has {reason}")))
        }
        _ => None,
    });
    let mut wrong: Vec<Wrong> = invalid.collect();
    for mark in marks {
        let is_bracket = matches!(mark.what, What::Open { .. } | What::Close);
        let message = match (is_bracket, token_at(tokens, mark)) {
            (true, Some(_)) => "a clause cannot begin or end in a quoted text",
            (_, None) if is_in_comment(flat, tokens, mark) => "this does nothing in a comment",
            _ => continue,
        };
        wrong.push(Wrong::new(mark.range.clone(), message));
    }
    wrong
}

/// Whether a mark that is in no token is in a comment, which ends with its line.
fn is_in_comment(flat: &str, tokens: &[Token], mark: &Mark) -> bool {
    let before = tokens.iter().take_while(|token| token.range.end <= mark.range.start).last();
    let gap = flat.get(before.map_or(0, |token| token.range.end)..mark.range.start);
    let line = gap.unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    line.contains('#')
}

fn token_at<'a>(tokens: &'a [Token], mark: &Mark) -> Option<&'a Token> {
    let overlaps =
        |token: &&Token| token.range.start < mark.range.end && mark.range.start < token.range.end;
    tokens.iter().find(overlaps)
}

fn slots(tokens: &[Token], marks: &[Mark], wrong: &mut Vec<Wrong>) -> Vec<Slot> {
    let mut slots = Vec::new();
    for token in tokens.iter().filter(|token| !matches!(token.kind, TokenKind::Invalid(_))) {
        let holes: Vec<_> = marks
            .iter()
            .filter(|mark| matches!(mark.what, What::Hole { .. } | What::Constant { .. }))
            .filter(|mark| token_at(std::slice::from_ref(token), mark).is_some())
            .collect();
        if !holes.is_empty() {
            match slot(token, &holes) {
                Ok(slot) => slots.push(slot),
                Err(one) => wrong.push(one),
            }
        }
    }
    slots
}

fn slot(token: &Token, holes: &[&Mark]) -> Result<Slot, Wrong> {
    let range = token.range.clone();
    if let ([Mark { what: What::Hole { kind, name }, range: hole }], TokenKind::Word(_)) =
        (holes, &token.kind)
        && *hole == range
    {
        if kind.is_of_sql() {
            return Err(Wrong::new(range, "this kind of hole is for SQL, not for commands"));
        }
        return Ok(Slot { range, form: Form::Command { kind: *kind, name: name.clone() } });
    }
    let (TokenKind::Word(text) | TokenKind::Quoted(text)) = &token.kind else {
        return Err(Wrong::new(range, "a hole cannot stand here"));
    };
    let mut parts = Vec::new();
    let mut rest = text.as_str();
    for hole in holes {
        let (before, after) = rest.split_once(BEGIN).unwrap_or((rest, ""));
        parts.push(Part::Text(before.to_owned()));
        parts.push(sql::part(hole)?);
        rest = after.split_once(END).map_or("", |(_, rest)| rest);
    }
    parts.push(Part::Text(rest.to_owned()));
    Ok(Slot { range, form: Form::CommandText(parts) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::template::print::{Manner, print};

    fn filled(template: &str) -> String {
        let pieces = compile(template, None, &Surroundings::empty()).unwrap();
        let arguments = json!({"a": "x y", "n": 5, "list": ["p", "q"], "sql": "select 1"});
        print(&pieces, arguments.as_object().unwrap(), Manner::Command).unwrap().text
    }

    #[test]
    fn an_argument_is_one_token_or_a_part_of_one() {
        for (template, expected) in [
            ("get columns where dbms = {a}", "get columns where dbms = \"x y\""),
            ("job stop {n}", "job stop 5"),
            ("get columns where dbms=\"{a}\"", "get columns where dbms=\"x y\""),
            ("x pre_{a}.{n}", "x \"pre_x y.5\""),
            ("x 'it\\'s {a}' [*][{a}]", "x \"it's x y\" [*][\"x y\"]"),
            ("blockchain get ({list})", "blockchain get (\"p\", \"q\")"),
            ("sql d {q:sql}", "sql d \"select 1\""),
            ("sql d select {n}, '{a}' from t", "sql d \"select 5, 'x y' from t\""),
            (
                "run client (a:1) sql {a} \"select {n}\"",
                "run client (a:1) sql \"x y\" \"select 5\"",
            ),
        ] {
            assert_eq!(filled(template), expected);
        }
    }

    #[test]
    fn what_stands_wrongly_is_told_with_its_place() {
        let wrong = |template: &str| {
            let wrong = compile(template, None, &Surroundings::empty()).unwrap_err();
            let place = |one: &Wrong| template.get(one.range.clone()).unwrap().to_owned();
            wrong.iter().map(place).collect::<Vec<_>>()
        };
        assert_eq!(wrong("get status # {a}"), ["{a}"]);
        assert_eq!(wrong("get status # [[?a b ]]\n where"), ["[[?a ", "]]"]);
        assert_eq!(wrong("get {t:a}"), ["{t:a}"]);
        assert_eq!(wrong("sql d \"select {n:a}\""), ["{n:a}"]);
        assert_eq!(wrong("sql d \"select 1 {q:a}\""), ["{q:a}"]);
        assert_eq!(wrong("get \"{a}"), ["\"{a}"]);
    }
}
