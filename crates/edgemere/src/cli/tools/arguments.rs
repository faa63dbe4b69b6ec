//! Arguments of a tool on a command line: `key=value`, typed as the tool's schema says.

use edgemere_tools::Tool;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// The arguments of a call: those of the JSON text, and over them those that were given one by one.
pub(super) fn collect(
    tool: &Tool,
    json: Option<&str>,
    pairs: &[(String, String)],
) -> Result<Map<String, Value>, Failure> {
    let mut arguments = match json.map(serde_json::from_str::<Value>) {
        None => Map::new(),
        Some(Ok(Value::Object(arguments))) => arguments,
        Some(Ok(_)) => {
            return Err(Failure::input("--json takes an object").with_hint(JSON_HINT));
        }
        Some(Err(error)) => {
            return Err(Failure::input(format!("--json is not JSON: {error}")).with_hint(JSON_HINT));
        }
    };
    for (key, text) in pairs {
        arguments.insert(key.clone(), typed(property(tool, key), text));
    }
    Ok(arguments)
}

const JSON_HINT: &str = "give it in quotes, as --json '{\"database\": \"d\"}'";

/// `key=value`.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        _ => Err("give it as KEY=VALUE".into()),
    }
}

fn property<'a>(tool: &'a Tool, key: &str) -> Option<&'a Value> {
    tool.input_schema.get("properties")?.get(key)
}

/// A text as the value that the schema wants. What it cannot be stays text, so that the tool says what
/// is wrong with it.
fn typed(schema: Option<&Value>, text: &str) -> Value {
    let types = types(schema);
    let json = || serde_json::from_str::<Value>(text.trim()).ok();
    for name in &types {
        let value = match *name {
            "array" => Some(list(schema, text)),
            "object" => json().filter(Value::is_object),
            "boolean" => json().filter(Value::is_boolean),
            "integer" => json().filter(|value| value.is_i64() || value.is_u64()),
            "number" => json().filter(Value::is_number),
            "null" => json().filter(Value::is_null),
            _ => None,
        };
        if let Some(value) = value {
            return value;
        }
    }
    // Without a type, one of several values is meant as it is written there.
    let options = schema.and_then(|schema| schema.get("enum")?.as_array());
    let is_written = |option: &&Value| serde_json::to_string(option).is_ok_and(|own| own == text);
    let option = options.into_iter().flatten().find(is_written);
    match (types.is_empty(), option) {
        (true, Some(option)) => option.clone(),
        _ => Value::String(text.to_owned()),
    }
}

fn types(schema: Option<&Value>) -> Vec<&str> {
    match schema.and_then(|schema| schema.get("type")) {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// A list: as JSON, or its items with commas between them. A comma inside of parentheses or quotes
/// belongs to its item, as in `round(value, 2)`.
fn list(schema: Option<&Value>, text: &str) -> Value {
    if let Ok(list @ Value::Array(_)) = serde_json::from_str(text.trim()) {
        return list;
    }
    let items = schema.and_then(|schema| schema.get("items"));
    split(text).into_iter().map(|item| typed(items, item.trim())).collect()
}

fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut start) = (0_usize, None, 0);
    let mut items = Vec::new();
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                items.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(text.get(start..).unwrap_or_default());
    items.retain(|item| !item.trim().is_empty());
    items
}

/// A call of a tool with what it cannot do without.
pub(super) fn example(tool: &Tool) -> String {
    let mut call = format!("edgemere tools call {}", tool.name);
    for name in required(tool) {
        let text = match sample(property(tool, name)) {
            Some(Value::String(text)) => text,
            Some(value) => value.to_string(),
            None => name.to_uppercase(),
        };
        let is_plain = text.chars().all(|c| c.is_alphanumeric() || "_-.:/".contains(c));
        match is_plain {
            true => call.push_str(&format!(" --arg {name}={text}")),
            false => call.push_str(&format!(" --arg '{name}={}'", text.replace('\'', "'\\''"))),
        }
    }
    call
}

