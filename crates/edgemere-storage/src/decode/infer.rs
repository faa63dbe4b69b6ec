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
//! - lists and objects, or a mix of the above: `varchar`;
//! - nothing but nulls: no type. A column of a CSV comes with its first value.
//!
//! A text of JSON is never a number or a boolean. A field of a CSV is if it is written as in JSON, so
//! that `007` and `+49` stay text, and make their column text.
//!
//! A column of a CSV whose values are all of one sort but for a few has that sort's type, and the rows
//! with the others do not fit it: see [`ODD_PART`]. With [`Mixed::Text`] it is text. Where values make a
//! column text that others would not, [`Inferred::because`] says which, so that nobody has to guess.

use super::cell::Cell;
use super::json_scanner::Scanner;
use super::number;
use super::time::{self, Form};
use crate::schema::Kind;

/// The longest text that makes a `char(N)`.
pub const CHAR_LENGTH_MAX: u32 = 64;

/// Of the values of a column, one in so many may be of another sort than the others, and always one may.
const ODD_PART: usize = 10;

/// What becomes of a new column of a CSV with a few values that are of another sort than all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mixed {
    /// The column is of the sort of most of them, and the rows with the others are rejected.
    #[default]
    Reject,
    /// The column is text, and it is reported why.
    Text,
}

/// The type of a new column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inferred {
    pub(super) kind: Kind,
    /// The row, from 0, whose value made it text where others are not.
    pub(super) because: Option<usize>,
}

/// What texts may be besides text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Texts {
    /// Times only: numbers and booleans are written in another way.
    Times,
    /// Fields of a CSV, which may be anything: there is no other way.
    Fields(Mixed),
    /// Nothing: the input says what is text.
    Plain,
}

const BOOLEAN: u32 = 1;
const INT: u32 = 1 << 1;
const BIGINT: u32 = 1 << 2;
const HUGE: u32 = 1 << 3;
const FRACTION: u32 = 1 << 4;
/// A whole number that is none as a float.
const INEXACT: u32 = 1 << 5;
/// A number that no column of numbers holds.
const BEYOND: u32 = 1 << 6;
const TIMESTAMP: u32 = 1 << 7;
const DATE: u32 = 1 << 8;
const TIME: u32 = 1 << 9;
const TEXT: u32 = 1 << 10;
const NESTED: u32 = 1 << 11;
/// Digits that are no number: `007`, `+49`. They name something.
const CODE: u32 = 1 << 12;
/// A number with a decimal comma, which is text.
const COMMA: u32 = 1 << 13;
/// `NaN` and the infinities in a CSV: numbers among numbers, and else text.
const SPECIAL: u32 = 1 << 14;
/// A timestamp with digits beyond microseconds.
const NANOS: u32 = 1 << 15;
/// A timestamp that cannot be counted in nanoseconds.
const FAR: u32 = 1 << 16;

const WHOLE: u32 = INT | BIGINT | HUGE | INEXACT;
const NUMBERS: u32 = WHOLE | FRACTION;
const PLAIN: u32 = TEXT | CODE | COMMA;
const TIMESTAMPS: u32 = TIMESTAMP | NANOS | FAR;
const TEXTS: u32 = TIMESTAMPS | DATE | TIME | PLAIN;

/// The sorts of values. Those of one sort fit one type, but for numbers that no column holds.
const SORTS: [u32; 6] =
    [NUMBERS | BEYOND | SPECIAL, BOOLEAN, TIMESTAMP | DATE, TIME, PLAIN, NESTED];

/// The type for the cells of a column, or none if there is no value.
pub(super) fn kind<'a>(cells: impl Iterator<Item = Cell<'a>>, texts: Texts) -> Option<Kind> {
    infer(cells.enumerate(), texts).map(|inferred| inferred.kind)
}

/// The type for the cells of a column, each with its row, or none if there is no value.
pub(super) fn infer<'a>(
    cells: impl Iterator<Item = (usize, Cell<'a>)>,
    texts: Texts,
) -> Option<Inferred> {
    let mut seen = Seen::default();
    for (row, cell) in cells {
        let class = seen.class(cell, texts);
        seen.count(row, class);
    }
    let Texts::Fields(mixed) = texts else { return seen.of_values() };
    seen.of_fields(mixed)
}

/// What was seen of a column.
#[derive(Default)]
struct Seen {
    classes: u32,
    /// The characters of the first text.
    length: Option<usize>,
    lengths_differ: bool,
    /// For each of the sorts.
    sorts: [Sort; SORTS.len()],
    /// The first row whose value can be nothing but text: a code, or a number with too many digits.
    first_code: Option<usize>,
    first_beyond: Option<usize>,
}

