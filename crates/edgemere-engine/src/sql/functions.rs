//! Functions of EdgeLake's that DataFusion does not have.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{ColumnarValue, Volatility, create_udf};
use datafusion::prelude::SessionContext;

/// Makes the functions known to a session.
pub(super) fn register(context: &SessionContext) {
    context.register_udf(create_udf(
        "format_number",
        vec![DataType::Float64, DataType::Utf8],
        DataType::Utf8,
        Volatility::Immutable,
        Arc::new(format_number),
    ));
}

/// `format_number(x, ':,.2f')`: numbers as Python's format writes them.
fn format_number(arguments: &[ColumnarValue]) -> Result<ColumnarValue> {
    let arrays = ColumnarValue::values_to_arrays(arguments)?;
    let [numbers, formats] = arrays.as_slice() else {
        return exec_err!("format takes a number and a format");
    };
    let numbers = cast(numbers, &DataType::Float64)?;
    let numbers = numbers.as_primitive::<Float64Type>();
    let formats = cast(formats, &DataType::Utf8)?;
    let formats = formats.as_string::<i32>();
    let mut texts = StringBuilder::new();
    for (number, format) in numbers.iter().zip(formats.iter()) {
        texts.append_option(number.zip(format).map(|(number, format)| formatted(number, format)));
    }
    Ok(ColumnarValue::Array(Arc::new(texts.finish()) as ArrayRef))
}

/// The part of Python's format language that is about numbers: `,` for thousands, `.N` for digits.
fn formatted(number: f64, format: &str) -> String {
    let format = format.trim_start_matches(':');
    let digits = format.split_once('.').and_then(|(_, rest)| {
        rest.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<usize>().ok()
    });
    let text = match digits {
        Some(digits) => format!("{number:.digits$}"),
        None => number.to_string(),
    };
    if format.contains(',') { with_commas(&text) } else { text }
}

fn with_commas(text: &str) -> String {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(w, f)| (w, Some(f)));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match fraction {
        Some(fraction) => format!("{sign}{grouped}.{fraction}"),
        None => format!("{sign}{grouped}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        assert_eq!(formatted(1234567.0, ":,"), "1,234,567");
        assert_eq!(formatted(-1234.5, ":,.2f"), "-1,234.50");
        assert_eq!(formatted(0.5, ":.3f"), "0.500");
        assert_eq!(formatted(999.0, ","), "999");
    }
}
