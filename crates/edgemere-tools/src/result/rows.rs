//! The answer of a query: the first rows, whether there are more, and the ways to those.

use edgemere_command::results::{Page, ResultRows};
use mcp_serve::{Link, Outcome};
use serde_json::{Map, Value, json};

use super::{Provenance, TEXT_BYTES_MAX};
use crate::commands::Failure;

/// How many rows the text has when all of them would be too long for it.
const TEXT_ROWS: usize = 20;

/// The ways to the rows that did not fit.
#[derive(Clone, Debug, Default)]
pub(crate) struct More {
    /// What `fetch_rows` takes.
    pub(crate) cursor: Option<String>,
    /// Where all rows can be read.
    pub(crate) link: Option<String>,
}

/// Rows that were taken, and the names of their columns.
pub(crate) struct Taken {
    pub(crate) columns: Vec<String>,
    pub(crate) page: Page,
}

impl Taken {
    /// Names the columns of a page of these rows.
    pub(crate) fn new(rows: &ResultRows, page: Page) -> Self {
        let columns = rows.columns().into_iter().map(|column| column.name).collect();
        Self { columns, page }
    }

    /// The answer.
    pub(crate) fn outcome(self, more: &More, provenance: &Provenance) -> Result<Outcome, Failure> {
        let count = self.page.rows.len();
        let rows = self.page.rows.iter().map(|row| serde_json::from_str(row.get()));
        let rows = rows.collect::<Result<Vec<Value>, _>>().map_err(|error| {
            Failure::new(edgemere_command::Kind::Internal, error.to_string(), None)
        })?;
        let mut answer = Map::new();
        answer.insert("columns".into(), json!(self.columns));
        answer.insert("rows".into(), Value::Array(rows));
        answer.insert("row_count".into(), count.into());
        answer.insert("truncated".into(), self.page.has_more.into());
        more.cursor.as_ref().map(|cursor| answer.insert("next_cursor".into(), json!(cursor)));
        answer.insert("provenance".into(), provenance.to_value());
        let outcome = Outcome::text(text(&answer));
        let outcome = match &more.link {
            Some(link) => outcome.link(whole(link)),
            None => outcome,
        };
        Ok(Outcome { structured: Some(Value::Object(answer)), ..outcome })
    }
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
    let note = format!("{left} more rows are in structuredContent");
    short.insert("note".into(), note.into());
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
