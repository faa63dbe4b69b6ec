//! Whether two replies are the same but for the last digits of their numbers, in which sums differ by
//! the order of what was added.

use serde_json::Value;

use crate::replay::form::Form;

/// How far numbers may be apart, as a part of themselves.
const APART: f64 = 1e-9;

/// Whether two replies say the same.
pub(crate) fn same(one: &Form, other: &Form) -> bool {
    match (one, other) {
        (Form::Json(one), Form::Json(other)) => same_json(one, other),
        (Form::Lines(one), Form::Lines(other)) => all(one, other, same_json),
        (Form::Text(one), Form::Text(other)) => same_text(one, other),
        _ => one == other,
    }
}

fn same_json(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => all(one, other, same_json),
        (Value::Object(one), Value::Object(other)) => {
            let is_in_other = |(key, value): (&String, &Value)| {
                other.get(key).is_some_and(|found| same_json(value, found))
            };
            one.len() == other.len() && one.iter().all(is_in_other)
        }
        (Value::Number(one), Value::Number(other)) if one.is_f64() || other.is_f64() => {
            one.as_f64().zip(other.as_f64()).is_some_and(|(one, other)| near(one, other))
        }
        _ => one == other,
    }
}

fn same_text(one: &str, other: &str) -> bool {
    let (one, other): (Vec<_>, Vec<_>) = (one.lines().collect(), other.lines().collect());
    all(&one, &other, |one, other| {
        let (one, other): (Vec<_>, Vec<_>) = (one.split(' ').collect(), other.split(' ').collect());
        all(&one, &other, |one, other| one == other || same_number(one, other))
    })
}

fn same_number(one: &str, other: &str) -> bool {
    let is_decimal = one.contains('.') && other.contains('.');
    let numbers = one.parse().ok().zip(other.parse().ok());
    is_decimal && numbers.is_some_and(|(one, other)| near(one, other))
}

fn all<T>(one: &[T], other: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= APART * one.abs().max(other.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_digits_of_numbers_do_not_count() {
        let is_same = |one: &str, other: &str| same(&Form::of(one), &Form::of(other));
        assert!(is_same(r#"[{"a":50.00449999999982}]"#, r#"[{"a":50.0045}]"#));
        assert!(!is_same(r#"[{"a":50.0045}]"#, r#"[{"a":50.0046}]"#));
        assert!(!is_same(r#"[{"a":20000}]"#, r#"[{"a":20001}]"#));
        assert!(is_same("a 50.00449999999982", "a 50.0045"));
        assert!(!is_same("a 50.0045", "a 50.0046"));
        assert!(!is_same("a 1000000000", "a 1000000001"));
        assert!(!is_same(r#"{"a":1,"b":2}"#, r#"{"a":1}"#));
    }
}
