//! The schemas of a tool: each is a JSON Schema of an object.

use serde_json::{Map, Value, json};

use super::Checking;
use crate::arguments::{Arguments, compile};
use crate::file::form::ToolForm;
use crate::template::build;
use crate::words::Wrong;

/// The schemas of a tool's arguments, complete.
pub(super) struct Input {
    /// What agents are shown.
    pub(super) listed: Map<String, Value>,
    /// What is taken: all of that, and what is not listed: the builder's other arguments in a file of
    /// EdgeLake's, and what rows are ordered by as objects.
    pub(super) accepted: Map<String, Value>,
    pub(super) arguments: Arguments,
}

/// The schemas of a tool's arguments, and the arguments by them.
pub(super) fn input(checking: &mut Checking<'_>, pointer: &str, form: &ToolForm) -> Option<Input> {
    let pointer = format!("{pointer}/input_schema");
    let (is_built, is_edgelake) = form.builds_sql();
    let mut schema = match &form.input_schema {
        None if is_built => build::schema(),
        schema => schema.clone().unwrap_or_default(),
    };
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
    // A slip in an argument's name is reported, unless the file takes any name.
    schema.entry("additionalProperties").or_insert(json!(false));
    if required.is_empty() {
        schema.shift_remove("required");
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(typed);
    }
    let listed = schema.clone();
    if let (true, Some(Value::Object(properties))) = (is_edgelake, schema.get_mut("properties")) {
        for (name, property) in build::arguments() {
            match form.input_schema {
                // Its builder takes more than is listed.
                None => properties.insert(name, property),
                Some(_) => Some(properties.entry(name).or_insert(property).clone()),
            };
        }
    }
    // Some clients refuse a choice of types in what is listed, and agents send either.
    if let (true, Some(kind)) = (is_built, schema.get_mut("properties").and_then(ordered_by)) {
        *kind = json!(build::ORDERINGS);
    }
    let accepted = schema;
    if checking.file.source.is_proven {
        let arguments = Arguments::of_proven(&accepted);
        return Some(Input { listed, accepted, arguments });
    }
    match Arguments::of(&accepted) {
        Ok(arguments) => {
            defaults_fit(checking, &pointer, &properties);
            Some(Input { listed, accepted, arguments })
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

/// The type of what rows are ordered by, where that is text alone.
fn ordered_by(properties: &mut Value) -> Option<&mut Value> {
    let kind = properties.get_mut(build::ORDER_BY)?.pointer_mut("/items/type")?;
    (*kind == "string").then_some(kind)
}

/// Gives words to choose from their type: some clients refuse an "enum" without one.
fn typed(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    let words = schema.get("enum").and_then(Value::as_array);
    let is_text =
        words.is_some_and(|words| !words.is_empty() && words.iter().all(Value::is_string));
    if is_text && !schema.contains_key("type") {
        schema.insert("type".into(), json!("string"));
    }
    schema.get_mut("items").into_iter().for_each(typed);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(typed);
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