/// The arguments that a tool cannot do without.
pub(super) fn required(tool: &Tool) -> Vec<&str> {
    let required = tool.input_schema.get("required").and_then(Value::as_array);
    required.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The arguments with which a tool can be tried: defaults fill in themselves, examples are given here.
/// None, with what it needs, when the schema says nothing of some.
pub(super) fn trial(tool: &Tool) -> Result<Map<String, Value>, Vec<&str>> {
    let mut arguments = Map::new();
    let mut unknown = Vec::new();
    for name in required(tool) {
        let schema = property(tool, name);
        let has_default = schema.is_some_and(|schema| schema.get("default").is_some());
        match example_of(schema) {
            Some(value) => {
                arguments.insert(name.to_owned(), value);
            }
            None if has_default => {}
            None => unknown.push(name),
        }
    }
    if unknown.is_empty() { Ok(arguments) } else { Err(unknown) }
}

fn example_of(schema: Option<&Value>) -> Option<Value> {
    let schema = schema?;
    schema.pointer("/examples/0").or(schema.get("const")).cloned()
}

/// A value that the schema allows, where it is plain which.
fn sample(schema: Option<&Value>) -> Option<Value> {
    let known = example_of(schema);
    let known = known.or_else(|| schema?.get("default").or(schema?.pointer("/enum/0")).cloned());
    known.or_else(|| match types(schema).first().copied() {
        Some("integer" | "number") => Some(schema?.get("minimum").cloned().unwrap_or(1.into())),
        Some("boolean") => Some(true.into()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use edgemere_tools::{Surroundings, Toolbox};
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_typed_by_the_schema_and_stay_text_when_they_cannot_be() {
        let cases = [
            (json!({"type": "integer"}), "12", json!(12)),
            (json!({"type": "integer"}), "1.5", json!("1.5")),
            (json!({"type": "number"}), "1.5", json!(1.5)),
            (json!({"type": "string"}), "12", json!("12")),
            (json!({"type": "boolean"}), "true", json!(true)),
            (json!({"type": "boolean"}), "yes", json!("yes")),
            (json!({"type": ["integer", "string"]}), "x", json!("x")),
            (json!({"type": "object"}), "{\"a\": 1}", json!({"a": 1})),
            (json!({"enum": ["day", 2]}), "2", json!(2)),
            (json!({"enum": ["day", 2]}), "day", json!("day")),
            (json!({}), "12", json!("12")),
        ];
        for (schema, text, value) in cases {
            assert_eq!(typed(Some(&schema), text), value, "{schema} {text}");
        }
        assert_eq!(typed(None, "[1]"), json!("[1]"));
    }

    #[test]
    fn lists_are_written_with_commas_or_as_json() {
        let texts = json!({"type": "array", "items": {"type": "string"}});
        let of = |text: &str| typed(Some(&texts), text);
        assert_eq!(of("a, b"), json!(["a", "b"]));
        assert_eq!(of("round(avg(v), 2) AS a,'x,y'"), json!(["round(avg(v), 2) AS a", "'x,y'"]));
        assert_eq!(of("[\"a,b\", \"c\"]"), json!(["a,b", "c"]));
        assert_eq!(of(""), json!([]));
        let numbers = json!({"type": "array", "items": {"type": "integer"}});
        assert_eq!(typed(Some(&numbers), "1,2,x"), json!([1, 2, "x"]));
    }

    #[test]
    fn a_pair_needs_a_key() {
        assert_eq!(pair("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert_eq!(pair("a="), Ok(("a".into(), String::new())));
        assert!(pair("a").is_err() && pair("=a").is_err());
    }

    const FILE: &str = "\
tools:
  - name: t
    description: A tool.
    command: get columns where dbms = {database} and table = {table} and format = mcp
    input_schema:
      properties:
        database: {type: string, examples: [\"it's\"]}
        table: {type: string}
      required: [database, table]
";

    #[test]
    fn a_call_is_shown_with_what_the_tool_needs() {
        let toolbox = Toolbox::from_text("t.yaml", FILE, &Surroundings::empty()).unwrap();
        let tool = toolbox.tool("t").unwrap();
        let call = "edgemere tools call t --arg 'database=it'\\''s' --arg table=TABLE";
        assert_eq!(example(tool), call);
        assert_eq!(trial(tool), Err(vec!["table"]));
        let pairs = [("table".to_owned(), "x".to_owned())];
        let arguments = collect(tool, Some("{\"table\": 1, \"database\": \"d\"}"), &pairs).unwrap();
        assert_eq!(Value::Object(arguments), json!({"table": "x", "database": "d"}));
        assert!(collect(tool, Some("[]"), &[]).is_err() && collect(tool, Some("{"), &[]).is_err());
    }
}
