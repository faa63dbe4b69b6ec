//! `time_difference(a, b)`: how far two times are apart, as `HH:MM:SS.ffffff`, whichever is later.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use datafusion::common::{Result, exec_err};

use crate::sql::functions::Definition;
use crate::sql::functions::Takes;

pub(super) const FUNCTION: Definition = Definition {
    name: "time_difference",
    written: "::timediff",
    takes: &[Takes::Time, Takes::Time],
    gives: || DataType::Utf8,
    run,
};

fn run(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let [one, other] = arguments else { return exec_err!("time_difference takes two times") };
    // As moments, so that times of different zones can be compared.
    let moment = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let (one, other) = (cast(one, &moment)?, cast(other, &moment)?);
    let one = one.as_primitive::<TimestampMicrosecondType>();
    let other = other.as_primitive::<TimestampMicrosecondType>();
    let mut texts = StringBuilder::new();
    for (one, other) in one.iter().zip(other.iter()) {
        texts.append_option(one.zip(other).map(|(one, other)| clock(one.abs_diff(other))));
    }
    Ok(Arc::new(texts.finish()))
}

/// Microseconds as on a clock, with as many hours as there are.
pub(in crate::sql) fn clock(micros: u64) -> String {
    let seconds = micros / 1_000_000;
    format!(
        "{:02}:{:02}:{:02}.{:06}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        micros % 1_000_000
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_go_on_beyond_a_day() {
        assert_eq!(clock(0), "00:00:00.000000");
        assert_eq!(clock(100 * 3_600_000_000 + 61_000_001), "100:01:01.000001");
    }
}
