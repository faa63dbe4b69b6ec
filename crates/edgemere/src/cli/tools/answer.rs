//! The answer of a tool for people, and in a pipe the JSON that an agent gets.

use std::process::ExitCode;

use edgemere_command::Kind;
use mcp_serve::{Content, Outcome};
use serde_json::Value;

use crate::failure::Failure;
use crate::terminal;

/// Prints an answer; one that says what went wrong is a failure.
pub(super) fn print(outcome: &Outcome) -> anyhow::Result<ExitCode> {
    if outcome.is_error {
        return Err(Failure::new(Kind::Unavailable, text(outcome)).into());
    }
    match &outcome.structured {
        None => terminal::print(&text(outcome))?,
        Some(structured) if !terminal::is_for_people() => terminal::print(&structured.to_string())?,
        Some(structured) => people(structured, outcome)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The text of an answer.
pub(super) fn text(outcome: &Outcome) -> String {
    let texts = outcome.content.iter().filter_map(|content| match content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn people(structured: &Value, outcome: &Outcome) -> std::io::Result<()> {
    let columns = structured.get("columns").and_then(Value::as_array);
    let rows = structured.get("rows").and_then(Value::as_array);
    match (columns, rows, structured.get("result")) {
        (Some(columns), Some(rows), _) => {
            let columns: Vec<_> = columns.iter().map(cell).collect();
            let cells = |row: &Value| row.as_array().into_iter().flatten().map(cell).collect();
            terminal::print_table(&columns, &rows.iter().map(cells).collect::<Vec<_>>())?;
        }
        (_, _, Some(Value::String(text))) => terminal::print_text(text)?,
        (_, _, Some(result)) => match objects(result) {
            Some((columns, rows)) => terminal::print_table(&columns, &rows)?,
            None => terminal::print_json(&result.to_string())?,
        },
        _ => terminal::print_json(&structured.to_string())?,
    }
    for line in beside(structured, outcome) {
        terminal::say(&line);
    }
    Ok(())
}

/// A list of flat objects with the same keys, as a table.
fn objects(result: &Value) -> Option<(Vec<String>, Vec<Vec<String>>)> {
    let list = result.as_array().filter(|list| !list.is_empty())?;
    let objects: Vec<_> = list.iter().map(Value::as_object).collect::<Option<_>>()?;
    let columns: Vec<_> = objects.first()?.keys().cloned().collect();
    let is_flat = |value: &Value| !value.is_object() && !value.is_array();
    let fits = objects.iter().all(|o| o.keys().eq(columns.iter()) && o.values().all(is_flat));
    let rows = || objects.iter().map(|object| object.values().map(cell).collect());
    fits.then(|| (columns.clone(), rows().collect()))
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// What people see beside the answer: how many rows, from whom, and where the rest is.
fn beside(structured: &Value, outcome: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    let provenance = structured.get("provenance");
    let time = provenance.and_then(|told| told.get("time_ms")?.as_f64());
    if let Some(count) = structured.get("row_count").and_then(Value::as_u64) {
        let rows = if count == 1 { "row" } else { "rows" };
        let time = time.map(|time| format!(" in {time} ms")).unwrap_or_default();
        lines.push(format!("{} {rows}{time}", terminal::grouped(count)));
    }
    if structured.get("truncated").and_then(Value::as_bool) == Some(true) {
        let cursor = structured.get("next_cursor").and_then(Value::as_str);
        let more = cursor.map(|cursor| format!(": the next ones have the cursor {cursor}"));
        lines.push(format!("there are more{}", more.unwrap_or_default()));
    }
    for key in ["note", "left_out"] {
        lines.extend(structured.get(key).and_then(Value::as_str).map(ToOwned::to_owned));
    }
    for content in &outcome.content {
        if let Content::Link(link) = content {
            lines.push(format!("all of them: {}", link.uri));
        }
    }
    let missing = provenance.and_then(|told| told.get("missing")?.as_array());
    let missing: Vec<_> = missing.into_iter().flatten().filter_map(Value::as_str).collect();
    if !missing.is_empty() {
        lines.push(format!("warning: without {}", missing.join(", ")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn flat_objects_are_a_table_and_others_are_not() {
        let table = objects(&json!([{"a": 1, "b": null}, {"a": "x", "b": true}]));
        let rows = vec![vec!["1".to_owned(), String::new()], vec!["x".into(), "true".into()]];
        assert_eq!(table, Some((vec!["a".into(), "b".into()], rows)));
        for other in [json!([]), json!([1]), json!([{"a": [1]}]), json!([{"a": 1}, {"b": 1}])] {
            assert_eq!(objects(&other), None, "{other}");
        }
    }

    #[test]
    fn what_is_left_out_and_who_is_missing_is_said() {
        let structured = json!({
            "row_count": 1200, "truncated": true, "next_cursor": "c",
            "provenance": {"time_ms": 1.5, "missing": ["op2"]},
        });
        let outcome = Outcome::text("").link(mcp_serve::Link::new("http://n/r", "all"));
        let lines = [
            "1,200 rows in 1.5 ms",
            "there are more: the next ones have the cursor c",
            "all of them: http://n/r",
            "warning: without op2",
        ];
        assert_eq!(beside(&structured, &outcome), lines);
    }
}
