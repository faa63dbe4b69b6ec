//! JSON output of a program: recognised if all of the text is JSON and parsing it loses nothing.

use serde_json::Value;

/// Parses a text: an object, an array, or two or more lines with an object each, as an array. None for
/// other texts, and if a JSON value cannot represent one of the numbers exactly.
pub(super) fn recognised(text: &str) -> Option<Value> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let value = match serde_json::from_str::<Value>(text) {
        Ok(value) => value,
        Err(_) => Value::Array(objects(text)?),
    };
    is_same(text, &value).then_some(value)
}

/// The structured content of a result, which must be an object.
pub(super) fn structured(value: Value) -> Value {
    match value {
        Value::Object(_) => value,
        other => serde_json::json!({ "result": other }),
    }
}

/// The objects of JSON lines.
fn objects(text: &str) -> Option<Vec<Value>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let objects = lines.map(|line| serde_json::from_str(line).ok().filter(Value::is_object));
    let objects: Vec<Value> = objects.collect::<Option<_>>()?;
    (objects.len() >= 2).then_some(objects)
}

/// Whether the value has exactly the numbers of the text. This also finds duplicate keys with numbers.
fn is_same(text: &str, value: &Value) -> bool {
    let printed = value.to_string();
    decimals(text).eq(decimals(&printed))
}

/// The numbers of a JSON text, in order.
fn decimals(text: &str) -> impl Iterator<Item = Decimal> + '_ {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let at = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit())?;
            let here = rest.get(at..)?;
            if here.starts_with('"') {
                rest = after_string(here);
                continue;
            }
            let end = here.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'));
            let (number, after) = here.split_at(end.unwrap_or(here.len()));
            rest = after;
            return Some(Decimal::of(number));
        }
    })
}

/// The rest of a text after its leading string.
fn after_string(text: &str) -> &str {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    end.and_then(|(at, _)| text.get(at + 1..)).unwrap_or_default()
}

/// A number by its value: `1.50e1`, `15` and `15.0` are equal.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    /// The digits from the first to the last nonzero one.
    digits: String,
    /// The power of ten of the last digit.
    power: i64,
}

impl Decimal {
    fn of(number: &str) -> Self {
        let (number, power) = match number.split_once(['e', 'E']) {
            Some((number, power)) => (number, power.parse().unwrap_or(i64::from(i32::MAX))),
            None => (number, 0),
        };
        let (number, is_negative) = match number.strip_prefix('-') {
            Some(number) => (number, true),
            None => (number, false),
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let all = format!("{whole}{part}");
        let all = all.trim_start_matches('0');
        let digits = all.trim_end_matches('0');
        let zeros = i64::try_from(all.len() - digits.len()).unwrap_or_default();
        let parts = i64::try_from(part.len()).unwrap_or_default();
        let power = if digits.is_empty() { 0 } else { power.saturating_add(zeros - parts) };
        Self { is_negative, digits: digits.to_owned(), power }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_arrays_and_lines_of_objects_are_recognised() {
        assert_eq!(recognised(" {\"a\": 1}\n"), Some(json!({ "a": 1 })));
        assert_eq!(recognised("[1, {\"b\": \"5e\\\"6\"}]"), Some(json!([1, { "b": "5e\"6" }])));
        assert_eq!(recognised("{\"a\":1}\n\n{\"a\":2}\n"), Some(json!([{ "a": 1 }, { "a": 2 }])));
        assert_eq!(recognised("{}"), Some(json!({})));
        assert_eq!(recognised("[]"), Some(json!([])));
    }

    #[test]
    fn other_texts_are_not() {
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        for text in [
            "",
            "12",
            "\"text\"",
            "null",
            "true",
            "{",
            "{\"a\":1} and more",
            "[1]\n[2]",
            "{}\n[1]",
            "{\"a\":1}\nlog line\n{\"a\":2}",
            "[info] started",
            &deep,
        ] {
            assert_eq!(recognised(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_never_change() {
        for kept in [
            "[0, -1, 18446744073709551615, -9223372036854775808, 1.5, 1e3, 1E-7, 0.1, 100, 2.50]",
            "{\"a\": -0.0, \"b\": 1.7976931348623157e308, \"c\": 5e-324, \"d\": 15.0}",
        ] {
            assert!(recognised(kept).is_some(), "{kept}");
        }
        for lost in [
            "[18446744073709551616]",
            "[123456789012345678901234567890]",
            "[0.1234567890123456789]",
            "[3.14159265358979323846264338327950288]",
            "[-9223372036854775809]",
            "{\"id\": 1, \"id\": 2}",
        ] {
            assert_eq!(recognised(lost), None, "{lost}");
        }
    }

    #[test]
    fn a_structured_answer_is_an_object() {
        assert_eq!(structured(json!({ "a": 1 })), json!({ "a": 1 }));
        assert_eq!(structured(json!([1])), json!({ "result": [1] }));
    }
}
