//! What is not given, and what is given otherwise than meant: the schema's defaults stand for what is
//! left out, `null` is the same as left out, and a whole number may be written as 5.0.

use serde_json::{Map, Value};

/// Takes out what is `null` and may not be.
pub(super) fn drop_nulls(arguments: &mut Map<String, Value>, schema: &Value) {
    arguments.retain(|name, value| {
        let property = schema.get("properties").and_then(|properties| properties.get(name));
        !value.is_null() || property.is_none_or(takes_null)
    });
}

fn takes_null(schema: &Value) -> bool {
    let is_null = |kind: &Value| kind == "null";
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_null),
        Some(kind) => is_null(kind),
        None => ["enum", "const", "anyOf", "oneOf"].iter().all(|key| schema.get(key).is_none()),
    }
}

/// Writes whole numbers as such.
fn whole(value: &mut Value, schema: &Value) {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    let is_integer = schema.get("type").is_some_and(|kind| kind == "integer");
    if let Some(number) = value.as_f64().filter(|_| is_integer && value.is_f64())
        && number.fract() == 0.0
        && number.abs() <= EXACT_MAX
    {
        *value = Value::from(number as i64);
    }
}

/// Puts defaults in, also into the objects and lists that are given.
pub(super) fn apply(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(object) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, property) in properties.into_iter().flatten() {
                match (object.get_mut(name), property.get("default")) {
                    (Some(value), _) => apply(value, property),
                    (None, Some(default)) => {
                        object.insert(name.clone(), default.clone());
                    }
                    (None, None) => {}
                }
            }
        }
        Value::Array(values) => {
            if let Some(items) = schema.get("items") {
                values.iter_mut().for_each(|value| apply(value, items));
            }
        }
        value => whole(value, schema),
    }
}
