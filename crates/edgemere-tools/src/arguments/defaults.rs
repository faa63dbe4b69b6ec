//! What is not given: the schema's defaults stand for it, and `null` is the same as not given.

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
        _ => {}
    }
}
