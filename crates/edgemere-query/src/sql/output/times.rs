//! Times as texts, written digit by digit: a result has many of them, and going through a format
//! for each takes most of the time that writing the result takes.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray, StringBuilder};
use arrow::compute::{cast, max, min};
use arrow::datatypes::{DataType, Int64Type, TimeUnit, TimestampNanosecondType};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use crate::sql::output::batch::Times;
use crate::sql::output::zone::is_utc;

const NANOS: i64 = 1000;
const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// From the beginning of the year 0 to that of 1970, and of 1970 to that of 10000, in microseconds:
/// the years that have four digits.
const FIRST: i64 = -719_528 * DAY;
const END: i64 = 2_932_897 * DAY;

/// How many bytes a time takes.
const LENGTH: usize = "2026-01-01T20:00:00.500000001Z".len();

/// A column of times as texts; none when it is of another type or has years of more digits.
pub(crate) fn texts(column: &ArrayRef, times: Times) -> Result<Option<ArrayRef>, ArrowError> {
    let DataType::Timestamp(unit, zone) = column.data_type() else { return Ok(None) };
    let style = match zone.as_deref() {
        None => times,
        zone if times != Times::Clock && is_utc(zone) => times.of_moments(),
        zone if is_utc(zone) => times,
        Some(_) => return in_zone(column, times).map(Some),
    };
    let is_fine = *unit == TimeUnit::Nanosecond;
    let unit = if is_fine { TimeUnit::Nanosecond } else { TimeUnit::Microsecond };
    let column = cast(column, &DataType::Timestamp(unit, zone.clone()))?;
    let column = cast(&column, &DataType::Int64)?;
    let column = column.as_primitive::<Int64Type>();
    let moment = |time: i64| match is_fine {
        true => (time.div_euclid(NANOS), time.rem_euclid(NANOS)),
        false => (time, 0),
    };
    let fits = |time: Option<i64>| time.is_none_or(|time| (FIRST..END).contains(&moment(time).0));
    if !fits(min(column)) || !fits(max(column)) {
        return Ok(None);
    }
    let mut texts = StringBuilder::with_capacity(column.len(), column.len() * LENGTH);
    let mut text = String::with_capacity(LENGTH);
    for time in column {
        texts.append_option(time.map(|time| {
            text.clear();
            write(&mut text, moment(time), style);
            text.as_str()
        }));
    }
    Ok(Some(Arc::new(texts.finish())))
}

/// Times with a zone of their own as the clocks there show them, and by how much these are ahead of
/// UTC, unless that is not wanted.
fn in_zone(column: &ArrayRef, times: Times) -> Result<ArrayRef, ArrowError> {
    let nanos = column.as_primitive_opt::<TimestampNanosecondType>();
    let is_fine = nanos.is_some_and(|times| times.iter().flatten().any(|time| time % NANOS != 0));
    let format = match (is_fine, times) {
        (false, Times::Clock) => "%Y-%m-%d %H:%M:%S%.6f",
        (true, Times::Clock) => "%Y-%m-%d %H:%M:%S%.9f",
        (false, _) => "%Y-%m-%d %H:%M:%S%.6f%:z",
        (true, _) => "%Y-%m-%d %H:%M:%S%.9f%:z",
    };
    let options = FormatOptions::new().with_timestamp_tz_format(Some(format));
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options)?;
    let text = |row| column.is_valid(row).then(|| formatter.value(row).to_string());
    Ok(Arc::new((0..column.len()).map(text).collect::<StringArray>()))
}

