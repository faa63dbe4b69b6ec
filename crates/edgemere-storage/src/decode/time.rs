//! Reads timestamps, dates and times of day from text.
//!
//! The usual forms are read by position; the rest of ISO 8601 that begins with a full date is left
//! to jiff.

use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};

/// How many nanoseconds a microsecond has.
const NANOS: i64 = 1000;
const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The length of `YYYY-MM-DD`.
const DATE_LENGTH: usize = 10;
/// The length of `HH:MM:SS`.
const TIME_LENGTH: usize = 8;
/// The longest text that is looked at: a timestamp with nine digits and an offset, and some more.
const LENGTH_MAX: usize = 40;

/// The length of a timestamp with six digits of a second, which is the longest without more.
const MICROS_LENGTH: usize = "2026-12-31T23:59:59.123456".len();

/// A moment: microseconds of UTC, and nanoseconds beyond them.
type Moment = (i64, i64);

/// What a text looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A date with a time of day.
    Timestamp,
    /// The same, with digits beyond microseconds.
    Nanoseconds,
    /// The same, of a time that cannot be counted in nanoseconds.
    FarTimestamp,
    /// A date alone.
    Date,
    /// A time of day.
    Time,
    /// Anything else.
    Other,
}

/// What a text looks like.
pub(super) fn form(text: &str) -> Form {
    let begins = text.as_bytes().first().is_some_and(u8::is_ascii_digit);
    if !begins || text.len() < TIME_LENGTH || text.len() > LENGTH_MAX {
        return Form::Other;
    }
    match text.len() {
        DATE_LENGTH if date(text).is_some() => Form::Date,
        _ if text.as_bytes().get(2) == Some(&b':') && time(text).is_some() => Form::Time,
        length if length > DATE_LENGTH => match moment(text) {
            Some(moment) if in_nanoseconds(moment).is_none() => Form::FarTimestamp,
            Some((_, 0)) => Form::Timestamp,
            Some(_) => Form::Nanoseconds,
            None => Form::Other,
        },
        _ => Form::Other,
    }
}

/// Whether a text is a timestamp with digits beyond microseconds.
pub(super) fn is_fine(text: &str) -> bool {
    text.len() > MICROS_LENGTH && moment(text).is_some_and(|(_, nanos)| nanos != 0)
}

/// A timestamp in nanoseconds of UTC, if it can be counted so.
pub(super) fn nanoseconds(text: &str) -> Option<i64> {
    moment(text).and_then(in_nanoseconds)
}

fn in_nanoseconds((micros, nanos): Moment) -> Option<i64> {
    micros.checked_mul(NANOS)?.checked_add(nanos)
}

/// A timestamp in microseconds of UTC. Without a zone it is taken for UTC, and a date alone is its
/// first moment.
pub(super) fn timestamp(text: &str) -> Option<i64> {
    moment(text).map(|(micros, _)| micros)
}

fn moment(text: &str) -> Option<Moment> {
    let (day, rest) = text.split_at_checked(DATE_LENGTH)?;
    let days = i64::from(date(day)?);
    match rest.as_bytes().first() {
        None => return Some((days * DAY, 0)),
        Some(b'T' | b't' | b' ') => {}
        Some(_) => return None,
    }
    let clock = rest.get(1..)?;
    usual(days, clock).or_else(|| unusual(text))
}

/// A date in days.
pub(super) fn date(text: &str) -> Option<i32> {
    let bytes: &[u8; DATE_LENGTH] = text.as_bytes().try_into().ok()?;
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *bytes else { return None };
    let year = two(y1, y2)? * 100 + two(y3, y4)?;
    let (month, day) = (two(m1, m2)?, two(d1, d2)?);
    if !(1..=12).contains(&month) || day == 0 || day > days_of(month, year) {
        return None;
    }
    i32::try_from(days_before(year, month, day)).ok()
}

/// A time of day in microseconds.
pub(super) fn time(text: &str) -> Option<i64> {
    match clock(text)? {
        ((time, _), "") => Some(time),
        _ => None,
    }
}

