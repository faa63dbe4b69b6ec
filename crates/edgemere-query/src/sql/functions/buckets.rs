//! Buckets of time: where each begins, in UTC or as clocks of a zone show it, and which comes next.
//! All times are microseconds since 1970. Knows no SQL.

use std::str::FromStr;

use arrow::array::temporal_conversions::as_datetime_with_timezone;
use arrow::array::timezone::Tz;
use arrow::datatypes::{IntervalMonthDayNano, TimestampMicrosecondType};
use datafusion::common::{Result, exec_err};

use crate::sql::functions::time_bin::{DAY, first_day, month_of};
use crate::sql::output::zone::Zone;

/// 2000-01-03, a Monday: where buckets of weeks, days and less begin.
const MONDAY: i64 = 10_959 * DAY;

/// 2000-01-01: where buckets of months and years begin.
const NEW_YEAR: i64 = 10_957 * DAY;

/// How far the offset of a zone is looked for before and after a change of its clocks.
const NEAR: i64 = DAY;

/// How far the next bucket is looked for beyond the width, in steps: clocks are set back by less.
const LATER: [i64; 5] = [0, 1_800_000_000, 3_600_000_000, 7_200_000_000, DAY];

/// Buckets of one width.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buckets {
    width: Width,
    /// A time at which a bucket begins, by the clocks of the zone.
    origin: i64,
    zone: Option<Tz>,
}

#[derive(Clone, Copy, Debug)]
enum Width {
    Months(i64),
    Micros(i64),
}

impl Buckets {
    /// Buckets of a width, which may begin at another time, and go by the clocks of a zone.
    pub(super) fn new(
        width: IntervalMonthDayNano,
        zone: Option<&str>,
        origin: Option<i64>,
    ) -> Result<Self> {
        let width = width_of(width)?;
        let zone = zone.map(zone_of).transpose()?.flatten();
        let origin = match (origin, width) {
            (Some(origin), _) => origin,
            (None, Width::Months(_)) => NEW_YEAR,
            (None, Width::Micros(_)) => MONDAY,
        };
        if let Width::Months(_) = width {
            let day = origin.div_euclid(DAY);
            if day - first_day(month_of(day)) > 27 {
                return exec_err!("buckets of months begin on one of the first 28 days of a month");
            }
        }
        Ok(Self { width, origin, zone })
    }

    /// When the bucket begins that a time is in; none when there is no such time.
    pub(super) fn start(&self, time: i64) -> Option<i64> {
        let Some(zone) = self.zone else { return self.floor(time) };
        let offset = offset(zone, time)?;
        let local = self.floor(time.checked_add(offset)?)?;
        // Where clocks were not changed in between, and in the hour that comes twice.
        let plain = local.checked_sub(offset)?;
        match self::offset(zone, plain)? == offset {
            true => Some(plain),
            false => Some(instant(zone, local)?.min(time)),
        }
    }

    /// When the next bucket begins.
    pub(super) fn next(&self, start: i64) -> Option<i64> {
        let width = match self.width {
            Width::Micros(width) => width,
            Width::Months(months) => {
                let local = start.checked_add(self.offset(start)?)?;
                let next = moved(local, months)?;
                return match self.zone {
                    Some(zone) => instant(zone, next),
                    None => Some(next),
                };
            }
        };
        if self.zone.is_none() {
            return start.checked_add(width);
        }
        let later = LATER
            .iter()
            .filter_map(|more| self.start(start.checked_add(width)?.checked_add(*more)?));
        let mut later = later.filter(|next| *next > start);
        later.next()
    }

    fn offset(&self, time: i64) -> Option<i64> {
        self.zone.map_or(Some(0), |zone| offset(zone, time))
    }

    /// The same without a zone.
    fn floor(&self, time: i64) -> Option<i64> {
        match self.width {
            Width::Micros(width) => {
                time.checked_sub(time.checked_sub(self.origin)?.rem_euclid(width))
            }
            Width::Months(months) => {
                let first = month_of(self.origin.div_euclid(DAY));
                let inside = self.origin - first_day(first) * DAY;
                let month = month_of(time.checked_sub(inside)?.div_euclid(DAY));
                let month = month - (month - first).rem_euclid(months);
                first_day(month).checked_mul(DAY)?.checked_add(inside)
            }
        }
    }
}

