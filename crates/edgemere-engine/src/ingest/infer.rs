//! The type of a new column, from the values of all its rows.
//!
//! As EdgeLake does it, but from all rows and so that no value is changed by its column:
//! - whole numbers: `int` up to 32 bits, `bigint` up to 64, `numeric(38,0)` up to 38 digits;
//! - numbers of which one has a fraction or an exponent, or, in a CSV, is `NaN` or infinite: `decimal`;
//! - numbers that would lose digits that way (a whole number of 39 digits; one beyond 2^53 that a
//!   float cannot hold, among fractions; an exponent beyond a float's): `varchar`, by their own text;
//! - `true` and `false`: `boolean`;
//! - texts that all are timestamps, dates or times of day: that; timestamps and dates: `timestamp`, or
//!   `timestamp(9)` when one has digits beyond microseconds and all are between 1677 and 2262;
//! - other texts: `char(N)` when all are N characters long, from 1 to [`CHAR_LENGTH_MAX`], else
//!   `varchar`;
//! - nothing but nulls, lists and objects, or a mix of the above: `varchar`.
//!
//! A text of JSON is never a number or a boolean. A field of a CSV is if it is written as in JSON, so
//! that `007` and `+49` stay text.

use super::cell::Cell;
use super::number;
use super::scan::Scanner;
use super::time::{self, Form};
use crate::schema::Kind;

/// The longest text that makes a `char(N)`.
pub const CHAR_LENGTH_MAX: u32 = 64;

/// What texts may be besides text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Texts {
    /// Times only: numbers and booleans are written in another way.
    Times,
    /// Anything: there is no other way.
    Anything,
    /// Nothing: the input says what is text.
    Plain,
}

const BOOLEAN: u16 = 1;
const INT: u16 = 1 << 1;
const BIGINT: u16 = 1 << 2;
const HUGE: u16 = 1 << 3;
const FRACTION: u16 = 1 << 4;
/// A whole number that is none as a float.
const INEXACT: u16 = 1 << 5;
/// A number that no column of numbers holds.
const BEYOND: u16 = 1 << 6;
const TIMESTAMP: u16 = 1 << 7;
const DATE: u16 = 1 << 8;
const TIME: u16 = 1 << 9;
const TEXT: u16 = 1 << 10;
const NESTED: u16 = 1 << 11;
/// `NaN` and the infinities in a CSV: numbers among numbers, and else text.
const SPECIAL: u16 = 1 << 12;
/// A timestamp with digits beyond microseconds.
const NANOS: u16 = 1 << 13;
/// A timestamp that cannot be counted in nanoseconds.
const FAR: u16 = 1 << 14;

const WHOLE: u16 = INT | BIGINT | HUGE | INEXACT;
const NUMBERS: u16 = WHOLE | FRACTION;
const TIMESTAMPS: u16 = TIMESTAMP | NANOS | FAR;
const TEXTS: u16 = TIMESTAMPS | DATE | TIME | TEXT;

/// The type for the cells of a column, or none if all of them are missing.
pub(super) fn kind<'a>(cells: impl Iterator<Item = Cell<'a>>, texts: Texts) -> Option<Kind> {
    let mut present = false;
    let mut seen = Seen::default();
    for cell in cells {
        present |= cell != Cell::Missing;
        seen.look(cell, texts);
        if seen.is_varchar() {
            return Some(Kind::Varchar);
        }
    }
    present.then(|| seen.kind())
}

/// What was seen of a column.
#[derive(Default)]
struct Seen {
    classes: u16,
    /// The characters of the first text.
    length: Option<usize>,
    lengths_differ: bool,
}

impl Seen {
    fn look(&mut self, cell: Cell<'_>, texts: Texts) {
        self.classes |= match cell {
            Cell::Missing | Cell::Null => 0,
            Cell::Bool(_) => BOOLEAN,
            Cell::Number(text) => number_class(text),
            Cell::Nested(_) => NESTED,
            Cell::Text(text) => self.text_class(text, texts),
            Cell::Escaped(_) | Cell::Doubled(_) => {
                cell.text().map_or(0, |text| self.text_class(&text, texts))
            }
        };
    }

