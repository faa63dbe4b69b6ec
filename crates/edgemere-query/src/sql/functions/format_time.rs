//! `format_time(time, '%d/%m/%Y')`: times as `strftime` writes them, in their zone.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringBuilder, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, TimestampMicrosecondType};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::{Result, exec_err};

use crate::sql::functions::Definition;
use crate::sql::functions::Takes;

pub(super) const FUNCTION: Definition = Definition {
    name: "format_time",
    written: "::datetime",
    takes: &[Takes::Time, Takes::Text],
    gives: || DataType::Utf8,
    run,
};

fn run(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let [times, formats] = arguments else {
        return exec_err!("format_time takes a time and a format");
    };
    let times = with_zone(times);
    let formats = formats.as_string::<i32>();
    // A format is nearly always the same in all rows.
    let Some(format) = formats.iter().flatten().next() else {
        return Ok(arrow::array::new_null_array(&DataType::Utf8, times.len()));
    };
    if formats.iter().flatten().any(|other| other != format) {
        return exec_err!("format_time needs the same format for all rows");
    }
    let format = of_python(format);
    let options = FormatOptions::new().with_timestamp_tz_format(Some(&format));
    let formatter = ArrayFormatter::try_new(times.as_ref(), &options)?;
    let mut texts = StringBuilder::new();
    for row in 0..times.len() {
        if times.is_null(row) || formats.is_null(row) {
            texts.append_null();
            continue;
        }
        let text = formatter.value(row).try_to_string()?;
        texts.append_value(text);
    }
    Ok(Arc::new(texts.finish()))
}

/// Times that have no zone are in UTC.
fn with_zone(times: &ArrayRef) -> ArrayRef {
    match times.data_type() {
        DataType::Timestamp(_, None) => {
            let times = times.as_primitive::<TimestampMicrosecondType>();
            Arc::new(times.clone().with_timezone("UTC"))
        }
        _ => Arc::clone(times),
    }
}

/// Python's `%f` is microseconds, where our library's is nanoseconds.
fn of_python(format: &str) -> String {
    let mut translated = String::new();
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        translated.push(character);
        if character != '%' {
            continue;
        }
        match characters.next() {
            Some('f') => translated.push_str("6f"),
            Some(other) => translated.push(other),
            None => {}
        }
    }
    translated
}

/// Why a format is none, if it is none.
pub(in crate::sql) fn check(format: &str) -> std::result::Result<(), String> {
    let translated = of_python(format);
    let sample = TimestampMicrosecondArray::from(vec![0]).with_timezone("UTC");
    let options = FormatOptions::new().with_timestamp_tz_format(Some(&translated));
    let formatter =
        ArrayFormatter::try_new(&sample, &options).map_err(|error| error.to_string())?;
    let text = formatter.value(0).try_to_string();
    text.map(|_| ())
        .map_err(|_| format!("\"{format}\" is no format for times: use %Y, %m, %d, %H, %M, %S, %f"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_microseconds() {
        assert_eq!(of_python("%H:%M:%S.%f%%f"), "%H:%M:%S.%6f%%f");
    }

    #[test]
    fn a_format_that_is_none_is_told() {
        assert!(check("%d-%b-%Y %H:%M").is_ok());
        assert!(check("year").is_ok());
        assert!(check("%Q").is_err());
    }
}