/// The values of a sort.
#[derive(Clone, Copy, Default)]
struct Sort {
    count: usize,
    classes: u32,
    first_row: usize,
}

impl Seen {
    fn class(&mut self, cell: Cell<'_>, texts: Texts) -> u32 {
        match cell {
            Cell::Missing | Cell::Null => 0,
            Cell::Bool(_) => BOOLEAN,
            Cell::Number(text) => number_class(text),
            Cell::Nested(_) => NESTED,
            Cell::Text(text) => self.text_class(text, texts),
            Cell::Escaped(_) | Cell::Doubled(_) => {
                cell.text().map_or(0, |text| self.text_class(&text, texts))
            }
        }
    }

    fn count(&mut self, row: usize, class: u32) {
        self.classes |= class;
        if class & CODE != 0 {
            self.first_code.get_or_insert(row);
        }
        if class & (BEYOND | INEXACT) != 0 {
            self.first_beyond.get_or_insert(row);
        }
        let sort = SORTS.iter().position(|sort| class & sort != 0);
        if let Some(sort) = sort.and_then(|sort| self.sorts.get_mut(sort)) {
            if sort.count == 0 {
                sort.first_row = row;
            }
            sort.count += 1;
            sort.classes |= class;
        }
    }

    /// The type of values that say themselves what they are, as those of JSON.
    fn of_values(&self) -> Option<Inferred> {
        let kind = match self.classes {
            0 => return None,
            _ if self.is_varchar() => Kind::Varchar,
            _ => self.kind(),
        };
        let is_text = matches!(kind, Kind::Varchar | Kind::Char(_));
        let others = self.sorts.iter().filter(|sort| sort.count > 0 && sort.classes & PLAIN == 0);
        let text = self.sorts.iter().find(|sort| sort.classes & PLAIN != 0);
        let because = match (is_text, others.count(), text) {
            (true, 1.., Some(text)) => Some(text.first_row),
            (true, ..) => self.first_beyond,
            _ => None,
        };
        Some(Inferred { kind, because })
    }

    /// The type of fields of a CSV.
    fn of_fields(&self, mixed: Mixed) -> Option<Inferred> {
        let total: usize = self.sorts.iter().map(|sort| sort.count).sum();
        // A column of nothing but "NaN" has no number.
        let is_text =
            |sort: &&Sort| sort.classes & (PLAIN | NESTED) != 0 || sort.classes == SPECIAL;
        let most = self.sorts.iter().filter(|sort| !is_text(sort)).max_by_key(|sort| sort.count)?;
        let odd = total - most.count;
        if total == 0 {
            return None;
        }
        let of_most =
            Self { classes: most.classes, lengths_differ: true, ..Self::default() }.kind();
        let has_type = most.count > 0 && of_most != Kind::Varchar;
        let are_few = odd <= (total / ODD_PART).max(1) && most.count > odd;
        let fits = odd == 0 || (mixed == Mixed::Reject && are_few && self.first_code.is_none());
        if has_type && fits {
            return Some(Inferred { kind: of_most, because: None });
        }
        let others =
            self.sorts.iter().filter(|sort| sort.count > 0 && sort.classes != most.classes);
        let first_odd = others.map(|sort| sort.first_row).min();
        let because = match most.count {
            0 if self.classes == COMMA => first_odd,
            0 => None,
            _ if !has_type && odd == 0 => self.first_beyond,
            count if count >= odd => self.first_code.or(first_odd),
            _ => None,
        };
        let kind = if most.count == 0 { self.text_kind() } else { Kind::Varchar };
        Some(Inferred { kind, because })
    }

    fn text_class(&mut self, text: &str, texts: Texts) -> u32 {
        let length = text.chars().count();
        self.lengths_differ |= *self.length.get_or_insert(length) != length;
        match texts {
            Texts::Plain => TEXT,
            // One plain text makes the others plain too.
            Texts::Times if self.classes & TEXT != 0 => TEXT,
            Texts::Times => time_class(text),
            Texts::Fields(_) => field_class(text),
        }
    }

    /// Whether the values have no type in common but text.
    fn is_varchar(&self) -> bool {
        let families = [BOOLEAN, NUMBERS | BEYOND, TEXTS, NESTED];
        let mixed = families.iter().filter(|family| self.classes & **family != 0).count() > 1;
        let plain = self.classes & TEXT != 0 && self.lengths_differ;
        mixed || plain || self.classes & (NESTED | BEYOND) != 0
    }

