//! `format = …` in a command whose template says none.

use std::ops::Range;

use edgemere_command::template::{Token, TokenKind, quote};

use super::pieces::{Piece, Pieces};
use super::scan::{Mark, What, Wrong};

/// Where a text is put in, and which.
type Addition = Option<(usize, String)>;

/// Where `format = …` goes into a command that has none.
pub(super) fn added(
    format: &str,
    tokens: &[Token],
    marks: &[Mark],
    query: Option<&Range<usize>>,
    text: &str,
) -> Result<Addition, Wrong> {
    let is_word = |token: &Token, wanted: &str| matches!(&token.kind, TokenKind::Word(word) if word.eq_ignore_ascii_case(wanted));
    let has_format = tokens.windows(2).any(|pair| match pair {
        [key, sign] => is_word(key, "format") && sign.kind == TokenKind::Equals,
        _ => false,
    });
    if has_format {
        return Ok(None);
    }
    let directive = format!("format = {}", quote(format));
    let is_sql = |at: usize| tokens.get(at).is_some_and(|token| is_word(token, "sql"));
    let sql = (0..tokens.len()).find(|at| is_sql(*at)).filter(|_| query.is_some());
    if let Some(dbms) = sql.and_then(|at| tokens.get(at + 1)) {
        let has_options = tokens.iter().any(|token| token.range.start >= dbms.range.end);
        let and = if has_options { " and" } else { "" };
        return Ok(Some((dbms.range.end, format!(" {directive}{and}"))));
    }
    let wheres = outermost(tokens).filter(|token| is_word(token, "where"));
    match wheres.collect::<Vec<_>>().as_slice() {
        [] => Ok(Some((text.trim_end().len(), format!(" where {directive}")))),
        [first, ..] if !is_in_clause(first, marks) => {
            Ok(Some((first.range.end, format!(" {directive} and"))))
        }
        [first, ..] => {
            Err(Wrong::new(first.range.clone(), "\"format\" cannot be put in by itself")
                .with_hint("write \"format = …\" into the template"))
        }
    }
}

/// Whether the format depends on an argument: `format = {a}`.
pub(crate) fn is_open(pieces: &Pieces) -> bool {
    let ends_so = |text: &str| {
        let before = text.trim_end().strip_suffix('=').unwrap_or_default();
        before.trim_end().to_lowercase().ends_with("format")
    };
    let of_clause = |piece: &Piece| match piece {
        Piece::Clause { pieces, .. } => is_open(&Pieces(pieces.clone())),
        _ => false,
    };
    let is_slot_of_it = |pair: &[Piece]| match pair {
        [Piece::Text { text, .. }, Piece::Slot(_)] => ends_so(text),
        _ => false,
    };
    pieces.0.windows(2).any(is_slot_of_it) || pieces.0.iter().any(of_clause)
}

/// The tokens that are in no parentheses.
fn outermost(tokens: &[Token]) -> impl Iterator<Item = &Token> {
    let mut depth = 0_usize;
    tokens.iter().filter(move |token| {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

fn is_in_clause(token: &Token, marks: &[Mark]) -> bool {
    let mut before = marks.iter().filter(|mark| mark.range.end <= token.range.start);
    let last = before.rfind(|mark| matches!(mark.what, What::Open { .. } | What::Close));
    last.is_some_and(|mark| matches!(mark.what, What::Open { .. }))
}

/// The pieces with a text put in at a place, which is between tokens and in no clause.
pub(super) fn with_addition(pieces: Pieces, at: usize, addition: &str) -> Pieces {
    let added = || Piece::Text { text: addition.to_owned(), at: None };
    let mut with = Vec::with_capacity(pieces.0.len() + 2);
    let mut is_added = false;
    for piece in pieces.0 {
        match piece {
            Piece::Text { text, at: Some(start) }
                if !is_added && (start..=start + text.len()).contains(&at) =>
            {
                let (before, after) = text.split_at(at - start);
                with.push(Piece::Text { text: before.to_owned(), at: Some(start) });
                with.push(added());
                with.push(Piece::Text { text: after.to_owned(), at: Some(at) });
                is_added = true;
            }
            Piece::Slot(slot) if !is_added && slot.range.end == at => {
                with.extend([Piece::Slot(slot), added()]);
                is_added = true;
            }
            other => with.push(other),
        }
    }
    if !is_added {
        with.push(added());
    }
    Pieces(with)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::file::surroundings::Surroundings;
    use crate::template::command::compile;
    use crate::template::print::{Manner, print};

    fn filled(template: &str) -> String {
        let pieces = compile(template, Some("mcp"), &Surroundings::empty()).unwrap();
        let arguments = json!({"a": "x y"});
        print(&pieces, arguments.as_object().unwrap(), Manner::Command).unwrap().text
    }

    #[test]
    fn a_format_is_put_in_where_there_is_none() {
        for (template, expected) in [
            ("get status", "get status where format = \"mcp\""),
            (
                "get columns where dbms = {a}",
                "get columns where format = \"mcp\" and dbms = \"x y\"",
            ),
            ("get status where format = json", "get status where format = json"),
            ("sql {a} \"select 1\"", "sql \"x y\" format = \"mcp\" \"select 1\""),
            ("sql d stat = false select 1", "sql d format = \"mcp\" and stat = false \"select 1\""),
            (
                "run client (operator where a = b) get status",
                "run client (operator where a = b) get status where format = \"mcp\"",
            ),
        ] {
            assert_eq!(filled(template), expected);
        }
        let clause = compile("get x [[ where a = {a} ]]", Some("mcp"), &Surroundings::empty());
        assert!(clause.unwrap_err()[0].hint.as_ref().unwrap().contains("into the template"));
    }
}
