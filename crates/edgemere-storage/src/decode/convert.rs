//! Makes the cells of a column an array of the column's type.
//!
//! What fits which column:
//! - whole numbers: numbers and texts that are wholly a number and whole, `5.0` too;
//! - `numeric(P,S)`: numbers and texts that are wholly a number and have no more digits than that;
//! - `decimal`: numbers and texts that are wholly a number, or `NaN`, `Infinity`, `-Infinity`; a whole
//!   number only if it loses no digit;
//! - `boolean`: `true` and `false`, also as texts in any case;
//! - `timestamp`, `date`, `time`: texts of that form, and for a timestamp also a date; no numbers,
//!   since they do not say what they count;
//! - `interval`: texts as on a clock, with as many hours as there are;
//! - `bytea`: texts in base64;
//! - `char(N)` and `varchar`: everything; numbers and booleans by their text, lists and objects as
//!   JSON.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryBuilder, BooleanBuilder, PrimitiveBuilder, StringViewBuilder};
use arrow::datatypes::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, DurationMicrosecondType, Float64Type,
    Int64Type, Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::cell::Cell;
use super::{number, time};
use crate::schema::Kind;

const NOT_A_TIMESTAMP: &str = "not a timestamp, which is written 2026-12-31T23:59:59Z";
const TOO_FAR: &str = "not between 1677 and 2262, where times are counted in nanoseconds";

