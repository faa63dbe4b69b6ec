//! Rows from JSON: a list of objects, one object, or an object a line.
//!
//! A text that begins with `[` is a list. Otherwise it is one object if it is one value to its end,
//! over however many lines; if not, and a value ends with the first line or another line begins with
//! `{`, it is an object a line. Lines without anything are not rows. Where it is known that there is
//! an object a line, nothing is guessed.

use super::cell::Cell;
use super::infer::Texts;
use super::json_scanner::{Fault, Scanner};
use super::row_builder::RowBuilder;
use super::{Decoded, Error, Limits};
use crate::schema::Schema;

/// Reads the rows of a text.
pub(super) fn decode(
    text: &str,
    known: Option<&Schema>,
    limits: &Limits,
) -> Result<Decoded, Error> {
    let mut rows = RowBuilder::new(known, limits);
    let mut scanner = Scanner::new(text, 0);
    let read = match scanner.peek() {
        Some(b'[') => list(text, &mut scanner, &mut rows),
        _ if has_lines(text) => {
            let place = |line, column| format!("at line {line}, column {column}");
            lines(text, &mut rows, place).map_err(Stop::Input)
        }
        _ => one(text, &mut scanner, &mut rows),
    };
    match read {
        Ok(()) => rows.decoded(Texts::Times),
        Err(Stop::Input(error)) => Err(error),
        Err(Stop::Json(fault)) => Err(Error::json(text, fault.at, fault.reason)),
    }
}

/// Reads the rows of a text that is an object a line.
pub(super) fn decode_lines(
    text: &str,
    known: Option<&Schema>,
    limits: &Limits,
) -> Result<Decoded, Error> {
    let mut rows = RowBuilder::new(known, limits);
    // Who sends lines sends some of a file mostly, and knows the line that a row stands in.
    lines(text, &mut rows, |_, column| format!("at column {column}"))?;
    rows.decoded(Texts::Times)
}

/// Why reading stops.
enum Stop {
    Json(Fault),
    Input(Error),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Json(fault)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Input(error)
    }
}

fn list<'a>(
    text: &'a str,
    scanner: &mut Scanner<'a>,
    rows: &mut RowBuilder<'a>,
) -> Result<(), Stop> {
    scanner.expect(b'[', "expected a list")?;
    scanner.items(b']', "expected \",\" or \"]\"", |scanner| {
        scanner.peek();
        let start = scanner.at();
        let is_object = row(scanner, rows)?;
        let element = text.get(start..scanner.at()).unwrap_or_default();
        end_row(is_object, element, rows).map_err(Stop::Input)
    })?;
    Ok(scanner.end()?)
}

fn one<'a>(
    text: &'a str,
    scanner: &mut Scanner<'a>,
    rows: &mut RowBuilder<'a>,
) -> Result<(), Stop> {
    if scanner.peek() != Some(b'{') {
        let reason = "expected a list or an object";
        return Err(Stop::Json(Fault { at: scanner.at(), reason }));
    }
    row(scanner, rows)?;
    scanner.end()?;
    Ok(rows.end_row(text)?)
}

/// Whether a text that is not a list has an object a line.
fn has_lines(text: &str) -> bool {
    let mut scanner = Scanner::new(text, 0);
    scanner.peek();
    let start = scanner.at();
    let value = scanner.value();
    let (value, rest) = match value {
        Ok(_) => (text.get(start..scanner.at()), text.get(scanner.at()..)),
        Err(_) => return text.trim_ascii_start().lines().skip(1).any(|line| line.starts_with('{')),
    };
    let in_one_line = !value.unwrap_or_default().contains('\n');
    in_one_line && rest.unwrap_or_default().trim_ascii_end().contains('\n')
}

fn lines<'a>(
    text: &'a str,
    rows: &mut RowBuilder<'a>,
    place: impl Fn(usize, usize) -> String,
) -> Result<(), Error> {
    for (number, line) in text.split('\n').enumerate() {
        let mut scanner = Scanner::new(line, 0);
        if scanner.peek().is_none() {
            continue;
        }
        let line = line.trim_ascii();
        match row(&mut scanner, rows).and_then(|is_object| scanner.end().map(|()| is_object)) {
            Ok(is_object) => end_row(is_object, line, rows)?,
            Err(Fault { at, reason }) => {
                let reason = match reason {
                    "the input ends too early" => "the line ends too early",
                    other => other,
                };
                let place = place(number + 1, at + 1);
                rows.reject_row(line, format!("not JSON: {reason} {place}"))?;
            }
        }
    }
    Ok(())
}

fn end_row(is_object: bool, text: &str, rows: &mut RowBuilder<'_>) -> Result<(), Error> {
    match is_object {
        true => rows.end_row(text),
        false => rows.reject_row(text, "not an object".to_owned()),
    }
}

/// Puts an object's values into the row at hand. Anything else is passed over, and false.
fn row<'a>(scanner: &mut Scanner<'a>, rows: &mut RowBuilder<'a>) -> Result<bool, Fault> {
    if !scanner.take(b'{') {
        return scanner.value().map(|_: Cell<'_>| false);
    }
    let mut place = 0;
    scanner.items(b'}', "expected \",\" or \"}\"", |scanner| {
        let key = scanner.string()?;
        scanner.expect(b':', "expected \":\"")?;
        rows.put(place, key, scanner.value()?);
        place += 1;
        Ok::<(), Fault>(())
    })?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_from_one_object() {
        for (text, expected) in [
            ("{\"a\":1}", false),
            ("{\"a\":1}\n\n", false),
            ("{\n\"a\":1\n}\n", false),
            ("{\n\"a\":\n{}\n}x", false),
            ("{\"a\":1}\n{\"a\":2}", true),
            ("\n {\"a\":1}\r\n{\"a\":2}\r\n", true),
            ("{\"a\":1} x\n{\"a\":2}", true),
            ("{\"a\":1\n{\"a\":2}", true),
            ("not json\n{\"a\":2}", true),
            ("{\"a\":1}x", false),
            ("{\"timestamp\": ", false),
            ("\n\n{\"timestamp\": ", false),
        ] {
            assert_eq!(has_lines(text), expected, "{text}");
        }
    }
}
