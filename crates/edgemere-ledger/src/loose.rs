//! EdgeLake's loose comparison of values: `33148`, `"33148"` and `"33148.0"` are equal.
//!
//! It also gives each value the key under which the index finds everything that may equal it.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

/// A number, exact when it is whole.
#[derive(Clone, Copy, Debug)]
enum Number {
    Whole(i128),
    Float(f64),
}

/// Whether two values are equal.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    if let (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_) | Value::Object(_)) =
        (left, right)
    {
        return left == right;
    }
    if let (Some(left), Some(right)) = (number(left), number(right)) {
        return left.order(right).is_eq();
    }
    match (left, right) {
        (Value::Bool(flag), Value::String(text)) | (Value::String(text), Value::Bool(flag)) => {
            text.eq_ignore_ascii_case(if *flag { "true" } else { "false" })
        }
        _ => text(left) == text(right),
    }
}

/// How two values are ordered; lists and objects are not.
pub(crate) fn order(left: &Value, right: &Value) -> Option<Ordering> {
    if equal(left, right) {
        return Some(Ordering::Equal);
    }
    if let (Some(left), Some(right)) = (number(left), number(right)) {
        return Some(left.order(right));
    }
    Some(text(left)?.cmp(&text(right)?))
}

/// Whether a text has the value inside it, or a list has an element that equals it.
pub(crate) fn contains(found: &Value, value: &Value) -> bool {
    match found {
        Value::Array(list) => list.iter().any(|element| equal(element, value)),
        _ => pair(found, value).is_some_and(|(found, value)| found.contains(&*value)),
    }
}

/// Whether a text begins with the value.
pub(crate) fn starts_with(found: &Value, value: &Value) -> bool {
    pair(found, value).is_some_and(|(found, value)| found.starts_with(&*value))
}

/// The key of a value in the index: equal values have equal keys, but not always the other way
/// round.
///
/// Lists and objects have none.
pub(crate) fn key(value: &Value) -> Option<Cow<'_, str>> {
    if let Some(number) = number(value) {
        // Adding zero makes one zero of the two.
        return Some(Cow::Owned(format!("#{:x}", (number.as_f64() + 0.0).to_bits())));
    }
    let text = text(value)?;
    for flag in ["true", "false"] {
        if text.eq_ignore_ascii_case(flag) {
            return Some(Cow::Borrowed(flag));
        }
    }
    Some(text)
}

fn pair<'a>(left: &'a Value, right: &'a Value) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    text(left).zip(text(right))
}

fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Null => Some(Cow::Borrowed("null")),
        Value::Bool(true) => Some(Cow::Borrowed("true")),
        Value::Bool(false) => Some(Cow::Borrowed("false")),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Array(_) | Value::Object(_) => None,
    }
}

fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => match number.as_i128() {
            Some(whole) => Some(Number::Whole(whole)),
            None => number.as_f64().map(Number::Float),
        },
        Value::String(text) => parse(text),
        _ => None,
    }
}

/// Reads a text that is wholly a decimal number. Rust also reads "inf" and "nan", which are names
/// here.
fn parse(text: &str) -> Option<Number> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are a name: as floats, two of them that differ would be equal.
        return text.parse().ok().map(Number::Whole);
    }
    text.parse::<f64>().ok().filter(|float| float.is_finite()).map(Number::Float)
}

impl Number {
    #[expect(clippy::cast_precision_loss, reason = "a whole number meets a float only as a float")]
    fn as_f64(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }

    fn order(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Whole(left), Self::Whole(right)) => left.cmp(&right),
            _ => (self.as_f64() + 0.0).total_cmp(&(other.as_f64() + 0.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_and_their_texts_are_equal() {
        for (left, right) in [
            (json!(33148), json!("33148")),
            (json!("33148.0"), json!(33148)),
            (json!("33148.0"), json!("33148")),
            (json!("1e3"), json!(1000)),
            (json!(-0.0), json!(0)),
            (json!(true), json!("TRUE")),
            (json!("False"), json!(false)),
            (json!([1, "a"]), json!([1, "a"])),
            (json!(null), json!("null")),
        ] {
            assert!(equal(&left, &right) && equal(&right, &left), "{left} = {right}");
            assert_eq!(key(&left), key(&right), "{left} = {right}");
        }
    }

    #[test]
    fn other_values_are_not() {
        for (left, right) in [
            (json!("True"), json!("true")),
            (json!("a"), json!("A")),
            (json!(1), json!("1 ")),
            (json!(1), json!(true)),
            (json!("nan"), json!("NaN")),
            (json!("inf"), json!("infinity")),
            (json!("12345678901234567890123456789012"), json!("12345678901234567890123456789013")),
            (json!("1".repeat(45) + "2"), json!("1".repeat(45) + "3")),
            (json!([1]), json!("[1]")),
            (json!(["1"]), json!([1])),
            (json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992_i64)),
        ] {
            assert!(!equal(&left, &right) && !equal(&right, &left), "{left} = {right}");
        }
    }

    #[test]
    fn orders_numbers_as_numbers_and_the_rest_as_text() {
        assert_eq!(order(&json!("9"), &json!(10)), Some(Ordering::Less));
        assert_eq!(order(&json!("9"), &json!("10a")), Some(Ordering::Greater));
        assert_eq!(order(&json!("abc"), &json!("abd")), Some(Ordering::Less));
        assert_eq!(order(&json!(-1.5), &json!("-1")), Some(Ordering::Less));
        assert_eq!(order(&json!(true), &json!("TRUE")), Some(Ordering::Equal));
        assert_eq!(order(&json!([1]), &json!(1)), None);
    }

    #[test]
    fn contains_and_starts_with() {
        assert!(contains(&json!("operator1"), &json!("rato")));
        assert!(contains(&json!(33148), &json!("314")));
        assert!(contains(&json!(["a", "7"]), &json!(7)));
        assert!(!contains(&json!(["abc"]), &json!("b")));
        assert!(!contains(&json!({"b": 1}), &json!("b")));
        assert!(starts_with(&json!("operator1"), &json!("oper")));
        assert!(!starts_with(&json!("operator1"), &json!("rator")));
        assert!(starts_with(&json!(33148), &json!(33)));
    }
}