/// Makes an array. A cell that does not fit is a null there and is reported to `refuse`, with its row
/// and why.
pub(super) fn array(
    kind: Kind,
    cells: &[Cell<'_>],
    refuse: &mut dyn FnMut(usize, &'static str),
) -> ArrayRef {
    match kind {
        Kind::Int | Kind::BigInt => {
            primitive::<Int64Type>(kind, cells, refuse, |cell| numeric(cell, number::int))
        }
        Kind::Numeric(digits, scale) => {
            let read = |text: &str| match scale {
                0 => number::whole(text, digits),
                _ => number::numeric(text, digits, scale),
            };
            primitive::<Decimal128Type>(kind, cells, refuse, |cell| numeric(cell, read))
        }
        Kind::Decimal => {
            primitive::<Float64Type>(kind, cells, refuse, |cell| numeric(cell, number::float))
        }
        Kind::Boolean => booleans(cells, refuse),
        Kind::Date => primitive::<Date32Type>(kind, cells, refuse, |cell| {
            temporal(cell, time::date, "not a date, which is written 2026-12-31")
        }),
        Kind::Time => primitive::<Time64MicrosecondType>(kind, cells, refuse, |cell| {
            temporal(cell, time::time, "not a time of day, which is written 23:59:59")
        }),
        Kind::Timestamp | Kind::TimestampTz => {
            primitive::<TimestampMicrosecondType>(kind, cells, refuse, |cell| {
                temporal(cell, time::timestamp, NOT_A_TIMESTAMP)
            })
        }
        Kind::TimestampNs | Kind::TimestampTzNs => {
            primitive::<TimestampNanosecondType>(kind, cells, refuse, |cell| {
                match temporal(cell, time::timestamp, NOT_A_TIMESTAMP)? {
                    Some(_) => temporal(cell, time::nanoseconds, TOO_FAR),
                    None => Ok(None),
                }
            })
        }
        Kind::Char(_) | Kind::Varchar => texts(cells),
        Kind::Binary => bytes(cells, refuse),
        Kind::Interval => primitive::<DurationMicrosecondType>(kind, cells, refuse, |cell| {
            temporal(cell, time::span, "not a span of time, which is written 26:59:59.5")
        }),
    }
}

fn primitive<T: ArrowPrimitiveType>(
    kind: Kind,
    cells: &[Cell<'_>],
    refuse: &mut dyn FnMut(usize, &'static str),
    read: impl Fn(Cell<'_>) -> Result<Option<T::Native>, &'static str>,
) -> ArrayRef {
    let builder = PrimitiveBuilder::<T>::with_capacity(cells.len());
    let mut builder = builder.with_data_type(kind.arrow());
    for (row, cell) in cells.iter().enumerate() {
        match read(*cell) {
            Ok(value) => builder.append_option(value),
            Err(reason) => {
                builder.append_null();
                refuse(row, reason);
            }
        }
    }
    Arc::new(builder.finish())
}

fn booleans(cells: &[Cell<'_>], refuse: &mut dyn FnMut(usize, &'static str)) -> ArrayRef {
    let mut builder = BooleanBuilder::with_capacity(cells.len());
    for (row, cell) in cells.iter().enumerate() {
        let value = boolean(*cell);
        builder.append_option(value.unwrap_or_default());
        if let Err(reason) = value {
            refuse(row, reason);
        }
    }
    Arc::new(builder.finish())
}

fn bytes(cells: &[Cell<'_>], refuse: &mut dyn FnMut(usize, &'static str)) -> ArrayRef {
    let mut builder = BinaryBuilder::with_capacity(cells.len(), 0);
    for (row, cell) in cells.iter().enumerate() {
        let decoded = match cell {
            Cell::Missing | Cell::Null => Some(None),
            cell => cell
                .text()
                .and_then(|text| BASE64_STANDARD.decode(text.trim_ascii()).ok())
                .map(Some),
        };
        if decoded.is_none() {
            refuse(row, "not bytes, which are written in base64");
        }
        builder.append_option(decoded.flatten());
    }
    Arc::new(builder.finish())
}

fn texts(cells: &[Cell<'_>]) -> ArrayRef {
    let mut builder = StringViewBuilder::with_capacity(cells.len());
    for cell in cells {
        match cell {
            Cell::Text(text) => builder.append_value(text),
            other => builder.append_option(other.kept()),
        }
    }
    Arc::new(builder.finish())
}

fn numeric<T>(
    cell: Cell<'_>,
    read: impl Fn(&str) -> Result<T, &'static str>,
) -> Result<Option<T>, &'static str> {
    match cell {
        Cell::Number(text) => read(text).map(Some),
        Cell::Missing | Cell::Null => Ok(None),
        Cell::Text(text) => read(text.trim_ascii()).map(Some),
        _ => read(cell.text().ok_or("not a number")?.trim_ascii()).map(Some),
    }
}

fn temporal<T>(
    cell: Cell<'_>,
    read: impl Fn(&str) -> Option<T>,
    reason: &'static str,
) -> Result<Option<T>, &'static str> {
    match cell {
        Cell::Text(text) => read(text.trim_ascii()).ok_or(reason).map(Some),
        Cell::Missing | Cell::Null => Ok(None),
        _ => cell.text().and_then(|text| read(text.trim_ascii())).ok_or(reason).map(Some),
    }
}

fn boolean(cell: Cell<'_>) -> Result<Option<bool>, &'static str> {
    match cell {
        Cell::Missing | Cell::Null => Ok(None),
        Cell::Bool(flag) => Ok(Some(flag)),
        _ => match cell.text() {
            Some(text) if text.trim_ascii().eq_ignore_ascii_case("true") => Ok(Some(true)),
            Some(text) if text.trim_ascii().eq_ignore_ascii_case("false") => Ok(Some(false)),
            _ => Err("not true or false"),
        },
    }
}

#[cfg(test)]
mod tests {
    use arrow::util::display::array_value_to_string;

    use super::*;

    /// The value of a cell in a column, or why there is none.
    fn convert(kind: Kind, cell: Cell<'_>) -> Result<String, &'static str> {
        let mut refused = None;
        let array = array(kind, &[cell], &mut |_, reason| refused = Some(reason));
        assert_eq!(*array.data_type(), kind.arrow());
        match refused {
            Some(reason) => Err(reason),
            None if array.is_null(0) => Ok("null".into()),
            None => Ok(array_value_to_string(&array, 0).unwrap()),
        }
    }

    #[test]
    fn what_fits() {
        use Cell::{Bool, Doubled, Escaped, Nested, Number, Text};
        for (kind, cell, value) in [
            (Kind::Int, Number("5"), "5"),
            (Kind::Int, Text("5"), "5"),
            (Kind::Int, Text(" 5 "), "5"),
            (Kind::Int, Number("5.0"), "5"),
            (Kind::Int, Number("12345678901234"), "12345678901234"),
            (Kind::Int, Escaped(r"\u0035"), "5"),
            (Kind::HUGE, Number("12345678901234567890123"), "12345678901234567890123"),
            (Kind::Numeric(17, 2), Number("999999999999999.99"), "999999999999999.99"),
            (Kind::Numeric(17, 2), Text(" -4.2 "), "-4.20"),
            (Kind::Decimal, Number("5"), "5.0"),
            (Kind::Decimal, Text("1.5"), "1.5"),
            (Kind::Decimal, Text("NaN"), "NaN"),
            (Kind::Decimal, Text("-Infinity"), "-inf"),
            (Kind::Boolean, Bool(false), "false"),
            (Kind::Boolean, Text("True"), "true"),
            (Kind::Date, Text("2026-02-01"), "2026-02-01"),
            (Kind::Time, Text("12:30:00.5"), "12:30:00.500"),
            (Kind::Timestamp, Text("2026-02-01T01:00:00+01:00"), "2026-02-01T00:00:00"),
            (Kind::Timestamp, Text("2026-02-01"), "2026-02-01T00:00:00"),
            (
                Kind::TimestampNs,
                Text("2026-02-01T01:00:00.123456789+01:00"),
                "2026-02-01T00:00:00.123456789",
            ),
            (Kind::TimestampTz, Text("2026-02-01T01:00:00+01:00"), "2026-02-01T00:00:00Z"),
            (Kind::TimestampTzNs, Text("2026-02-01 00:00:00"), "2026-02-01T00:00:00Z"),
            (Kind::Char(1), Text("longer"), "longer"),
            (Kind::Binary, Text("AP8="), "00ff"),
            (Kind::Interval, Text("-26:00:01.5"), "-PT93601.5S"),
            (Kind::Varchar, Number("1.50"), "1.50"),
            (Kind::Varchar, Bool(true), "true"),
            (Kind::Varchar, Nested("{\"a\": 1}"), "{\"a\":1}"),
            (Kind::Varchar, Doubled("\"\""), "\""),
        ] {
            assert_eq!(convert(kind, cell).as_deref(), Ok(value), "{kind:?} {cell:?}");
            for nothing in [Cell::Null, Cell::Missing] {
                assert_eq!(convert(kind, nothing).as_deref(), Ok("null"));
            }
        }
    }

    #[test]
    fn what_does_not() {
        use Cell::{Bool, Nested, Number, Text};
        for (kind, cell, reason) in [
            (Kind::Int, Number("5.5"), "not a whole number"),
            (Kind::Int, Text("x"), "not a number"),
            (Kind::Int, Text(""), "not a number"),
            (Kind::BigInt, Number("9223372036854775808"), "too large for 64 bits"),
            (Kind::Int, Bool(true), "not a number"),
            (Kind::HUGE, Number("5.5"), "not a whole number"),
            (
                Kind::Numeric(3, 1),
                Number("5.55"),
                "has more digits after the point than its column",
            ),
            (Kind::Numeric(3, 1), Number("555"), "has more digits than its column"),
            (Kind::Numeric(3, 0), Number("5555"), "has more digits than its column"),
            (Kind::Int, Text("NaN"), "not a number"),
            (Kind::Numeric(5, 2), Text("NaN"), "not a number"),
            (Kind::Decimal, Nested("[1]"), "not a number"),
            (Kind::Boolean, Number("1"), "not true or false"),
            (Kind::Interval, Text("1:60:00"), "not a span of time, which is written 26:59:59.5"),
            (Kind::Binary, Text("A"), "not bytes, which are written in base64"),
            (Kind::Binary, Number("1"), "not bytes, which are written in base64"),
            (Kind::Date, Text("2026-02-01T00:00:00Z"), "not a date, which is written 2026-12-31"),
            (Kind::Time, Text("25:00:00"), "not a time of day, which is written 23:59:59"),
            (Kind::Timestamp, Number("1769904000"), NOT_A_TIMESTAMP),
            (Kind::TimestampNs, Text("9999-12-31"), TOO_FAR),
            (Kind::TimestampTzNs, Text("x"), NOT_A_TIMESTAMP),
        ] {
            assert_eq!(convert(kind, cell), Err(reason), "{kind:?} {cell:?}");
        }
    }
}
