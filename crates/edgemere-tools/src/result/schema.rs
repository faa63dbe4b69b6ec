//! The JSON Schemas of answers, as far as they are known before a call: short, since every agent reads
//! all of them.

use edgemere_command::sql::ResultColumn;
use serde_json::{Map, Value, json};

/// The schema of rows: of any, or of known columns.
pub(crate) fn rows(columns: Option<&[ResultColumn]>) -> Map<String, Value> {
    let row = match columns {
        None => json!({ "type": "array" }),
        Some(columns) => {
            let items: Vec<_> = columns.iter().map(|column| json_type(&column.type_name)).collect();
            json!({ "type": "array", "prefixItems": items })
        }
    };
    let names = match columns {
        None => json!({ "type": "array" }),
        Some(columns) => {
            let names: Vec<_> = columns.iter().map(|column| &column.name).collect();
            json!({ "const": names })
        }
    };
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

/// The schema of any other answer.
pub(crate) fn value() -> Map<String, Value> {
    object(json!({ "type": "object", "required": ["result"] }))
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
