//! `time_bin(time, months, microseconds)`: the beginning of the span of time that a time is in.
//!
//! Spans of months and years begin with the month or the year, counted from the year 0; all others
//! are counted from Monday, 1970-01-05, so that weeks begin on Mondays and days at midnight, in UTC.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{DataType, Int64Type, TimeUnit, TimestampMicrosecondType};
use datafusion::common::{Result, exec_err};

use crate::sql::functions::Definition;
use crate::sql::functions::Takes;

pub(super) const FUNCTION: Definition = Definition {
    name: "time_bin",
    written: "increments",
    takes: &[Takes::PlainTime, Takes::Whole, Takes::Whole],
    gives: || DataType::Timestamp(TimeUnit::Microsecond, None),
    run,
};

pub(super) const DAY: i64 = 86_400_000_000;

/// 1970-01-05, which is a Monday.
const MONDAY: i64 = 4 * DAY;

fn run(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let [times, months, micros] = arguments else {
        return exec_err!("time_bin takes three values");
    };
    let times = times.as_primitive::<TimestampMicrosecondType>();
    let (months, micros) = (months.as_primitive::<Int64Type>(), micros.as_primitive::<Int64Type>());
    let bins: PrimitiveArray<TimestampMicrosecondType> = times
        .iter()
        .zip(months.iter().zip(micros.iter()))
        .map(|(time, (months, micros))| begin(time?, months?, micros?))
        .collect();
    Ok(Arc::new(bins))
}

/// The beginning of a span; none when there is no such time.
fn begin(time: i64, months: i64, micros: i64) -> Option<i64> {
    match (months, micros) {
        (0, 1..) => {
            let after = time.checked_sub(MONDAY)?.rem_euclid(micros);
            time.checked_sub(after)
        }
        (1.., 0) => {
            let month = month_of(time.div_euclid(DAY));
            first_day(month - month.rem_euclid(months)).checked_mul(DAY)
        }
        _ => None,
    }
}

/// The month, counted from January of the year 0, that a day since 1970-01-01 is in.
///
/// The calendar's arithmetic is the usual one: years begin in March, so that the day of a leap year
/// is the last, and 400 of them are always as many days.
pub(super) fn month_of(day: i64) -> i64 {
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let day_of_era = day.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    (year_of_era + era * 400) * 12 + month_from_march + 2
}

/// The first day of a month, since 1970-01-01.
pub(super) fn first_day(month: i64) -> i64 {
    let from_march = month - 2;
    let (year, month) = (from_march.div_euclid(12), from_march.rem_euclid(12));
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * month + 2) / 5;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(text: &str) -> i64 {
        let time: jiff::civil::DateTime = text.parse().unwrap();
        time.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp().as_microsecond()
    }

    fn binned(text: &str, months: i64, spans: i64) -> String {
        let begin = begin(micros(text), months, spans).unwrap();
        jiff::Timestamp::from_microsecond(begin).unwrap().to_string()
    }

    #[test]
    fn months_quarters_and_years_begin_with_their_first_day() {
        assert_eq!(binned("2024-02-29T23:59:59.999999", 1, 0), "2024-02-01T00:00:00Z");
        assert_eq!(binned("2026-05-17T10:00:00", 3, 0), "2026-04-01T00:00:00Z");
        assert_eq!(binned("2026-12-31T10:00:00", 12, 0), "2026-01-01T00:00:00Z");
        assert_eq!(binned("2026-12-31T10:00:00", 120, 0), "2020-01-01T00:00:00Z");
        assert_eq!(binned("1969-12-31T23:59:59", 1, 0), "1969-12-01T00:00:00Z");
        assert_eq!(binned("1583-01-01T00:00:00", 3, 0), "1583-01-01T00:00:00Z");
    }

    #[test]
    fn weeks_begin_on_mondays_and_days_at_midnight() {
        assert_eq!(binned("2026-11-15T12:00:00", 0, 7 * DAY), "2026-11-09T00:00:00Z");
        assert_eq!(binned("1969-12-31T12:00:00", 0, DAY), "1969-12-31T00:00:00Z");
        assert_eq!(binned("1969-12-31T23:59:59.5", 0, 6 * 3_600_000_000), "1969-12-31T18:00:00Z");
        assert_eq!(binned("3000-06-01T01:30:00", 0, 3_600_000_000), "3000-06-01T01:00:00Z");
    }

    #[test]
    fn every_day_is_in_the_month_that_it_is_in() {
        for day in (-800_000..800_000).step_by(13) {
            let date = jiff::civil::date(1970, 1, 1)
                .checked_add(jiff::Span::new().days(i32::try_from(day).unwrap()))
                .unwrap();
            let month = i64::from(date.year()) * 12 + i64::from(date.month()) - 1;
            assert_eq!(month_of(day), month, "{date}");
            assert_eq!(first_day(month), day + 1 - i64::from(date.day()), "{date}");
        }
    }
}
