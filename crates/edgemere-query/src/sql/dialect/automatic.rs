//! `increments(timestamp)`: the spans that make about a thousand points of the rows that there are.
//!
//! The rule is EdgeLake's: the time between the first row and the last, divided by the number of
//! points, in the longest unit that it is not shorter than, rounded. EdgeLake reads that time from
//! the conditions' text; we ask the rows.

use crate::sql::dialect::units::{Span, UNITS, Unit};

/// How many points there are to be, about, when the query does not say.
pub(super) const POINTS: u32 = 1000;

/// The units that a span may be chosen in.
const CHOSEN: [&str; 7] = ["year", "month", "week", "day", "hour", "minute", "second"];

/// The times of the first row and of the last, in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) struct TimeRange {
    pub(in crate::sql) first: i64,
    pub(in crate::sql) last: i64,
}

/// The length of the spans.
pub(super) fn span(range: TimeRange, points: u32) -> Span {
    let seconds = (range.last as f64 - range.first as f64) / 1e6 / f64::from(points);
    let units = CHOSEN.iter().filter_map(|name| Unit::named(name));
    let unit = units.into_iter().find(|unit| seconds >= unit.seconds());
    match unit {
        Some(unit) => Span::new(unit, (seconds / unit.seconds()).round() as u32),
        None => Span::new(shortest(), 1),
    }
}

/// A second.
fn shortest() -> Unit {
    let [_, second, ..] = UNITS;
    second
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(seconds: i64, points: u32) -> Span {
        span(TimeRange { first: -5_000_000, last: seconds * 1_000_000 - 5_000_000 }, points)
    }

    fn of(unit: &str, count: u32) -> Span {
        Span::new(Unit::named(unit).unwrap(), count)
    }

    #[test]
    fn about_so_many_points_are_made() {
        assert_eq!(chosen(0, POINTS), of("second", 1));
        assert_eq!(chosen(3600, POINTS), of("second", 4));
        assert_eq!(chosen(100_000, POINTS), of("minute", 2));
        assert_eq!(chosen(30 * 86_400, POINTS), of("minute", 43));
        assert_eq!(chosen(365 * 86_400, POINTS), of("hour", 9));
        assert_eq!(chosen(365 * 86_400, 12), of("week", 4));
        assert_eq!(chosen(366 * 86_400, 10), of("month", 1));
        assert_eq!(chosen(3660 * 86_400, 10), of("year", 1));
    }
}
