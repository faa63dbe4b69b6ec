//! SQL templates: SQL with holes, each of which stands as one token or in a text in single quotes.

use std::ops::Range;

use edgemere_command::template::sql::{Standing, inside_tokens, standings};

use super::kind::Kind;
use super::pieces::{Builder, Form, Part, Pieces, Slot, When};
use super::scan::{Condition, Mark, What, Wrong, scan};
use crate::file::surroundings::Surroundings;

/// Makes a template of SQL.
pub(crate) fn compile(text: &str, surroundings: &Surroundings) -> Result<Pieces, Vec<Wrong>> {
    let marks = scan(text, surroundings)?;
    let flat = flatten(text, &marks);
    let not_sql = |error| vec![Wrong::new(0..text.len(), format!("{error}"))];
    let (brackets, holes): (Vec<&Mark>, Vec<&Mark>) =
        marks.iter().partition(|mark| matches!(mark.what, What::Open { .. } | What::Close));
    let mut wrong = misplaced(&flat, &brackets).map_err(not_sql)?;
    let ranges: Vec<Range<usize>> = holes.iter().map(|mark| mark.range.clone()).collect();
    let standings = standings(&flat, &ranges).map_err(not_sql)?;
    let mut slots: Vec<Slot> = Vec::new();
    for (mark, standing) in holes.iter().zip(standings) {
        match standing {
            Some(Standing::Alone) => match alone(text, mark) {
                Ok(slot) => slots.push(slot),
                Err(one) => wrong.push(one),
            },
            Some(Standing::InText(range)) => match in_text(text, &range, &marks) {
                Ok(_) if slots.last().is_some_and(|slot| slot.range == range) => {}
                Ok(slot) => slots.push(slot),
                Err(one) => wrong.push(one),
            },
            None => wrong.push(
                Wrong::new(
                    mark.range.clone(),
                    "a hole stands alone, or in a text in single quotes",
                )
                .with_hint("put spaces around it, and take other quotes and comments away"),
            ),
        }
    }
    match wrong.is_empty() {
        true => Ok(built(text, &marks, slots)),
        false => Err(wrong),
    }
}

/// The text with a name in the place of each hole, and blanks in the places of brackets.
fn flatten(text: &str, marks: &[Mark]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for mark in marks {
        let is_bracket = matches!(mark.what, What::Open { .. } | What::Close);
        for byte in bytes.get_mut(mark.range.clone()).unwrap_or_default() {
            match is_bracket {
                true => *byte = b' ',
                false if byte.is_ascii_alphanumeric() => {}
                false => *byte = b'_',
            }
        }
        // A name begins with no digit.
        if let (false, Some(first)) = (is_bracket, bytes.get_mut(mark.range.start)) {
            *first = b'_';
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

fn misplaced(
    flat: &str,
    brackets: &[&Mark],
) -> Result<Vec<Wrong>, edgemere_command::template::sql::Error> {
    let ranges: Vec<_> = brackets.iter().map(|mark| mark.range.clone()).collect();
    let inside = inside_tokens(flat, &ranges)?;
    let misplaced = ranges.into_iter().zip(inside).filter(|(_, is_inside)| *is_inside);
    let message = "a clause cannot begin or end in a text or in a comment";
    Ok(misplaced.map(|(range, _)| Wrong::new(range, message)).collect())
}

fn alone(text: &str, mark: &Mark) -> Result<Slot, Wrong> {
    let range = mark.range.clone();
    let form = match &mark.what {
        What::Hole { kind, .. } if kind.is_of_commands() => {
            return Err(Wrong::new(range, "this kind of hole is for commands, not for SQL"));
        }
        What::Hole { kind: Kind::Query, .. }
            if text.trim() != text.get(range.clone()).unwrap_or_default() =>
        {
            return Err(Wrong::new(range, "a whole query cannot have SQL around it"));
        }
        What::Hole { kind, name } => Form::Sql { kind: *kind, name: name.clone() },
        What::Constant { text, shown } => {
            Form::SqlText(vec![Part::Constant { text: text.clone(), shown: shown.clone() }])
        }
        What::Open { .. } | What::Close => Form::SqlText(Vec::new()),
    };
    Ok(Slot { range, form })
}

/// A text in quotes that has holes in it.
fn in_text(text: &str, range: &Range<usize>, marks: &[Mark]) -> Result<Slot, Wrong> {
    let written =
        |range: Range<usize>| Part::Text(text.get(range).unwrap_or_default().replace("''", "'"));
    let mut parts = Vec::new();
    let mut at = range.start + 1;
    let is_inside = |mark: &&Mark| range.start < mark.range.start && mark.range.end < range.end;
    for mark in marks.iter().filter(is_inside) {
        parts.push(written(at..mark.range.start));
        parts.push(part(mark)?);
        at = mark.range.end;
    }
    parts.push(written(at..range.end - 1));
    Ok(Slot { range: range.clone(), form: Form::SqlText(parts) })
}

/// A hole in a text.
pub(super) fn part(mark: &Mark) -> Result<Part, Wrong> {
    match &mark.what {
        What::Hole { kind: Kind::Value, name } => Ok(Part::Argument(name.clone())),
        What::Constant { text, shown } => {
            Ok(Part::Constant { text: text.clone(), shown: shown.clone() })
        }
        What::Hole { .. } => Err(Wrong::new(mark.range.clone(), "in a text there are only values")
            .with_hint("take the quotes away")),
        What::Open { .. } | What::Close => Ok(Part::Text(String::new())),
    }
}

/// The pieces of a text whose slots are known.
pub(super) fn built(text: &str, marks: &[Mark], slots: Vec<Slot>) -> Pieces {
    let mut builder = Builder::new(text);
    let mut slots = slots.into_iter().peekable();
    let brackets = marks.iter().filter(|mark| matches!(mark.what, What::Open { .. } | What::Close));
    for bracket in brackets {
        while let Some(slot) = slots.next_if(|slot| slot.range.start < bracket.range.start) {
            builder.slot(slot);
        }
        match &bracket.what {
            What::Open { condition } => {
                builder.open(&bracket.range, when(condition.as_ref(), marks));
            }
            _ => builder.close(&bracket.range),
        }
    }
    slots.for_each(|slot| builder.slot(slot));
    builder.finish()
}

/// What a clause depends on beside its holes. An argument is what it is in its hole.
fn when(condition: Option<&Condition>, marks: &[Mark]) -> When {
    let with_kind = |name: &String| {
        let kind = marks.iter().find_map(|mark| match &mark.what {
            What::Hole { kind, name: hole } if hole == name => Some(*kind),
            _ => None,
        });
        Some((name.clone(), kind.unwrap_or(Kind::Value)))
    };
    match condition {
        Some(Condition::Given(name)) => When { given: with_kind(name), ..When::default() },
        Some(Condition::Absent(name)) => When { absent: with_kind(name), ..When::default() },
        None => When::default(),
    }
}