    fn text_class(&mut self, text: &str, texts: Texts) -> u16 {
        let length = text.chars().count();
        self.lengths_differ |= *self.length.get_or_insert(length) != length;
        match texts {
            Texts::Plain => TEXT,
            // One plain text makes the others plain too.
            Texts::Times if self.classes & TEXT != 0 => TEXT,
            Texts::Times => time_class(text),
            Texts::Anything => field_class(text),
        }
    }

    /// Whether no further value can change the type any more.
    fn is_varchar(&self) -> bool {
        let families = [BOOLEAN, NUMBERS | BEYOND, TEXTS, NESTED];
        let mixed = families.iter().filter(|family| self.classes & **family != 0).count() > 1;
        let plain = self.classes & TEXT != 0 && self.lengths_differ;
        mixed || plain || self.classes & (NESTED | BEYOND) != 0
    }

    fn kind(&self) -> Kind {
        let only = |classes: u16| self.classes & !classes == 0;
        let has = |classes: u16| self.classes & classes != 0;
        match self.classes {
            0 => Kind::Varchar,
            BOOLEAN => Kind::Boolean,
            DATE => Kind::Date,
            TIME => Kind::Time,
            _ if only(TIMESTAMPS | DATE) && has(NANOS) && !has(FAR) => Kind::TimestampNs,
            _ if only(TIMESTAMPS | DATE) => Kind::Timestamp,
            _ if only(TEXTS) => self.text_kind(),
            _ if only(WHOLE) && has(HUGE) => Kind::HUGE,
            _ if only(WHOLE) && has(BIGINT) => Kind::BigInt,
            _ if only(WHOLE) => Kind::Int,
            _ if only(NUMBERS & !INEXACT | SPECIAL) && has(NUMBERS) => Kind::Decimal,
            _ if only(TEXTS | SPECIAL) => self.text_kind(),
            _ => Kind::Varchar,
        }
    }

    fn text_kind(&self) -> Kind {
        match self.length.map(u32::try_from) {
            Some(Ok(length @ 1..=CHAR_LENGTH_MAX)) if !self.lengths_differ => Kind::Char(length),
            _ => Kind::Varchar,
        }
    }
}

fn number_class(text: &str) -> u16 {
    // The largest float has 309 digits, so a shorter number without an exponent is finite.
    const SURELY_FINITE: usize = 300;
    if text.contains(['.', 'e', 'E']) {
        let finite = text.len() < SURELY_FINITE && !text.contains(['e', 'E']);
        return if finite || number::float(text).is_ok() { FRACTION } else { BEYOND };
    }
    match number::huge(text) {
        Ok(number) if i32::try_from(number).is_ok() => INT,
        Ok(number) => {
            let size = if i64::try_from(number).is_ok() { BIGINT } else { HUGE };
            if number::is_exact(number) { size } else { size | INEXACT }
        }
        Err(_) => BEYOND,
    }
}

fn time_class(text: &str) -> u16 {
    match time::form(text) {
        Form::Timestamp => TIMESTAMP,
        Form::Nanoseconds => TIMESTAMP | NANOS,
        Form::FarTimestamp => TIMESTAMP | FAR,
        Form::Date => DATE,
        Form::Time => TIME,
        Form::Other => TEXT,
    }
}

/// The class of a field of a CSV, with which spaces may stand.
pub(super) fn field_class(text: &str) -> u16 {
    let text = text.trim_ascii();
    if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
        return BOOLEAN;
    }
    match is_number(text) {
        true => number_class(text),
        false if number::special(text).is_some() => SPECIAL,
        false => time_class(text),
    }
}

/// Whether a field looks like a value rather than like a name.
pub(super) fn is_value(field: &str) -> bool {
    field_class(field) & (NUMBERS | BEYOND | TIMESTAMP | DATE | TIME) != 0
}

