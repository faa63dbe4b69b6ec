//! `max_time = 10`, `max_time = 2 minutes`: how long a query may take.

use std::time::Duration;

use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::options::Options;
use crate::language::term::Term;

/// How long a query may be given, in seconds.
const SECONDS_MAX: u64 = 24 * 3600;

const KEY: &str = "max_time";

/// Takes the unit that may follow the number.
pub(super) fn take_unit(cursor: &mut Cursor<'_>, options: &mut Options) {
    let Some(unit) = cursor.peek_keyword().filter(|word| unit_seconds(word).is_some()) else {
        return;
    };
    if let Some(Term::Word(number)) = options.get(KEY) {
        let time = Term::Quoted(format!("{number} {unit}"));
        options.set(KEY, time);
        cursor.take();
    }
}

/// The time that is given.
pub(super) fn of(options: &Options, context: &Context<'_>) -> Result<Option<Duration>, Error> {
    let Some(term) = options.get(KEY) else { return Ok(None) };
    let text = term.text(context.variables())?;
    let seconds = seconds(&text).filter(|seconds| (1..=SECONDS_MAX).contains(seconds));
    let seconds = seconds.ok_or_else(|| Error::BadValue {
        key: KEY.into(),
        value: text,
        expected: format!("1 to {SECONDS_MAX} seconds, or a time as 2 minutes"),
        at: None,
    })?;
    Ok(Some(Duration::from_secs(seconds)))
}

fn seconds(text: &str) -> Option<u64> {
    let (number, unit) = match text.trim().split_once(' ') {
        Some((number, unit)) => (number, unit_seconds(unit.trim())?),
        None => (text, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

fn unit_seconds(unit: &str) -> Option<u64> {
    let unit = unit.to_lowercase();
    match unit.strip_suffix('s').unwrap_or(&unit) {
        "second" => Some(1),
        "minute" => Some(60),
        "hour" => Some(3600),
        "day" => Some(24 * 3600),
        _ => None,
    }
}
