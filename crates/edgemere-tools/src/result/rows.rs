//! The answer of a query: the first rows, whether there are more, and the ways to those. It is the same
//! for rows that were taken here and for those that another node gave.

use std::time::Duration;

use edgemere_command::Request;
use edgemere_command::results::{Page, ResultRows};
use edgemere_command::sync::LedgerAge;
use mcp_serve::{Content, Link, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{Provenance, TEXT_BYTES_MAX};
use crate::commands::{Commands, Failure};
use crate::tool::RowShape;

/// How many rows the text has when all of them would be too long for it.
const TEXT_ROWS: usize = 20;

/// Rows that a node gave: as many as fit, and what it says of them. Nodes send it to each other.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Given {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// A list of values each, as JSON.
    pub rows: Vec<Box<RawValue>>,
    /// Whether there are more: one of them was seen.
    pub has_more: bool,
    /// What `query fetch` takes for those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Where all rows can be read as a stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The nodes that were asked.
    pub asked: Vec<String>,
    /// Those that answered.
    pub answered: Vec<String>,
    /// Those whose part is missing.
    pub missing: Vec<String>,
    /// How many rows were read for it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_scanned: Option<u64>,
    /// How old what the node knew of the network was, in seconds, where it is a copy; and from when on
    /// that is too old to call an answer whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger_age_s: Option<(u64, u64)>,
    /// How long it took, in seconds.
    pub time_s: f64,
    /// What else the reader must know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Given {
    /// A page of the rows of a request. What is left of them is kept.
    pub fn of(rows: ResultRows, page: Page, request: &Request, commands: &dyn Commands) -> Self {
        let columns = rows.columns().into_iter().map(|column| column.name).collect();
        let node = commands.node_name();
        let told = Provenance::of_operators(&rows.operators(), node, rows.elapsed())
            .with_ledger(commands.ledger_age())
            .with_rows_scanned(rows.rows_read());
        let (mut link, mut cursor) = (None, None);
        if page.has_more {
            // The beginning of a rest is gone: it cannot be asked again.
            link = (!rows.is_rest()).then(|| commands.link(request)).flatten();
            cursor = Some(commands.keep_rest(&request.principal, rows));
        }
        Self {
            link,
            cursor,
            columns,
            rows: page.rows,
            has_more: page.has_more,
            asked: told.asked,
            answered: told.answered,
            missing: told.missing,
            rows_scanned: told.rows_scanned,
            ledger_age_s: told.ledger.map(|ledger| (ledger.seconds, ledger.seconds_max)),
            time_s: told.time.as_secs_f64(),
            ..Self::default()
        }
    }

    /// The answer.
    pub(crate) fn outcome(self, shape: RowShape) -> Result<Outcome, Failure> {
        let provenance = self.provenance();
        let count = self.rows.len();
        let rows = self.rows.iter().map(|row| serde_json::from_str(row.get()));
        let rows = rows.collect::<Result<Vec<Value>, _>>().map_err(|error| {
            Failure::new(edgemere_command::Kind::Internal, error.to_string(), None)
        })?;
        let mut answer = Map::new();
        match shape {
            RowShape::Lists => {
                answer.insert("columns".into(), json!(self.columns));
                answer.insert("rows".into(), Value::Array(rows));
            }
            RowShape::Objects => {
                let rows = rows.into_iter().map(|row| object(&self.columns, row));
                answer.insert("result".into(), rows.collect());
            }
        }
        answer.insert("row_count".into(), count.into());
        answer.insert("truncated".into(), self.has_more.into());
        self.cursor.map(|cursor| answer.insert("next_cursor".into(), cursor.into()));
        self.note.map(|note| answer.insert("note".into(), note.into()));
        answer.insert("provenance".into(), provenance.to_value());
        let outcome = match (shape, &answer) {
            (RowShape::Lists, answer) => Outcome::text(text(answer)),
            (RowShape::Objects, answer) => objects(answer),
        };
        let outcome = match &self.link {
            Some(link) => outcome.link(whole(link)),
            None => outcome,
        };
        Ok(Outcome { structured: Some(Value::Object(answer)), ..outcome })
    }

    fn provenance(&self) -> Provenance {
        Provenance {
            asked: self.asked.clone(),
            answered: self.answered.clone(),
            missing: self.missing.clone(),
            rows_scanned: self.rows_scanned,
            // What another node says may be no time at all.
            time: Duration::try_from_secs_f64(self.time_s).unwrap_or_default(),
            ledger: self
                .ledger_age_s
                .map(|(seconds, seconds_max)| LedgerAge { seconds, seconds_max }),
            is_of_network: self.ledger_age_s.is_some(),
        }
    }
}

/// A row as an object.
fn object(columns: &[String], row: Value) -> Value {
    let values = match row {
        Value::Array(values) => values,
        other => vec![other],
    };
    Value::Object(columns.iter().cloned().zip(values).collect())
}

