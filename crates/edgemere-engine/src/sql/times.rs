//! Times as texts, written digit by digit: a result has many of them, and going through a format
//! for each takes most of the time that writing the result takes.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringBuilder};
use arrow::compute::{cast, max, min};
use arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use arrow::error::ArrowError;

use super::batch::Times;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// From the beginning of the year 0 to that of 1970, and of 1970 to that of 10000, in microseconds:
/// the years that have four digits.
const FIRST: i64 = -719_528 * DAY;
const END: i64 = 2_932_897 * DAY;

/// How many bytes a time takes.
const LENGTH: usize = "2026-01-01T20:00:00.500000Z".len();

/// A column of times as texts; none when it is of another type or has years of more digits.
pub(super) fn texts(column: &ArrayRef, times: Times) -> Result<Option<ArrayRef>, ArrowError> {
    if !matches!(column.data_type(), DataType::Timestamp(_, None)) {
        return Ok(None);
    }
    let column = cast(column, &DataType::Timestamp(TimeUnit::Microsecond, None))?;
    let column = column.as_primitive::<TimestampMicrosecondType>();
    let fits = |time: Option<i64>| time.is_none_or(|time| (FIRST..END).contains(&time));
    if !fits(min(column)) || !fits(max(column)) {
        return Ok(None);
    }
    let mut texts = StringBuilder::with_capacity(column.len(), column.len() * LENGTH);
    let mut text = String::with_capacity(LENGTH);
    for time in column {
        texts.append_option(time.map(|time| {
            text.clear();
            write(&mut text, time, times);
            text.as_str()
        }));
    }
    Ok(Some(Arc::new(texts.finish())))
}

fn write(text: &mut String, time: i64, times: Times) {
    let (year, month, day) = date(time.div_euclid(DAY));
    let within = time.rem_euclid(DAY);
    let second = within / SECOND;
    let (between, after) = match times {
        Times::Plain | Times::Brief => (' ', ""),
        Times::Utc => ('T', "Z"),
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
    if fraction != 0 || times != Times::Brief {
        text.push('.');
        digits(text, fraction, 6);
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
    use arrow::array::{Array, TimestampMicrosecondArray, TimestampSecondArray};
    use arrow::util::display::{ArrayFormatter, FormatOptions};

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
            write(&mut text, time, Times::Plain);
            assert_eq!(text, by_format(time));
            // About 97 days, so that every month, day and leap year comes by.
            time += 97 * DAY + 7 * 3600 * SECOND + 1_234_567;
        }
        for time in [FIRST, END - 1, -1, 0, 951_782_400 * SECOND, 951_868_799 * SECOND] {
            let mut text = String::new();
            write(&mut text, time, Times::Plain);
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
        assert!(texts(&(Arc::new(zoned) as ArrayRef), Times::Plain).unwrap().is_none());
    }
}