/// A time so many months later.
fn moved(time: i64, months: i64) -> Option<i64> {
    let month = month_of(time.div_euclid(DAY));
    let inside = time - first_day(month) * DAY;
    first_day(month.checked_add(months)?).checked_mul(DAY)?.checked_add(inside)
}

fn width_of(width: IntervalMonthDayNano) -> Result<Width> {
    let IntervalMonthDayNano { months, days, nanoseconds } = width;
    let micros = i64::from(days) * DAY + nanoseconds / 1000;
    match (months, micros) {
        (1.., 0) if nanoseconds == 0 => Ok(Width::Months(months.into())),
        (0, 1..) if nanoseconds % 1000 == 0 => Ok(Width::Micros(micros)),
        (0, _) => exec_err!("a bucket is a microsecond wide or more, in whole microseconds"),
        _ => exec_err!(
            "a bucket is as wide as some months, or as some days, hours or less: not both"
        ),
    }
}

/// A zone by its name; none for UTC.
fn zone_of(name: &str) -> Result<Option<Tz>> {
    let zone = Zone::named(name).ok().and_then(|zone| Tz::from_str(&zone.name()).ok());
    match zone {
        Some(_) if name.eq_ignore_ascii_case("utc") => Ok(None),
        Some(zone) => Ok(Some(zone)),
        None => exec_err!(
            "there is no time zone \"{name}\": write one as 'Europe/Rome', '+02:00' or 'utc'"
        ),
    }
}

/// How far the clocks of a zone are ahead of UTC at a time.
fn offset(zone: Tz, time: i64) -> Option<i64> {
    let time = as_datetime_with_timezone::<TimestampMicrosecondType>(time, zone)?;
    let (local, utc) = (time.naive_local().and_utc(), time.naive_utc().and_utc());
    Some(local.timestamp_micros() - utc.timestamp_micros())
}

