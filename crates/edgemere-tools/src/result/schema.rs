//! The JSON Schemas of answers, as far as they are known before a call: short, since every agent reads
//! all of them.

use edgemere_command::sql::ResultColumn;
use serde_json::{Map, Value, json};

/// The schema of rows of known columns.
pub(crate) fn rows(columns: &[ResultColumn]) -> Map<String, Value> {
    let items: Vec<_> = columns.iter().map(|column| json_type(&column.type_name)).collect();
    let row = json!({ "type": "array", "prefixItems": items });
    let names: Vec<_> = columns.iter().map(|column| &column.name).collect();
    let names = json!({ "const": names });
    object(json!({
        "type": "object",
        "properties": {
            "columns": names,
            "rows": { "type": "array", "items": row },
            "truncated": { "type": "boolean" },
        },
        "required": ["columns", "rows"],
    }))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// The JSON type of a column's values, which may be null.
fn json_type(kind: &str) -> Value {
    match kind {
        "bigint" => json!({ "type": ["integer", "null"] }),
        "decimal" => json!({ "type": ["number", "null"] }),
        "boolean" => json!({ "type": ["boolean", "null"] }),
        kind if kind.starts_with("numeric") => json!({ "type": ["number", "string", "null"] }),
        kind if kind.starts_with("timestamp") => json!({ "type": ["string", "null"] }),
        "character varying" | "date" | "time" => json!({ "type": ["string", "null"] }),
        _ => json!(true),
    }
}
