//! Sends rows to a node, and tells apart what may be tried again.

use std::time::Duration;

use axum::body::Bytes;
use edgemere_command::Kind;
use edgemere_storage::decode::Input;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Response, StatusCode, Url};
use serde::Deserialize;

use super::Client;
use crate::failure::Failure;

/// How long a node has to store rows. It makes a writer wait for five seconds at most.
const ANSWER_TIME: Duration = Duration::from_secs(120);

/// When to try again when the node does not say.
const RETRY_TIME: Duration = Duration::from_secs(1);

/// Rows for a table.
#[derive(Clone, Debug)]
pub(crate) struct Upload<'a> {
    pub(crate) dbms: &'a str,
    pub(crate) table: &'a str,
    pub(crate) input: Input,
    pub(crate) body: Bytes,
    /// Under which the node knows these rows when they are sent again.
    pub(crate) key: &'a str,
    /// Whether values of several sorts make a new column text.
    pub(crate) infer: bool,
}

/// What became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Stored {
    /// How many are stored.
    pub(crate) stored: u64,
    /// How many are not.
    #[serde(default)]
    pub(crate) rejected: u64,
    /// The first of those that are not.
    #[serde(default)]
    pub(crate) rows: Vec<Rejected>,
    /// Whether they were stored before, and not again now.
    #[serde(default)]
    pub(crate) repeated: bool,
    /// The columns of the table, where it was made for them.
    #[serde(default)]
    pub(crate) created: Vec<Column>,
    /// The new columns that are text because of single values.
    #[serde(default)]
    pub(crate) notes: Vec<Note>,
    /// The columns that no table can hold, and that were left out.
    #[serde(default)]
    pub(crate) left_out: Vec<LeftOut>,
}

/// A column of a new table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    /// What it is called in the file, where that is another name.
    #[serde(default)]
    pub(crate) original_name: Option<String>,
}

/// That a column is text because of a value.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Note {
    pub(crate) column: String,
    /// The row among those that were sent, from 1.
    pub(crate) row: usize,
    pub(crate) value: String,
}

/// A column that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct LeftOut {
    pub(crate) column: String,
    pub(crate) reason: String,
}

/// A row that was not stored.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Rejected {
    /// Its number among those that were sent, from 1.
    pub(crate) row: usize,
    pub(crate) column: Option<String>,
    pub(crate) value: String,
    pub(crate) reason: String,
}

/// Why there is no word of what became of rows.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The node wants them later.
    Later(Duration, Failure),
    /// No answer came: they may be stored or not.
    Lost(Failure),
    /// The node does not take them.
    Refused(Failure),
}

impl Client {
    /// Sends rows.
    pub(crate) async fn ingest(&self, upload: &Upload<'_>) -> Result<Stored, Trouble> {
        let request = self
            .http
            .post(ingest_url(&self.url, upload.dbms, upload.table))
            .header(CONTENT_TYPE, content_type(upload.input))
            .header("idempotency-key", upload.key)
            .header("infer", if upload.infer { "true" } else { "false" })
            .timeout(ANSWER_TIME)
            .body(upload.body.clone());
        let lost = |error: reqwest::Error| Trouble::Lost(self.unreachable(&error));
        let response = request.send().await.map_err(lost)?;
        let (status, wait) = (response.status(), retry_after(&response));
        let body = response.text().await.map_err(lost)?;
        // A node that stored nothing since no row fits says so with an error's status.
        if let Ok(stored) = serde_json::from_str(&body) {
            return Ok(stored);
        }
        let failure = self.refused(status, &body);
        Err(match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                Trouble::Later(wait, failure)
            }
            _ if status.is_success() => {
                let message = format!("what answers is not a node: {}", failure.message);
                Trouble::Refused(Failure::new(Kind::Unavailable, message))
            }
            _ => Trouble::Refused(failure),
        })
    }
}

fn ingest_url(node: &Url, dbms: &str, table: &str) -> Url {
    let mut url = node.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.clear().extend(["api", "v1", "ingest", dbms, table]);
    }
    url
}

fn content_type(input: Input) -> &'static str {
    match input {
        Input::Json => "application/json",
        Input::Lines => "application/x-ndjson",
        Input::Csv => "text/csv",
        Input::ArrowStream => "application/vnd.apache.arrow.stream",
    }
}

fn retry_after(response: &Response) -> Duration {
    let seconds = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let seconds = seconds.and_then(|text| text.trim().parse().ok());
    seconds.map_or(RETRY_TIME, Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_place_in_the_url() {
        let node = Url::parse("http://127.0.0.1:9/").unwrap();
        let url = ingest_url(&node, "a/b", "x y?#%2e");
        assert_eq!(url.as_str(), "http://127.0.0.1:9/api/v1/ingest/a%2Fb/x%20y%3F%23%252e");
    }

    #[test]
    fn replies_are_read_with_and_without_rejected_rows() {
        let stored: Stored = serde_json::from_str(r#"{"stored": 3}"#).unwrap();
        assert_eq!(stored, Stored { stored: 3, ..Stored::default() });
        let text = r#"{"stored": 0, "rejected": 1, "rows":
            [{"row": 1, "column": null, "value": "x", "reason": "not an object"}]}"#;
        let stored: Stored = serde_json::from_str(text).unwrap();
        assert_eq!((stored.rejected, stored.rows[0].row), (1, 1));
        assert!(serde_json::from_str::<Stored>(r#"{"err_code": 1}"#).is_err());
    }
}
