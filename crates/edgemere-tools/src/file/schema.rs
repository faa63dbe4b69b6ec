//! The schema of a file of tools, made of its form, and what it has against a document.

use std::sync::OnceLock;

use jsonschema::Validator;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::form::FileForm;
use super::node::Node;
use super::source::Source;
use crate::problem::Problem;
use crate::words::{Fault, Wrong, faults};

/// The JSON Schema of a file of tools, with which editors complete and check it.
pub fn schema() -> Value {
    let mut schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<FileForm>()
        .to_value();
    // A key that is left out is the same as one that is null, and only the first is in good style.
    without_null(&mut schema);
    schema
}

/// What is wrong with the document's form.
pub(super) fn check(source: &Source, document: &Node, value: &Value) -> Vec<Problem> {
    let (schema, validator) = checker();
    let Some(validator) = validator else { return Vec::new() };
    let faults = validator.iter_errors(value).flat_map(|error| faults(&error, schema, "key"));
    let problems = faults.map(|Fault { pointer, what, hint }| {
        let (range, message) = match what {
            Wrong::Unknown(key) => {
                (document.key_range_at(&pointer, &key), format!("unknown key \"{key}\""))
            }
            Wrong::Missing(key) => {
                (document.range_at(&pointer), format!("the key \"{key}\" is missing"))
            }
            Wrong::Value(_) if document.at(&pointer).is_veiled => {
                let message = "the value of the environment does not fit here".to_owned();
                (document.range_at(&pointer), message)
            }
            Wrong::Value(message) => (document.range_at(&pointer), named(&pointer, message)),
        };
        source.problem(&range, message).with_hint(hint)
    });
    problems.collect()
}

/// The message with the name of what it is about.
fn named(pointer: &str, message: String) -> String {
    let name = pointer.rsplit('/').next().unwrap_or_default();
    let is_key = !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit());
    match is_key && message.starts_with("must") {
        true => format!("\"{name}\" {message}"),
        false => message,
    }
}

fn checker() -> &'static (Value, Option<Validator>) {
    static CHECKER: OnceLock<(Value, Option<Validator>)> = OnceLock::new();
    CHECKER.get_or_init(|| {
        let schema = schema();
        let validator = jsonschema::validator_for(&schema).ok();
        (schema, validator)
    })
}

/// Takes the `null`s out that stand for "left out", and the `default`s that say as much.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Array(list) => list.iter_mut().for_each(without_null),
        Value::Object(object) => {
            object.retain(|key, value| key != "default" || !value.is_null());
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".into(), only);
                }
            }
            one_alternative(object);
            object.values_mut().for_each(without_null);
        }
        _ => {}
    }
}

/// `anyOf: [X, null]` is X.
fn one_alternative(object: &mut serde_json::Map<String, Value>) {
    let Some(Value::Array(alternatives)) = object.get_mut("anyOf") else { return };
    alternatives.retain(|alternative| alternative.get("type") != Some(&"null".into()));
    let [Value::Object(only)] = alternatives.as_slice() else { return };
    let only = only.clone();
    object.remove("anyOf");
    object.extend(only);
}