/// A span of time in microseconds: as on a clock, with any number of hours.
pub(super) fn span(text: &str) -> Option<i64> {
    let (sign, clock_text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (hours, _) = clock_text.split_once(':')?;
    let hours: i64 = Some(hours)
        .filter(|hours| hours.bytes().all(|byte| byte.is_ascii_digit()))?
        .parse()
        .ok()?;
    let minutes = format!("00{}", clock_text.get(clock_text.find(':')?..)?);
    match clock(&minutes)? {
        ((rest, 0), "") => hours.checked_mul(HOUR)?.checked_add(rest)?.checked_mul(sign),
        _ => None,
    }
}

fn usual(days: i64, text: &str) -> Option<Moment> {
    let ((time, nanos), zone) = clock(text)?;
    Some((days * DAY + time - offset(zone)?, nanos))
}

/// Leaves a text to jiff that begins with a full date: no seconds, a leap second, a comma for the
/// point, a short offset.
fn unusual(text: &str) -> Option<Moment> {
    // A zone by name in brackets would be passed over.
    if text.len() > LENGTH_MAX || text.contains('[') {
        return None;
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return micros(time);
    }
    let time: civil::DateTime = text.parse().ok()?;
    // An offset that is no timestamp's must not be passed over either.
    let zone = text.get(DATE_LENGTH..)?.contains(['+', '-', 'Z', 'z']);
    if zone {
        return None;
    }
    micros(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

fn micros(time: Timestamp) -> Option<Moment> {
    let (nanos, unit) = (time.as_nanosecond(), i128::from(NANOS));
    Some((nanos.div_euclid(unit).try_into().ok()?, nanos.rem_euclid(unit).try_into().ok()?))
}

/// `HH:MM:SS` with or without a fraction, and what comes after.
fn clock(text: &str) -> Option<(Moment, &str)> {
    let (clock, rest) = text.split_at_checked(TIME_LENGTH)?;
    let bytes: &[u8; TIME_LENGTH] = clock.as_bytes().try_into().ok()?;
    let [h1, h2, b':', m1, m2, b':', s1, s2] = *bytes else { return None };
    let (hour, minute, second) = (two(h1, h2)?, two(m1, m2)?, two(s1, s2)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => fraction(rest)?,
        None => (0, rest),
    };
    let micros = hour * HOUR + minute * MINUTE + second * SECOND + fraction / NANOS;
    Some(((micros, fraction % NANOS), rest))
}

/// One to nine digits as nanoseconds, and what comes after.
fn fraction(text: &str) -> Option<(i64, &str)> {
    const NANO_DIGITS: usize = 9;
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=NANO_DIGITS).contains(&length) {
        return None;
    }
    let (digits, rest) = text.split_at_checked(length)?;
    let padded = digits.bytes().chain(std::iter::repeat(b'0')).take(NANO_DIGITS);
    Some((padded.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')), rest))
}

/// The microseconds by which a zone is ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    match *zone.as_bytes() {
        [] | [b'Z' | b'z'] => Some(0),
        [sign, h1, h2, b':', m1, m2] | [sign, h1, h2, m1, m2] => {
            let (hour, minute) = (two(h1, h2)?, two(m1, m2)?);
            let ahead = hour * HOUR + minute * MINUTE;
            match sign {
                _ if hour > 23 || minute > 59 => None,
                b'+' => Some(ahead),
                b'-' => Some(-ahead),
                _ => None,
            }
        }
        _ => None,
    }
}

fn two(tens: u8, ones: u8) -> Option<i64> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    Some(digit(tens)? * 10 + digit(ones)?)
}

fn days_of(month: i64, year: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days from 1970-01-01 to a date. The year is counted from March, so that the leap day is its
/// last.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
        - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2026-02-01T00:00:00Z.
    const FEBRUARY: i64 = 1_769_904_000 * SECOND;

    #[test]
    fn timestamps() {
        for (text, offset) in [
            ("2026-02-01T00:00:00Z", 0),
            ("2026-02-01t00:00:00z", 0),
            ("2026-02-01 00:00:00", 0),
            ("2026-02-01T00:00:00", 0),
            ("2026-02-01", 0),
            ("2026-02-01T00:00:01.123456Z", SECOND + 123_456),
            ("2026-02-01T00:00:01.5", SECOND + 500_000),
            ("2026-02-01T00:00:00.000001999Z", 1),
            ("2026-02-01T02:00:00+02:00", 0),
            ("2026-01-31T19:00:00-0500", 0),
            ("2026-01-31T18:30:00.25-05:30", 250_000),
            ("2026-02-01T02:00:00+02", 0),
            ("2026-02-01T00:05", 5 * MINUTE),
            ("2026-02-01T00:05Z", 5 * MINUTE),
            ("2026-02-01 00:00:00,25", 250_000),
        ] {
            assert_eq!(timestamp(text), Some(FEBRUARY + offset), "{text}");
        }
        assert_eq!(timestamp("0000-01-01"), Some(-719_528 * DAY));
        assert_eq!(timestamp("9999-12-31T23:59:59.999999Z"), Some(253_402_300_799_999_999));
    }

    #[test]
    fn not_timestamps() {
        for text in [
            "",
            "20260201",
            "20260201T000000Z",
            "2026-02-30T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-02-01T24:00:00Z",
            "2026-02-01T00:00:00Zx",
            "2026-02-01T00:00:00.Z",
            "2026-02-01T00:00:00[Europe/Berlin]",
            "2026-02-01T00:00:00+26:00",
            "2026-02-01x00:00:00",
            "2026-02-01T",
            "2026-02-01 some text",
            "1769904000",
            "2026-02-0é",
        ] {
            assert_eq!(timestamp(text), None, "{text}");
        }
    }

    #[test]
    fn forms() {
        for (text, expected) in [
            ("2026-02-01T00:00:00Z", Form::Timestamp),
            ("2026-02-01T00:00:00.123456000Z", Form::Timestamp),
            ("2026-02-01T00:00:00.123456789Z", Form::Nanoseconds),
            ("9999-12-31T00:00:00.123456789Z", Form::FarTimestamp),
            ("9999-12-31T00:00:00", Form::FarTimestamp),
            ("2026-02-01", Form::Date),
            ("2026-02-31", Form::Other),
            ("12:30:00", Form::Time),
            ("12:30:00.5", Form::Time),
            ("12:30:00.1234567", Form::Time),
            ("24:30:00", Form::Other),
            ("12:30", Form::Other),
            ("sensor-0", Form::Other),
            ("12345678", Form::Other),
            ("1234567890", Form::Other),
            ("", Form::Other),
        ] {
            assert_eq!(form(text), expected, "{text}");
        }
        assert_eq!(time("23:59:59.999999"), Some(DAY - 1));
    }

    proptest! {
        /// What is read by position is what jiff reads.
        #[test]
        fn agrees_with_jiff(second in -62_000_000_000_i64..253_000_000_000, nano in 0..1_000_000_000_i32) {
            let time = Timestamp::new(second, nano).unwrap();
            let text = time.to_string();
            let micros = i64::try_from(time.as_nanosecond().div_euclid(1000)).unwrap();
            prop_assert_eq!(timestamp(&text), Some(micros), "{}", text);
            let day = text.get(..10).unwrap();
            let read = usual(i64::from(date(day).unwrap()), text.get(11..).unwrap()).unwrap();
            prop_assert_eq!(i128::from(read.0) * 1000 + i128::from(read.1), time.as_nanosecond());
            prop_assert_eq!(nanoseconds(&text).map(i128::from), i64::try_from(time.as_nanosecond()).ok().map(i128::from));
        }

        #[test]
        fn never_panics(text in "[0-9TZz:+. é-]{0,45}") {
            form(&text);
        }
    }
}
