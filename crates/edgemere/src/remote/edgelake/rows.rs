//! The rows of EdgeLake's queries: objects, of which columns and lists are made here.

use std::time::Instant;

use edgemere_command::foreign::{Foreign, Rows};
use edgemere_command::results::Budget;
use edgemere_command::{Content, Format, Kind, Media, Rendered, Sources};
use edgemere_tools::{Failure, Given};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// What is known of the one that is asked.
pub(super) struct Asked<'a> {
    pub(super) node: &'a str,
    pub(super) started: Instant,
}

/// Why the rest of the rows cannot be had.
const NO_CURSOR: &str = "a node of EdgeLake keeps no cursor for the rows that are left out: ask for fewer \
                         columns, aggregates, or a narrower WHERE";

/// As many rows as fit, and who answered.
pub(super) fn given(
    foreign: &Foreign,
    reply: Value,
    budget: Budget,
    asked: &Asked<'_>,
) -> Result<Given, Failure> {
    let (objects, statistics) = parts(reply)?;
    let Rows { columns, rows: found } = foreign.rows(objects).map_err(|_| strange())?;
    let count = found.len();
    let mut rows = Vec::new();
    let mut bytes = 0;
    for row in found.into_iter().take(budget.rows.max(1)) {
        let row = Value::Array(row).to_string();
        bytes += row.len() + 1;
        if bytes > budget.bytes && !rows.is_empty() {
            break;
        }
        rows.push(raw(row)?);
    }
    let has_more = rows.len() < count;
    let (answered, missing) = operators(&statistics, asked.node);
    Ok(Given {
        columns,
        rows,
        has_more,
        asked: [answered.clone(), missing.clone()].concat(),
        answered,
        missing,
        time_s: asked.started.elapsed().as_secs_f64(),
        note: has_more.then(|| NO_CURSOR.to_owned()),
        ..Given::default()
    })
}

/// All rows in the looks that were asked for, and who answered.
pub(super) fn looks(
    foreign: &Foreign,
    reply: Value,
    format: Option<Format>,
    node: &str,
) -> Result<Rendered, Failure> {
    let (objects, statistics) = parts(reply)?;
    let rows = foreign.rows(objects).map_err(|_| strange())?;
    let (answered, missing) = operators(&statistics, node);
    let sources = Sources::Nodes { asked: [answered, missing.clone()].concat(), missing };
    let looks = shown(rows, statistics, format).to_string();
    Ok(Rendered { sources, ..Rendered::new(Media::Json, Content::Whole(looks)) })
}

fn shown(rows: Rows, statistics: Value, format: Option<Format>) -> Value {
    let Rows { columns, rows } = rows;
    if format == Some(Format::McpColumns) {
        return json!({ "columns": columns, "rows": rows });
    }
    let object = |row: Vec<Value>| columns.iter().cloned().zip(row).collect::<Map<_, _>>();
    let rows: Vec<_> = rows.into_iter().map(object).collect();
    match format {
        None | Some(Format::Json | Format::Table) => {
            json!({ "Query": rows, "Statistics": statistics })
        }
        _ => json!(rows),
    }
}

fn strange() -> Failure {
    let message = "the node gave no rows that are JSON, or others than it was asked for";
    let hint = "a value of the table may be none of its column's type: name other columns";
    Failure::new(Kind::Unavailable, message, Some(hint.into()))
}

/// The rows and the statistics of a reply.
fn parts(reply: Value) -> Result<(Vec<Map<String, Value>>, Value), Failure> {
    let Value::Object(mut reply) = reply else { return Err(strange()) };
    let statistics = reply.remove("Statistics").unwrap_or_default();
    let rows = match reply.remove("Query") {
        Some(Value::Array(rows)) => rows,
        // Of no rows EdgeLake tells `{"reply": "Empty data set"}`, or only the statistics.
        None if reply.contains_key("reply") || !statistics.is_null() => Vec::new(),
        _ => return Err(strange()),
    };
    let object = |row| match row {
        Value::Object(row) => Ok(row),
        _ => Err(strange()),
    };
    let rows = rows.into_iter().map(object).collect::<Result<_, _>>()?;
    Ok((rows, statistics))
}

