//! The answer of a command that is not a query: a value, or a text.

use mcp_serve::{Content, Outcome};
use serde_json::{Map, Value, json};

use super::{Budget, Provenance};

/// An answer of a value. The text is the value alone, as EdgeLake's users know it.
pub(crate) fn outcome(value: Value, budget: Budget, provenance: &Provenance) -> Outcome {
    let (value, left_out) = fit(value, budget);
    let text = match &value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    // What is said of it stands apart: the value itself stays JSON.
    let mut outcome = Outcome::text(text);
    let mut structured = Map::new();
    structured.insert("result".into(), value);
    if let Some(left_out) = left_out {
        outcome.content.push(Content::text(format!("({left_out})")));
        structured.insert("truncated".into(), json!(true));
        structured.insert("left_out".into(), left_out.into());
    }
    if let Some(why) = provenance.why_incomplete() {
        outcome.content.push(Content::text(format!("(incomplete: {why})")));
    }
    structured.insert("provenance".into(), provenance.to_value());
    Outcome { structured: Some(Value::Object(structured)), ..outcome }
}

/// As much of a value as fits, and what was left out.
fn fit(value: Value, budget: Budget) -> (Value, Option<String>) {
    match value {
        Value::Array(elements) => fit_list(elements, budget),
        Value::String(text) if text.len() > budget.bytes => {
            let end = text.floor_char_boundary(budget.bytes);
            let left_out = format!("{} of {} bytes are left out", text.len() - end, text.len());
            (Value::String(text.get(..end).unwrap_or_default().to_owned()), Some(left_out))
        }
        Value::Object(entries) => fit_object(entries, budget),
        other => (other, None),
    }
}

fn fit_object(entries: Map<String, Value>, budget: Budget) -> (Value, Option<String>) {
    let (count, mut bytes) = (entries.len(), 0);
    let fits = |(key, value): &(String, Value)| {
        bytes += key.len() + value.to_string().len() + 4;
        bytes <= budget.bytes
    };
    let kept: Map<_, _> = entries.into_iter().take_while(fits).collect();
    let left_out = left_out(count, kept.len());
    (Value::Object(kept), left_out)
}

fn fit_list(elements: Vec<Value>, budget: Budget) -> (Value, Option<String>) {
    let (count, mut bytes) = (elements.len(), 0);
    let fits = |element: &Value| {
        bytes += element.to_string().len() + 1;
        bytes <= budget.bytes
    };
    let kept: Vec<_> = elements.into_iter().take_while(fits).collect();
    let left_out = left_out(count, kept.len());
    (Value::Array(kept), left_out)
}

fn left_out(count: usize, kept: usize) -> Option<String> {
    let left_out = count - kept;
    (left_out > 0).then(|| format!("{left_out} of {count} are left out: ask for fewer"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const BUDGET: Budget = Budget { rows: 10, bytes: 20 };

    fn told(value: Value) -> Outcome {
        outcome(value, BUDGET, &Provenance::of_node("n".into(), Duration::from_millis(2)))
    }

    #[test]
    fn a_value_is_the_text_and_has_its_provenance_beside_it() {
        let outcome = told(json!(["a", "b"]));
        assert_eq!(outcome.content, [mcp_serve::Content::text(r#"["a","b"]"#)]);
        let expected = json!({
            "result": ["a", "b"],
            "provenance": { "answered": ["n"], "time_ms": 2.0, "complete": true },
        });
        assert_eq!(outcome.structured, Some(expected));
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_said() {
        let cut = told(json!(["aaaaaaaa", "bbbbbbbb", "cc"]));
        let parts = [r#"["aaaaaaaa"]"#, "(2 of 3 are left out: ask for fewer)"].map(Content::text);
        assert_eq!(cut.content, parts, "the value is still JSON");
        let structured = cut.structured.unwrap();
        assert_eq!(structured["result"], json!(["aaaaaaaa"]));
        assert_eq!(structured["left_out"], "2 of 3 are left out: ask for fewer");
        let structured = told(json!({ "a": "aaaaaaaa", "b": "bbbbbbbb" })).structured.unwrap();
        assert_eq!(structured["result"], json!({ "a": "aaaaaaaa" }));
        assert_eq!(structured["truncated"], true);
        let structured = told(json!("äääääääääääääää")).structured.unwrap();
        assert_eq!(structured["result"], "ääääääääää");
        assert_eq!(structured["truncated"], true);
    }
}