fn is_number(text: &str) -> bool {
    let begins = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let mut scanner = Scanner::new(text, 0);
    begins && scanner.number().is_ok() && scanner.at() == text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(texts: &[&str]) -> Kind {
        kind(texts.iter().map(|text| Cell::Number(text)), Texts::Times).unwrap()
    }

    fn texts(texts: &[&str]) -> Kind {
        kind(texts.iter().map(|text| Cell::Text(text)), Texts::Times).unwrap()
    }

    fn fields(texts: &[&str]) -> Kind {
        kind(texts.iter().map(|text| Cell::Text(text)), Texts::Anything).unwrap()
    }

    #[test]
    fn numbers_by_size() {
        let nines = "9".repeat(38);
        let more = "9".repeat(39);
        for (values, expected) in [
            (&["1", "-2147483648"][..], Kind::Int),
            (&["1", "2147483648"], Kind::BigInt),
            (&["12345678901234", "2"], Kind::BigInt),
            (&["9223372036854775807"], Kind::BigInt),
            (&["9223372036854775808", "1"], Kind::HUGE),
            (&[&nines], Kind::HUGE),
            (&[&more], Kind::Varchar),
            (&["1", &more], Kind::Varchar),
            (&["1.5", "2"], Kind::Decimal),
            (&["2", "1.5"], Kind::Decimal),
            (&["5.0"], Kind::Decimal),
            (&["1e3"], Kind::Decimal),
            (&["1e999"], Kind::Varchar),
            (&["9007199254740992", "1.5"], Kind::Decimal),
            (&["9007199254740993", "1.5"], Kind::Varchar),
            (&["1.5", "123456789012345678901234567890"], Kind::Varchar),
        ] {
            assert_eq!(numbers(values), expected, "{values:?}");
        }
    }

    #[test]
    fn texts_by_form_and_length() {
        let long = "x".repeat(64);
        let longer = "x".repeat(65);
        for (values, expected) in [
            (&["sensor-0", "sensor-1"][..], Kind::Char(8)),
            (&["x"], Kind::Char(1)),
            (&["é"], Kind::Char(1)),
            (&["abc", "it's \"q\" é"], Kind::Varchar),
            (&[""], Kind::Varchar),
            (&[&long], Kind::Char(64)),
            (&[&longer], Kind::Varchar),
            (&["5", "6"], Kind::Char(1)),
            (&["true"], Kind::Char(4)),
            (&["2026-02-01T00:00:00Z", "2026-02-01 00:00:01.5"], Kind::Timestamp),
            (&["2026-02-01", "2026-02-01T00:00:00+01:00"], Kind::Timestamp),
            (&["2026-02-01", "2026-02-01T00:00:00.123456789Z"], Kind::TimestampNs),
            (&["9999-12-31T00:00:00", "2026-02-01T00:00:00.123456789Z"], Kind::Timestamp),
            (&["2026-02-01", "2026-02-02"], Kind::Date),
            (&["12:30:00", "12:31:00.5"], Kind::Time),
            (&["12:30:00", "2026-02-01"], Kind::Varchar),
            (&["12:30:00", "sensor-1"], Kind::Char(8)),
            (&["2026-02-01", "not a date"], Kind::Char(10)),
            (&["2026-02-30", "2026-02-01"], Kind::Char(10)),
        ] {
            assert_eq!(texts(values), expected, "{values:?}");
        }
    }

    #[test]
    fn fields_may_be_anything() {
        for (values, expected) in [
            (&["1", " 2"][..], Kind::Int),
            (&["1", "2.5"], Kind::Decimal),
            (&["true", "FALSE"], Kind::Boolean),
            (&["007", "008"], Kind::Char(3)),
            (&["+49", "+50"], Kind::Char(3)),
            (&["NaN", "1.5"], Kind::Decimal),
            (&["4", "-inf"], Kind::Decimal),
            (&["NaN"], Kind::Char(3)),
            (&["NaN", "abc"], Kind::Char(3)),
            (&["NaN", "true"], Kind::Varchar),
            (&["NaN", "2026-02-01"], Kind::Varchar),
            (&["2026-02-01"], Kind::Date),
            (&["1", "true"], Kind::Varchar),
        ] {
            assert_eq!(fields(values), expected, "{values:?}");
        }
    }

    #[test]
    fn mixes_and_nothing() {
        let of = |cells: &[Cell<'static>]| kind(cells.iter().copied(), Texts::Times);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[Cell::Missing]), None);
        assert_eq!(of(&[Cell::Missing, Cell::Null]), Some(Kind::Varchar));
        assert_eq!(of(&[Cell::Null, Cell::Bool(true)]), Some(Kind::Boolean));
        assert_eq!(of(&[Cell::Bool(true), Cell::Number("1")]), Some(Kind::Varchar));
        assert_eq!(of(&[Cell::Text("a"), Cell::Number("1")]), Some(Kind::Varchar));
        assert_eq!(of(&[Cell::Nested("[1]")]), Some(Kind::Varchar));
        assert_eq!(of(&[Cell::Escaped(r"\n")]), Some(Kind::Char(1)));
    }
}
