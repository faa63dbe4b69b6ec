//! The type of a known column when numbers or times come that it does not hold.
//!
//! - Whole numbers beyond 64 bits make it `numeric(38,0)`.
//! - Fractions make it `decimal`, or, where a whole number among the values is none as a float,
//!   `numeric(38,9)`. So does a fraction in a column that is a `numeric` already.
//! - Rows with a type of their own, as Arrow's, make it what holds both types.
//!
//! Timestamps with digits beyond microseconds make a column of timestamps one of nanoseconds.
//!
//! What the table holds already must be the same in the wider type too, which its storage knows.
//! Values that are not numbers say nothing: their rows are rejected.

use super::cell::Cell;
use super::{number, time};
use crate::schema::Kind;

/// The type that a column needs for these cells; none when there is no wider one, or it needs none.
pub(super) fn kind<'a>(known: Kind, mut cells: impl Iterator<Item = Cell<'a>>) -> Option<Kind> {
    if known.with_nanoseconds() != known {
        return cells.any(is_fine).then(|| known.with_nanoseconds());
    }
    if !known.is_whole() {
        return None;
    }
    let (mut has_fraction, mut is_huge, mut is_exact) = (false, false, true);
    for cell in cells {
        let Some(text) = text(cell) else { continue };
        match number::huge(text.trim_ascii()) {
            Ok(number) => {
                is_huge |= i64::try_from(number).is_err();
                is_exact &= number::is_exact(number);
            }
            Err(_) => has_fraction |= number::float(text.trim_ascii()).is_ok(),
        }
    }
    let wider = match known {
        _ if has_fraction && is_exact && !matches!(known, Kind::Numeric(..)) => Kind::Decimal,
        _ if has_fraction => Kind::EXACT,
        _ if is_huge => Kind::HUGE,
        Kind::Numeric(..) => Kind::HUGE,
        _ => return None,
    };
    (wider != known).then_some(wider)
}

/// Whether a cell is a timestamp with digits beyond microseconds.
pub(super) fn is_fine(cell: Cell<'_>) -> bool {
    match cell {
        Cell::Text(text) => time::is_fine(text.trim_ascii()),
        cell => cell.text().is_some_and(|text| time::is_fine(text.trim_ascii())),
    }
}

/// Whether a cell is a number, of any size.
pub(super) fn is_number(cell: Cell<'_>) -> bool {
    text(cell).is_some_and(|text| number::is_number(text.trim_ascii()))
}

/// The text of what may be a number.
fn text(cell: Cell<'_>) -> Option<std::borrow::Cow<'_, str>> {
    match cell {
        Cell::Number(text) => Some(text.into()),
        cell => cell.text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_become_what_comes() {
        let of = |known, texts: &[&'static str]| {
            kind(known, texts.iter().map(|text| Cell::Number(text)))
        };
        for (known, texts, expected) in [
            (Kind::Int, &["4", "5.0", "12345678901"][..], None),
            (Kind::Int, &["4", "4.2"], Some(Kind::Decimal)),
            (Kind::Int, &["1e-3"], Some(Kind::Decimal)),
            (Kind::BigInt, &["18446744073709551615"], Some(Kind::HUGE)),
            (Kind::BigInt, &["9007199254740993", "0.5"], Some(Kind::EXACT)),
            (Kind::HUGE, &["0.5"], Some(Kind::EXACT)),
            (Kind::HUGE, &["5"], None),
            (Kind::Numeric(5, 0), &["123456"], Some(Kind::HUGE)),
            (Kind::Int, &["1e999"], None),
            (Kind::Decimal, &["9007199254740993"], None),
            (Kind::Numeric(5, 2), &["1.234"], None),
        ] {
            assert_eq!(of(known, texts), expected, "{known:?} {texts:?}");
        }
        assert_eq!(
            kind(Kind::Int, [Cell::Text(" 4.2 "), Cell::Null].into_iter()),
            Some(Kind::Decimal)
        );
        let fine = [Cell::Text("2026-01-01T00:00:00.123456789Z")];
        assert_eq!(kind(Kind::Timestamp, fine.into_iter()), Some(Kind::TimestampNs));
        assert_eq!(kind(Kind::TimestampTz, fine.into_iter()), Some(Kind::TimestampTzNs));
        assert_eq!(kind(Kind::Varchar, fine.into_iter()), None);
        assert_eq!(kind(Kind::Int, [Cell::Text("x"), Cell::Bool(true)].into_iter()), None);
    }
}
