//! How Python writes a JSON value, since EdgeLake's ids are hashes of that text.

use serde_json::{Number, Value};

use crate::printable::is_printable;

/// Python's `str(value)`: a text as it is, everything else as its `repr`.
pub(crate) fn str(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => out.push_str(text),
        _ => repr(value, out),
    }
}

/// Python's `repr(value)`.
pub(crate) fn repr(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Number(number) => repr_number(number, out),
        Value::String(text) => repr_text(text, out),
        Value::Array(list) => {
            out.push('[');
            separated(list, out, repr);
            out.push(']');
        }
        Value::Object(map) => repr_dict(map, out),
    }
}

/// Python's `repr` of a dictionary with these entries.
pub(crate) fn repr_dict<'a>(
    entries: impl IntoIterator<Item = (&'a String, &'a Value)>,
    out: &mut String,
) {
    out.push('{');
    separated(entries, out, |(key, value), out| {
        repr_text(key, out);
        out.push_str(": ");
        repr(value, out);
    });
    out.push('}');
}

/// Python's `repr` of a text: in single quotes unless it has some and no double ones.
pub(crate) fn repr_text(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    text.chars().for_each(|character| repr_character(character, quote, out));
    out.push(quote);
}

fn separated<T>(
    items: impl IntoIterator<Item = T>,
    out: &mut String,
    mut write: impl FnMut(T, &mut String),
) {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(item, out);
    }
}

fn repr_character(character: char, quote: char, out: &mut String) {
    match (character, u32::from(character)) {
        ('\n', _) => out.push_str("\\n"),
        ('\r', _) => out.push_str("\\r"),
        ('\t', _) => out.push_str("\\t"),
        ('\\', _) => out.push_str("\\\\"),
        (character, _) if character == quote => out.extend(['\\', quote]),
        (character, _) if is_printable(character) => out.push(character),
        (_, code @ ..=0xFF) => out.push_str(&format!("\\x{code:02x}")),
        (_, code @ ..=0xFFFF) => out.push_str(&format!("\\u{code:04x}")),
        (_, code) => out.push_str(&format!("\\U{code:08x}")),
    }
}

fn repr_number(number: &Number, out: &mut String) {
    match number.as_f64() {
        Some(float) if number.is_f64() => repr_float(float, out),
        _ => out.push_str(&number.to_string()),
    }
}

/// Both languages write the shortest digits that read back as the same float, but Python turns to
/// exponents below 0.0001 and from 1e16 on, and writes them with a sign and two digits.
fn repr_float(float: f64, out: &mut String) {
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent = exponent.parse::<i32>().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        // The debug form always has a point, but may itself turn to exponents, which the display
        // form never does.
        let plain = format!("{float}");
        out.push_str(&plain);
        if !plain.contains('.') {
            out.push_str(".0");
        }
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        out.push_str(&format!("{digits}e{sign}{:02}", exponent.unsigned_abs()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn repr_of(value: &Value) -> String {
        let mut out = String::new();
        repr(value, &mut out);
        out
    }

    #[test]
    fn writes_as_python() {
        for (value, expected) in [
            (json!(null), "None"),
            (json!([true, false]), "[True, False]"),
            (json!({"a": {"b": []}, "c": {}}), "{'a': {'b': []}, 'c': {}}"),
            (json!("it's"), "\"it's\""),
            (json!("it's \"it\""), "'it\\'s \"it\"'"),
            (
                json!("a\n\t\r\\\u{7f}\u{a0}\u{ad}é\u{200b}\u{1F600}\u{E0001}"),
                "'a\\n\\t\\r\\\\\\x7f\\xa0\\xadé\\u200b😀\\U000e0001'",
            ),
            (json!(1.0), "1.0"),
            (json!(1e16), "1e+16"),
            (json!(123_456_789_012_345_680.0), "1.2345678901234568e+17"),
            (json!(9_999_999_999_999_998.0), "9999999999999998.0"),
            (json!(1e-5), "1e-05"),
            (json!(0.0001), "0.0001"),
            (json!(-2.5e-10), "-2.5e-10"),
            (json!(1e300), "1e+300"),
            (json!(-0.0), "-0.0"),
            (json!(u64::MAX), "18446744073709551615"),
            (json!(i64::MIN), "-9223372036854775808"),
        ] {
            assert_eq!(repr_of(&value), expected);
        }
    }
}
