//! An order of all JSON: nothing, booleans, numbers, texts, and what is larger by its text.

use std::cmp::Ordering;

use serde_json::Value;

/// Which of two values comes first.
pub(super) fn order(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Number(one), Value::Number(other)) => {
            let numbers = one.as_f64().zip(other.as_f64());
            numbers.map_or(Ordering::Equal, |(one, other)| one.total_cmp(&other))
        }
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (one, other) if rank(one) == rank(other) => one.to_string().cmp(&other.to_string()),
        (one, other) => rank(one).cmp(&rank(other)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_json_has_an_order() {
        let mut values = vec![
            json!({"a": 1}),
            json!("b"),
            json!(10),
            json!(9.5),
            json!(null),
            json!("a"),
            json!(true),
            json!([1]),
        ];
        values.sort_by(order);
        let expected = json!([null, true, 9.5, 10, "a", "b", [1], {"a": 1}]);
        assert_eq!(Value::Array(values), expected);
    }
}