fn write(text: &mut String, (time, nanos): (i64, i64), times: Times) {
    let (year, month, day) = date(time.div_euclid(DAY));
    let within = time.rem_euclid(DAY);
    let second = within / SECOND;
    let (between, after) = match times {
        Times::Plain | Times::Brief | Times::Clock => (' ', ""),
        Times::Utc | Times::BriefUtc => ('T', "Z"),
    };
    digits(text, year, 4);
    text.push('-');
    digits(text, month, 2);
    text.push('-');
    digits(text, day, 2);
    text.push(between);
    digits(text, second / 3600, 2);
    text.push(':');
    digits(text, second / 60 % 60, 2);
    text.push(':');
    digits(text, second % 60, 2);
    let fraction = within % SECOND;
    let is_brief = matches!(times, Times::Brief | Times::BriefUtc);
    if fraction != 0 || nanos != 0 || !is_brief {
        text.push('.');
        digits(text, fraction, 6);
    }
    if nanos != 0 {
        digits(text, nanos, 3);
    }
    text.push_str(after);
}

/// Writes the last digits of a number that is not negative.
fn digits(text: &mut String, number: i64, count: u32) {
    for place in (0..count).rev() {
        let digit = number / 10_i64.pow(place) % 10;
        text.push(char::from_digit(digit.unsigned_abs() as u32, 10).unwrap_or('0'));
    }
}

/// The year, the month and the day, of the number of days since 1970-01-01. The calendar is counted
/// from the first of March of the year 0, so that a leap day is the last of its year.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use arrow::array::{TimestampMicrosecondArray, TimestampNanosecondArray, TimestampSecondArray};

    use super::*;

    /// What Arrow makes of the same time.
    fn by_format(time: i64) -> String {
        let array = TimestampMicrosecondArray::from(vec![time]);
        let options = FormatOptions::new().with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.6f"));
        ArrayFormatter::try_new(&array, &options).unwrap().value(0).to_string()
    }

    #[test]
    fn times_look_as_the_format_would_write_them() {
        let mut time = FIRST;
        while time < END {
            let mut text = String::new();
            write(&mut text, (time, 0), Times::Plain);
            assert_eq!(text, by_format(time));
            // About 97 days, so that every month, day and leap year comes by.
            time += 97 * DAY + 7 * 3600 * SECOND + 1_234_567;
        }
        for time in [FIRST, END - 1, -1, 0, 951_782_400 * SECOND, 951_868_799 * SECOND] {
            let mut text = String::new();
            write(&mut text, (time, 0), Times::Plain);
            assert_eq!(text, by_format(time));
        }
    }

    #[test]
    fn nulls_stay_and_other_columns_are_left_alone() {
        let seconds: ArrayRef = Arc::new(TimestampSecondArray::from(vec![Some(1), None]));
        let shown = texts(&seconds, Times::Utc).unwrap().unwrap();
        assert_eq!(shown.as_string::<i32>().value(0), "1970-01-01T00:00:01.000000Z");
        assert!(shown.is_null(1));
        let far: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![END]));
        assert!(texts(&far, Times::Plain).unwrap().is_none());
        let zoned = TimestampMicrosecondArray::from(vec![0]).with_timezone("Europe/Rome");
        let zoned: ArrayRef = Arc::new(zoned);
        for (times, text) in [
            (Times::Plain, "1970-01-01 01:00:00.000000+01:00"),
            (Times::Clock, "1970-01-01 01:00:00.000000"),
        ] {
            let shown = texts(&zoned, times).unwrap().unwrap();
            assert_eq!(shown.as_string::<i32>().value(0), text);
        }
        let moments = TimestampNanosecondArray::from(vec![1_000_000_001, 2_000_000_000]);
        let moments: ArrayRef = Arc::new(moments.with_timezone("UTC"));
        for (times, first, second) in [
            (Times::Plain, "1970-01-01T00:00:01.000000001Z", "1970-01-01T00:00:02.000000Z"),
            (Times::Brief, "1970-01-01T00:00:01.000000001Z", "1970-01-01T00:00:02Z"),
            (Times::Clock, "1970-01-01 00:00:01.000000001", "1970-01-01 00:00:02.000000"),
        ] {
            let shown = texts(&moments, times).unwrap().unwrap();
            let shown = shown.as_string::<i32>();
            assert_eq!((shown.value(0), shown.value(1)), (first, second));
        }
    }
}
