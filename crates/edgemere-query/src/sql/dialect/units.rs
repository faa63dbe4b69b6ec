//! Units of time and spans of it: what `increments`, `period`, `now() - 1 day` and `-3d` count in.

use crate::sql::error::Error;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 24 * 3600 * SECOND;

/// A unit of time: so many months, or so many microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) name: &'static str,
    /// EdgeLake's letter for it, as in `-3d`. A minute is `t`, because `m` is a month.
    letter: Option<&'static str>,
    months: i64,
    micros: i64,
}

const fn unit(name: &'static str, letter: Option<&'static str>, months: i64, micros: i64) -> Unit {
    Unit { name, letter, months, micros }
}

/// All units, the shortest first.
pub(super) const UNITS: [Unit; 9] = [
    unit("millisecond", None, 0, SECOND / 1000),
    unit("second", Some("s"), 0, SECOND),
    unit("minute", Some("t"), 0, 60 * SECOND),
    unit("hour", Some("h"), 0, 3600 * SECOND),
    unit("day", Some("d"), 0, DAY),
    unit("week", Some("w"), 0, 7 * DAY),
    unit("month", Some("m"), 1, 0),
    unit("quarter", None, 3, 0),
    unit("year", Some("y"), 12, 0),
];

impl Unit {
    /// The unit of that name, in the singular or the plural.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let is_named = |unit: &&Self| {
            unit.name == name || name.strip_suffix('s').is_some_and(|one| one == unit.name)
        };
        UNITS.iter().find(is_named).copied()
    }

    /// The unit of that letter.
    pub(super) fn lettered(letter: &str) -> Option<Self> {
        let letter = letter.to_lowercase();
        UNITS.iter().find(|unit| unit.letter == Some(letter.as_str())).copied()
    }

    /// How long the unit is, in seconds; of months and years how long they are on average.
    pub(super) fn seconds(self) -> f64 {
        /// A twelfth of 365.2425 days.
        const MONTH_SECONDS: f64 = 2_629_746.0;
        self.months as f64 * MONTH_SECONDS + self.micros as f64 / SECOND as f64
    }
}

/// A span of time: so many of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// Its months; then there are no microseconds.
    pub(super) months: i64,
    /// Its microseconds; then there are no months.
    pub(super) micros: i64,
}

impl Span {
    pub(super) fn new(unit: Unit, count: u32) -> Self {
        let count = i64::from(count);
        Self { months: unit.months * count, micros: unit.micros.saturating_mul(count) }
    }

    /// The text of an `INTERVAL` that is as long.
    pub(super) fn interval(self) -> String {
        match self.months {
            0 => format!("{} microseconds", self.micros),
            months => format!("{months} months"),
        }
    }
}

/// The names of the units, for an error.
pub(super) fn names() -> String {
    let names: Vec<_> = UNITS.iter().map(|unit| unit.name).collect();
    names.join(", ")
}

/// A span as `increments` and `period` are given it: `hour, 6`.
pub(super) fn span(
    function: &'static str,
    unit: &str,
    count: &str,
    position: Option<(usize, usize)>,
) -> Result<Span, Error> {
    let fail = |reason| Error::Function { name: function, reason, position };
    let unit = unit.trim_matches('\'');
    let unit =
        Unit::named(unit).ok_or_else(|| fail(format!("\"{unit}\" is none of {}", names())))?;
    let number = count.parse::<u32>().ok().filter(|count| *count > 0);
    let number =
        number.ok_or_else(|| fail(format!("\"{count}\" is not a whole number above 0")))?;
    Ok(Span::new(unit, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_known_by_name_and_letter() {
        assert_eq!(Unit::named("Hours").unwrap().name, "hour");
        assert_eq!(Unit::lettered("m").unwrap().name, "month");
        assert_eq!(Unit::lettered("t").unwrap().name, "minute");
        assert_eq!(Unit::named("fortnight"), None);
    }

    #[test]
    fn a_span_counts_months_or_microseconds() {
        let of = |unit, count| Span::new(Unit::named(unit).unwrap(), count);
        assert_eq!(of("quarter", 2), Span { months: 6, micros: 0 });
        assert_eq!(of("week", 1), Span { months: 0, micros: 7 * DAY });
        assert_eq!(of("day", 1).interval(), "86400000000 microseconds");
    }
}