fn raw(row: String) -> Result<Box<RawValue>, Failure> {
    RawValue::from_string(row)
        .map_err(|error| Failure::new(Kind::Internal, error.to_string(), None))
}

/// Who answered and who did not: EdgeLake counts its operators and does not name them.
fn operators(statistics: &Value, node: &str) -> (Vec<String>, Vec<String>) {
    let count = |key: &str| statistics.pointer("/0").and_then(|told| told.get(key)?.as_u64());
    let target = count("Target Nodes").or(count("Nodes")).unwrap_or(0);
    let answered = count("Participating Nodes").unwrap_or(target);
    let some = |count: u64, what: &str| match count {
        0 => Vec::new(),
        1 => vec![format!("1 operator {what}")],
        _ => vec![format!("{count} operators {what}")],
    };
    match target {
        0 => (vec![node.to_owned()], Vec::new()),
        _ => {
            let by = format!("asked by {node}");
            (some(answered, &by), some(target.saturating_sub(answered), "without an answer"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Budget = Budget { rows: 100, bytes: 10_000 };

    fn given_of(reply: &str, budget: Budget) -> Given {
        let asked = Asked { node: "q", started: Instant::now() };
        let text = "sql d select * from t";
        let foreign = Foreign::of(&edgemere_command::parse(text).unwrap(), text).unwrap();
        given(&foreign, serde_json::from_str(reply).unwrap(), budget, &asked).unwrap()
    }

    fn rows(given: &Given) -> String {
        let rows: Vec<_> = given.rows.iter().map(|row| row.get()).collect();
        rows.join(",")
    }

    #[test]
    fn objects_become_columns_and_lists() {
        let reply = r#"{"Query":[{"a":1,"b":"x"},{"b":null,"c":2.5}],"Statistics":[{"Nodes": 2}]}"#;
        let given = given_of(reply, ALL);
        assert_eq!(given.columns, ["a", "b", "c"]);
        assert_eq!(rows(&given), r#"[1,"x",null],[null,null,2.5]"#);
        assert_eq!(given.answered, ["2 operators asked by q"]);
        assert!(!given.has_more && given.note.is_none());
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_said() {
        let reply = r#"{"Query":[{"a":1},{"a":2},{"a":3}]}"#;
        let given = given_of(reply, Budget { rows: 2, ..ALL });
        assert_eq!((rows(&given).as_str(), given.has_more), ("[1],[2]", true));
        assert_eq!((given.cursor.as_deref(), given.note.as_deref()), (None, Some(NO_CURSOR)));
        let given = given_of(reply, Budget { bytes: 1, ..ALL });
        assert_eq!((rows(&given).as_str(), given.has_more), ("[1]", true));
    }

    #[test]
    fn nothing_found_is_no_rows() {
        let given = given_of(r#"{"reply" : "Empty data set"}"#, ALL);
        assert!(given.rows.is_empty() && given.columns.is_empty() && !given.has_more);
        assert_eq!(given.answered, ["q"]);
        let given = given_of(r#"{"Statistics":[{"Count": 0,"Nodes": 2}]}"#, ALL);
        assert!(given.rows.is_empty() && !given.has_more);
        assert_eq!(given.answered, ["2 operators asked by q"]);
    }

    #[test]
    fn who_did_not_answer_is_told() {
        let reply = r#"{"Query":[],"Statistics":[{"Target Nodes": 2,"Participating Nodes": 1}]}"#;
        let text = "sql d format = json select * from t";
        let foreign = Foreign::of(&edgemere_command::parse(text).unwrap(), text).unwrap();
        let value = serde_json::from_str(reply).unwrap();
        let rendered = looks(&foreign, value, Some(Format::Json), "q").unwrap();
        let Sources::Nodes { missing, .. } = rendered.sources else { panic!("nobody is missing") };
        assert_eq!(missing, ["1 operator without an answer"]);
        let given = given_of(reply, ALL);
        assert_eq!(given.answered, ["1 operator asked by q"]);
        assert_eq!(given.missing, ["1 operator without an answer"]);
    }
}
