//! An entry in the text of a client's file. The file is JSON as its user writes it, with comments,
//! trailing commas and an indentation of its own, and every character outside of the entry stays.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::{Map, Value};

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// It has the entry already.
    Same,
    /// Its new text, and whether the entry is new in it.
    Changed { text: String, is_new: bool },
}

/// The keys of an entry that are ours; all others were added by somebody.
const OURS: [&str; 5] = ["type", "source", "command", "args", "url"];

/// Puts an entry under a key of a file. An error says why the file cannot be edited.
pub(super) fn edited(text: &str, key: &str, name: &str, entry: &Value) -> Result<Edit, String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root =
        CstRootNode::parse(text, &strict()).map_err(|error| format!("it is not JSON: {error}"))?;
    let no_object = |what: &str| format!("{what} is not an object");
    let whole = root.object_value().ok_or_else(|| no_object("what it holds"))?;
    let servers = object(&whole, key).ok_or_else(|| no_object(&format!("\"{key}\"")))?;
    let is_new = servers.get(name).is_none();
    match servers.get(name) {
        None => drop(servers.append(name, input(entry))),
        Some(property) => {
            let before = property.value().as_ref().and_then(CstNode::to_serde_value);
            let wanted = merged(before.as_ref(), entry);
            if before.as_ref() == Some(&wanted) {
                return Ok(Edit::Same);
            }
            property.set_value(input(&wanted));
        }
    }
    Ok(Edit::Changed { text: root.to_string(), is_new })
}

/// JSON with comments and trailing commas. Anything looser is a mistake that is not ours to mend.
fn strict() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// The object under a key, which is made when it is missing; none when something else is there.
fn object(whole: &CstObject, key: &str) -> Option<CstObject> {
    whole.object_value_or_create(key)
}

/// The entry with what somebody has added to the one that was there, as an environment.
fn merged(before: Option<&Value>, entry: &Value) -> Value {
    let mut merged = entry.as_object().cloned().unwrap_or_default();
    let added = before.and_then(Value::as_object).into_iter().flatten();
    let added: Map<_, _> = added
        .filter(|(key, _)| !OURS.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    merged.extend(added);
    Value::Object(merged)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(object) => {
            let entries = object.iter().map(|(key, value)| (key.clone(), input(value)));
            CstInputValue::Object(entries.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Value {
        json!({ "command": "/bin/edgemere", "args": ["mcp", "--data", "C:\\d \"x\""] })
    }

    fn changed(text: &str) -> (String, bool) {
        match edited(text, "mcpServers", "edgemere", &entry()).unwrap() {
            Edit::Changed { text, is_new } => (text, is_new),
            Edit::Same => panic!("nothing changed"),
        }
    }

    #[test]
    fn an_empty_file_gets_the_entry_alone() {
        for empty in ["", " \n", "{}", "{}\n"] {
            let (text, is_new) = changed(empty);
            let value: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(value, json!({ "mcpServers": { "edgemere": entry() } }), "{empty:?}");
            assert!(is_new);
        }
    }

    #[test]
    fn all_else_stays_as_it_is_with_comments_and_indentation() {
        let before = "// my settings\n{\n    \"theme\": \"One Dark\", // dark\n    \"mcpServers\": \
                      {\n        /* other */\n        \"time\": { \"command\": \"uvx\" },\n    },\n}\n";
        let (text, _) = changed(before);
        for kept in ["// my settings\n{\n    \"theme\": \"One Dark\", // dark\n", "/* other */"] {
            assert!(text.contains(kept), "{text}");
        }
        assert!(text.contains("        \"time\": { \"command\": \"uvx\" },\n        \"edgemere\": {\n            \"command\""), "{text}");
        assert_eq!(edited(&text, "mcpServers", "edgemere", &entry()), Ok(Edit::Same));
    }

    #[test]
    fn an_entry_is_brought_up_to_date_and_keeps_what_was_added_to_it() {
        let before = "{\"mcpServers\": {\"edgemere\": {\"url\": \"http://old\", \"env\": {\"A\": \"b\"}}, \
                      \"x\": 1}}";
        let (text, is_new) = changed(before);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["mcpServers"]["x"], 1);
        let now = &value["mcpServers"]["edgemere"];
        assert_eq!(now["env"], json!({"A": "b"}));
        assert_eq!((&now["command"], &now["url"]), (&json!("/bin/edgemere"), &Value::Null));
        assert!(!is_new);
    }

    #[test]
    fn what_is_no_json_is_not_touched() {
        for broken in ["{", "{\"a\": 1 \"b\": 2}", "[]", "{\"mcpServers\": []}", "{'a': 1}", "x"] {
            assert!(edited(broken, "mcpServers", "edgemere", &entry()).is_err(), "{broken}");
        }
    }
}