/// The first time at which clocks of a zone show a time, or when they are set to a later one.
fn instant(zone: Tz, local: i64) -> Option<i64> {
    let before = offset(zone, local.checked_sub(NEAR)?)?;
    let after = offset(zone, local.checked_add(NEAR)?)?;
    let mut shown = [before, after].into_iter().filter_map(|ahead| {
        let time = local.checked_sub(ahead)?;
        (offset(zone, time)? == ahead).then_some(time)
    });
    if let Some(first) = shown.next() {
        return Some(shown.next().map_or(first, |second| first.min(second)));
    }
    // No clock shows it: they are set forward in between.
    let (mut early, mut late) = (local.checked_sub(after)?, local.checked_sub(before)?);
    while late - early > 1 {
        let middle = early + (late - early) / 2;
        match offset(zone, middle)? == before {
            true => early = middle,
            false => late = middle,
        }
    }
    Some(late)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000;

    fn interval(months: i32, days: i32, micros: i64) -> IntervalMonthDayNano {
        IntervalMonthDayNano::new(months, days, micros * 1000)
    }

    fn micros(text: &str) -> i64 {
        text.parse::<jiff::Timestamp>().unwrap().as_microsecond()
    }

    fn shown(time: i64) -> String {
        jiff::Timestamp::from_microsecond(time).unwrap().to_string()
    }

    fn started(buckets: &Buckets, time: &str) -> String {
        shown(buckets.start(micros(time)).unwrap())
    }

    #[test]
    fn buckets_begin_on_mondays_at_midnight_and_with_months() {
        let plain = |width| Buckets::new(width, None, None).unwrap();
        let cases = [
            (interval(0, 7, 0), "2026-11-15T12:00:00Z", "2026-11-09T00:00:00Z"),
            (interval(0, 1, 0), "1969-12-31T12:00:00Z", "1969-12-31T00:00:00Z"),
            (interval(0, 0, 6 * HOUR), "1969-12-31T23:59:59.5Z", "1969-12-31T18:00:00Z"),
            (interval(1, 0, 0), "2024-02-29T23:59:59.999999Z", "2024-02-01T00:00:00Z"),
            (interval(3, 0, 0), "2026-05-17T10:00:00Z", "2026-04-01T00:00:00Z"),
            (interval(12, 0, 0), "1999-12-31T10:00:00Z", "1999-01-01T00:00:00Z"),
        ];
        for (width, time, start) in cases {
            assert_eq!(started(&plain(width), time), start);
        }
    }

    #[test]
    fn buckets_begin_at_an_origin() {
        let at = Buckets::new(interval(0, 1, 0), None, Some(6 * HOUR)).unwrap();
        assert_eq!(started(&at, "2026-01-02T05:59:59Z"), "2026-01-01T06:00:00Z");
        let origin = micros("2026-01-15T00:00:00Z");
        let months = Buckets::new(interval(1, 0, 0), None, Some(origin)).unwrap();
        assert_eq!(started(&months, "2026-03-14T23:00:00Z"), "2026-02-15T00:00:00Z");
        let origin = micros("2026-01-31T00:00:00Z");
        assert!(Buckets::new(interval(1, 0, 0), None, Some(origin)).is_err());
    }

    #[test]
    fn days_of_a_zone_have_the_hours_that_they_have() {
        let days = Buckets::new(interval(0, 1, 0), Some("Europe/Berlin"), None).unwrap();
        // 2026-03-29 has 23 hours there, and 2026-10-25 has 25.
        assert_eq!(started(&days, "2026-03-29T12:00:00Z"), "2026-03-28T23:00:00Z");
        assert_eq!(started(&days, "2026-03-29T22:30:00Z"), "2026-03-29T22:00:00Z");
        assert_eq!(started(&days, "2026-10-25T22:59:00Z"), "2026-10-24T22:00:00Z");
        assert_eq!(started(&days, "2026-10-25T23:00:00Z"), "2026-10-25T23:00:00Z");
        let next = |start: &str| shown(days.next(micros(start)).unwrap());
        assert_eq!(next("2026-03-28T23:00:00Z"), "2026-03-29T22:00:00Z");
        assert_eq!(next("2026-10-24T22:00:00Z"), "2026-10-25T23:00:00Z");
    }

    #[test]
    fn the_hour_that_comes_twice_is_two_buckets() {
        let hours = Buckets::new(interval(0, 0, HOUR), Some("Europe/Berlin"), None).unwrap();
        assert_eq!(started(&hours, "2026-10-25T00:30:00Z"), "2026-10-25T00:00:00Z");
        assert_eq!(started(&hours, "2026-10-25T01:30:00Z"), "2026-10-25T01:00:00Z");
        let two = Buckets::new(interval(0, 0, 2 * HOUR), Some("Europe/Berlin"), None).unwrap();
        // No clock shows 02:00 on that day: the bucket begins when they are set to 03:00.
        assert_eq!(started(&two, "2026-03-29T01:10:00Z"), "2026-03-29T01:00:00Z");
    }

    /// Every bucket begins where the one before ends: a walk over a year meets them all.
    #[test]
    fn one_bucket_follows_the_other() {
        let zones = [None, Some("Europe/Berlin"), Some("Australia/Lord_Howe"), Some("pt")];
        let widths = [
            interval(0, 0, HOUR / 4),
            interval(0, 0, HOUR),
            interval(0, 0, 5 * HOUR),
            interval(0, 1, 0),
            interval(0, 7, 0),
            interval(1, 0, 0),
        ];
        let (from, until) = (micros("2026-01-01T00:00:00Z"), micros("2027-01-01T00:00:00Z"));
        for (zone, width) in zones.iter().flat_map(|zone| widths.iter().map(move |w| (zone, w))) {
            let buckets = Buckets::new(*width, *zone, None).unwrap();
            let mut start = buckets.start(from).unwrap();
            while start < until {
                let next = buckets.next(start).unwrap();
                assert!(next > start, "{zone:?} {width:?} {}", shown(start));
                for time in [start, start + 1, start + (next - start) / 2, next - 1] {
                    let found = buckets.start(time).unwrap();
                    assert_eq!(shown(found), shown(start), "{zone:?} {width:?} {}", shown(time));
                }
                start = next;
            }
        }
    }

    #[test]
    fn widths_and_zones_that_mean_nothing_are_refused() {
        let wrong = [
            interval(0, 0, 0),
            interval(0, -1, 0),
            interval(1, 1, 0),
            interval(-1, 0, 0),
            IntervalMonthDayNano::new(0, 0, 1),
            IntervalMonthDayNano::new(0, 0, 1500),
        ];
        for width in wrong {
            assert!(Buckets::new(width, None, None).is_err(), "{width:?}");
        }
        assert!(Buckets::new(interval(0, 1, 0), Some("moon"), None).is_err());
        assert_eq!(Buckets::new(interval(0, 1, 0), None, None).unwrap().start(i64::MIN), None);
    }
}