    fn kind(&self) -> Kind {
        let only = |classes: u32| self.classes & !classes == 0;
        let has = |classes: u32| self.classes & classes != 0;
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

fn number_class(text: &str) -> u32 {
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

fn time_class(text: &str) -> u32 {
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
pub(super) fn field_class(text: &str) -> u32 {
    let text = text.trim_ascii();
    if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
        return BOOLEAN;
    }
    match is_number(text) {
        true => number_class(text),
        false if number::special(text).is_some() => SPECIAL,
        false if is_code(text) => CODE,
        false if is_comma_number(text) => COMMA,
        false => time_class(text),
    }
}

/// Whether digits have a zero or a plus in front, which a number would lose.
fn is_code(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let is_led = digits.len() < text.len() || digits.starts_with('0');
    is_led && digits.len() > 1 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether it is a number as many write it: `4,2`.
fn is_comma_number(text: &str) -> bool {
    let Some((whole, fraction)) = text.split_once(',') else { return false };
    let whole = whole.strip_prefix('-').unwrap_or(whole);
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && digits(fraction)
}

/// Whether a field says that there is no value, in a column that is not text.
pub(super) fn is_no_value(field: &str) -> bool {
    const WORDS: [&str; 7] = ["null", "na", "n/a", "none", "-", "--", "\\N"];
    let field = field.trim_ascii();
    field.len() <= 4 && WORDS.iter().any(|word| field.eq_ignore_ascii_case(word))
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
        inferred(texts, Mixed::Reject).kind
    }

    fn inferred(texts: &[&str], mixed: Mixed) -> Inferred {
        let cells = texts.iter().map(|text| Cell::Text(text)).enumerate();
        infer(cells, Texts::Fields(mixed)).unwrap()
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
        assert_eq!(of(&[Cell::Missing, Cell::Null]), None);
        assert_eq!(of(&[Cell::Null, Cell::Bool(true)]), Some(Kind::Boolean));
        assert_eq!(of(&[Cell::Bool(true), Cell::Number("1")]), Some(Kind::Varchar));
        assert_eq!(of(&[Cell::Text("a"), Cell::Number("1")]), Some(Kind::Varchar));
        assert_eq!(of(&[Cell::Nested("[1]")]), Some(Kind::Varchar));
        assert_eq!(of(&[Cell::Escaped(r"\n")]), Some(Kind::Char(1)));
    }

    #[test]
    fn a_few_fields_of_another_sort_do_not_fit_and_many_make_text() {
        let many = |odd: usize, of: usize| {
            let value = move |row: usize| if row < odd { "x".to_owned() } else { row.to_string() };
            (0..of).map(value).collect::<Vec<_>>()
        };
        let kind =
            |values: Vec<String>| fields(&values.iter().map(String::as_str).collect::<Vec<_>>());
        for (odd, of, expected) in [
            (1, 3, Kind::Int),
            (1, 2, Kind::Varchar),
            (1, 10, Kind::Int),
            (2, 10, Kind::Varchar),
            (2, 20, Kind::Int),
            (100, 1000, Kind::Int),
            (101, 1000, Kind::Varchar),
        ] {
            assert_eq!(kind(many(odd, of)), expected, "{odd} of {of}");
        }
        assert_eq!(fields(&["2026-02-01", "2026-02-02", "2026-02-30"]), Kind::Date);
        assert_eq!(fields(&["true", "false", "maybe"]), Kind::Boolean);
        assert_eq!(fields(&["1", "2", "2026-02-01"]), Kind::Int);
    }

    #[test]
    fn what_made_a_column_text_is_told() {
        for (values, mixed, kind, because) in [
            (&["10", "11", "x"][..], Mixed::Reject, Kind::Int, None),
            (&["10", "11", "x"], Mixed::Text, Kind::Varchar, Some(2)),
            (&["x", "10"], Mixed::Reject, Kind::Varchar, Some(0)),
            (&["10", "x", "y"], Mixed::Reject, Kind::Varchar, None),
            (&["1", "2", "007"], Mixed::Reject, Kind::Varchar, Some(2)),
            (&["007", "008"], Mixed::Reject, Kind::Char(3), None),
            (&["4,2", "5,1"], Mixed::Reject, Kind::Char(3), Some(0)),
            (&["1e999"], Mixed::Reject, Kind::Varchar, Some(0)),
            (&["a", "b"], Mixed::Text, Kind::Char(1), None),
        ] {
            assert_eq!(inferred(values, mixed), Inferred { kind, because }, "{values:?} {mixed:?}");
        }
        let cells = [Cell::Number("1"), Cell::Text("x")].into_iter().enumerate();
        assert_eq!(infer(cells, Texts::Times).unwrap().because, Some(1));
    }
}
