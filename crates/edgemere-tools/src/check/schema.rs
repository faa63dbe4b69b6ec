//! The schemas of a tool: each is a JSON Schema of an object.

use serde_json::{Map, Value, json};

use super::Checking;
use crate::arguments::{Arguments, compile};
use crate::file::form::ToolForm;
use crate::words::Wrong;

/// The schema of a tool's arguments, complete, and the arguments by it.
pub(super) fn input(
    checking: &mut Checking<'_>,
    pointer: &str,
    form: &ToolForm,
) -> Option<(Map<String, Value>, Arguments)> {
    let pointer = format!("{pointer}/input_schema");
    let mut schema = form.input_schema.clone().unwrap_or_default();
    is_object(checking, &pointer, &schema)?;
    let properties =
        schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    for (index, name) in required.iter().enumerate() {
        if name.as_str().is_none_or(|name| !properties.contains_key(name)) {
            let message = format!("{name} is required, and is not in \"properties\"");
            checking.wrong(&format!("{pointer}/required/{index}"), message, None);
        }
    }
    schema.insert("type".into(), json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    // A slip in an argument's name is told, unless the file takes any name.
    schema.entry("additionalProperties").or_insert(json!(false));
    if required.is_empty() {
        schema.shift_remove("required");
    }
    if checking.file.source.is_proven {
        let arguments = Arguments::of_proven(&schema);
        return Some((schema, arguments));
    }
    match Arguments::of(&schema) {
        Ok(arguments) => {
            defaults_fit(checking, &pointer, &properties);
            Some((schema, arguments))
        }
        Err(faults) => {
            for fault in faults {
                let message = match fault.what {
                    Wrong::Value(message) => message,
                    Wrong::Unknown(key) | Wrong::Missing(key) => key,
                };
                checking.wrong(&format!("{pointer}{}", fault.pointer), message, fault.hint);
            }
            None
        }
    }
}

/// A default that its own schema refuses would be refused in every call that leaves it out.
fn defaults_fit(checking: &mut Checking<'_>, pointer: &str, properties: &Map<String, Value>) {
    for (name, property) in properties {
        let Some(default) = property.get("default") else { continue };
        if compile(property).is_ok_and(|validator| !validator.is_valid(default)) {
            let name = crate::file::node::escape(name);
            let message = "the default does not fit the schema that it stands in";
            checking.wrong(&format!("{pointer}/properties/{name}/default"), message, None);
        }
    }
}

/// The schema of a tool's answers.
pub(super) fn output(
    checking: &mut Checking<'_>,
    pointer: &str,
    form: &ToolForm,
) -> Option<Map<String, Value>> {
    let schema = form.output_schema.clone()?;
    let pointer = format!("{pointer}/output_schema");
    is_object(checking, &pointer, &schema)?;
    if let Err(faults) = compile(&Value::Object(schema.clone())) {
        for fault in faults {
            if let Wrong::Value(message) = fault.what {
                checking.wrong(&format!("{pointer}{}", fault.pointer), message, None);
            }
        }
        return None;
    }
    Some(schema)
}

fn is_object(
    checking: &mut Checking<'_>,
    pointer: &str,
    schema: &Map<String, Value>,
) -> Option<()> {
    match schema.get("type") {
        None => Some(()),
        Some(kind) if kind == "object" => Some(()),
        Some(_) => {
            let hint = Some("write \"type: object\"".to_owned());
            checking.wrong(&format!("{pointer}/type"), "must be the schema of an object", hint);
            None
        }
    }
}