/// Rows as EdgeLake's users know them: the text is the list of them and nothing else, and what is said of
/// it stands apart.
fn objects(answer: &Map<String, Value>) -> Outcome {
    let rows = answer.get("result").map(Value::to_string).unwrap_or_default();
    let mut outcome = Outcome::text(rows);
    if let Some(cursor) = answer.get("next_cursor").and_then(Value::as_str) {
        let more = format!("(there are more rows: next_cursor {cursor})");
        outcome.content.push(Content::text(more));
    }
    outcome
}

/// The answer as text: all of it, or the first rows when it is too long to be there twice.
fn text(answer: &Map<String, Value>) -> String {
    let whole = serde_json::to_string(answer).unwrap_or_default();
    // The rows have their own limit; what stands around them is short.
    if whole.len() <= TEXT_BYTES_MAX + TEXT_BYTES_MAX / 4 {
        return whole;
    }
    let mut short = answer.clone();
    let mut left = 0;
    if let Some(Value::Array(rows)) = short.get_mut("rows") {
        left = rows.len().saturating_sub(TEXT_ROWS);
        rows.truncate(TEXT_ROWS);
    }
    let more = format!("{left} more rows are in structuredContent");
    short.insert("left_out".into(), more.into());
    serde_json::to_string(&short).unwrap_or_default()
}

/// The link to the whole result.
fn whole(address: &str) -> Link {
    Link {
        title: Some("All rows".into()),
        description: Some(
            "The whole result as a stream; format=csv, arrow or parquet in the place of ndjson \
             gives it so. Good for an hour."
                .into(),
        ),
        mime_type: Some("application/x-ndjson".into()),
        ..Link::new(address, "all-rows")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn rows_of_another_node_survive_the_way_and_are_answered_alike() {
        let given = Given {
            columns: vec!["n".into()],
            rows: vec![row("[1]"), row("[null]")],
            has_more: true,
            cursor: Some("c1".into()),
            link: Some("http://127.0.0.1:1/api/v1/results/x".into()),
            asked: vec!["a".into(), "b".into()],
            answered: vec!["a".into()],
            missing: vec!["b".into()],
            rows_scanned: Some(7),
            ledger_age_s: Some((3, 900)),
            time_s: 0.002,
            note: None,
        };
        let sent = serde_json::to_string(&given).unwrap();
        let came: Given = serde_json::from_str(&sent).unwrap();
        let outcome = came.outcome(RowShape::Lists).unwrap();
        let expected = json!({
            "columns": ["n"], "rows": [[1], [null]], "row_count": 2, "truncated": true,
            "next_cursor": "c1",
            "provenance": {
                "asked": ["a", "b"], "answered": ["a"], "missing": ["b"], "rows_scanned": 7,
                "time_ms": 2.0, "ledger_age_s": 3, "complete": false,
            },
        });
        assert_eq!(outcome.structured, Some(expected));
        assert_eq!(outcome.content.len(), 2);
    }

    #[test]
    fn rows_as_objects_stay_json_when_there_are_more() {
        let given = Given {
            columns: vec!["n".into(), "t".into()],
            rows: vec![row(r#"[1,"a"]"#)],
            has_more: true,
            cursor: Some("c1".into()),
            link: Some("http://127.0.0.1:1/api/v1/results/x".into()),
            ..Given::default()
        };
        let outcome = given.outcome(RowShape::Objects).unwrap();
        let structured = outcome.structured.unwrap();
        assert_eq!(structured["result"], json!([{ "n": 1, "t": "a" }]));
        assert_eq!(
            (&structured["truncated"], &structured["next_cursor"]),
            (&json!(true), &json!("c1"))
        );
        assert_eq!(outcome.content[0], Content::text(r#"[{"n":1,"t":"a"}]"#));
        assert!(matches!(outcome.content[2], Content::Link(_)), "{:?}", outcome.content);
    }

    /// Each is the shortest text that is the same number again.
    #[test]
    fn numbers_are_short_and_stay_what_they_are() {
        let texts = ["0.1", "2.6666666666666665", "98.53764928371", "-0.05", "20.25"];
        let rows = texts.iter().map(|text| row(&format!("[{text}]"))).collect();
        let given = Given { columns: vec!["n".into()], rows, ..Given::default() };
        let told = given.outcome(RowShape::Lists).unwrap().structured.unwrap();
        for (text, row) in texts.iter().zip(told["rows"].as_array().unwrap()) {
            assert_eq!(row[0].to_string(), **text, "{row}");
            assert_eq!(row[0].as_f64(), text.parse().ok(), "{row}");
        }
    }

    #[test]
    fn a_time_that_is_none_is_no_fault() {
        let given = Given { time_s: -1.0, ..Given::default() };
        assert!(given.outcome(RowShape::Lists).unwrap().structured.is_some());
    }
}
