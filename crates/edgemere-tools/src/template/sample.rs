//! Values that a tool's arguments could have, for trying its template before anybody calls it.

use serde_json::{Map, Value, json};

use super::kind::Kind;

/// A value for an argument: what its schema names first, or what its kind and type allow.
pub(crate) fn sample(schema: Option<&Value>, kind: Kind) -> Value {
    named(schema)
        .or_else(|| kind.sample().map(|text| fitting(text, schema)))
        .unwrap_or_else(|| by_type(schema))
}

/// The value that the schema itself names.
pub(crate) fn named(schema: Option<&Value>) -> Option<Value> {
    let schema = schema?;
    let first = |key: &str| schema.get(key).and_then(Value::as_array).and_then(|v| v.first());
    let value = schema.get("default").or_else(|| first("examples"));
    value.or_else(|| first("enum")).or_else(|| schema.get("const")).cloned()
}

/// A text as the schema wants it: in a list, or alone.
fn fitting(text: &str, schema: Option<&Value>) -> Value {
    match schema.and_then(|schema| schema.get("type")).and_then(Value::as_str) {
        Some("array") => match schema.and_then(|schema| schema.pointer("/items/properties/column"))
        {
            Some(_) => json!([{"column": text}]),
            None => json!([text]),
        },
        _ => json!(text),
    }
}

fn by_type(schema: Option<&Value>) -> Value {
    let get = |key: &str| schema.and_then(|schema| schema.get(key));
    let kind = match get("type") {
        Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str),
        kind => kind.and_then(Value::as_str),
    };
    match kind {
        Some("integer") => get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("number") => get("minimum").cloned().unwrap_or_else(|| json!(1.5)),
        Some("boolean") => json!(true),
        Some("array") => json!([named(get("items")).unwrap_or_else(|| by_type(get("items")))]),
        Some("object") => {
            let properties = get("properties").and_then(Value::as_object);
            let entries = properties.into_iter().flatten();
            let entries = entries.map(|(key, schema)| {
                (key.clone(), named(Some(schema)).unwrap_or_else(|| by_type(Some(schema))))
            });
            Value::Object(entries.collect::<Map<_, _>>())
        }
        _ => json!("a"),
    }
}
