//! `POST /api/v1/sql`: a query, and its rows in the form that the caller accepts.

use std::sync::Arc;

use axum::Json;
use axum::extract::State as Shared;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use edgemere_command::{Request, sql_command};
use serde::Deserialize;

use super::rest::{principal, request_id};
use crate::server::execute::execute;
use crate::server::reply::{Failure, answer};
use crate::server::state::State;

/// A query.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    dbms: String,
    sql: String,
    /// All rows at once up to a limit, or as events; without it as the caller accepts.
    mode: Option<Mode>,
    /// The most rows in batch mode.
    limit: Option<u64>,
    /// How many rows an event has in streaming mode.
    batch_rows: Option<u64>,
    /// How many seconds it may take.
    max_time: Option<u64>,
    /// `network`: all operators as one database. Without it, this node.
    destination: Option<String>,
    /// Whether the rows of some operators will do when others do not answer.
    #[serde(default)]
    subset: bool,
}

/// The two modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mode {
    Batch,
    Stream,
}

impl Question {
    /// The options of the `sql` command that asks the same.
    fn options(&self, format: &str) -> String {
        let numbers =
            [("limit", self.limit), ("batch_rows", self.batch_rows), ("max_time", self.max_time)];
        options(format, &numbers)
    }
}

/// The options of a `sql` command.
pub(super) fn options(format: &str, numbers: &[(&str, Option<u64>)]) -> String {
    let mut options = format!("format = {format} and stat = false");
    for (key, number) in numbers {
        options.extend(number.map(|number| format!(" and {key} = {number}")));
    }
    options
}

/// Answers a query.
pub(super) async fn query(
    Shared(state): Shared<Arc<State>>,
    headers: HeaderMap,
    question: Result<Json<Question>, JsonRejection>,
) -> Response {
    let answered = async {
        let Json(question) = question.map_err(|error| Failure::bad_json(error.body_text()))?;
        let options = question.options(format_of(&headers, question.mode)?);
        let command = sql_command(&question.dbms, &options, &question.sql);
        let request = Request {
            destination: question.destination.filter(|destination| !destination.is_empty()),
            subset: question.subset,
            ..Request::new(command, principal(&state))
        };
        execute(&state, &request).await
    };
    match answered.await {
        Ok(rendered) => answer(rendered),
        Err(failure) => {
            let node = state.node.settings().http.ip().to_string();
            failure.into_reply("post", &node, request_id(&headers))
        }
    }
}

/// The format of the first media type that the mode has.
pub(super) fn format_of(headers: &HeaderMap, mode: Option<Mode>) -> Result<&'static str, Failure> {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
    let known = accept.split(',').find_map(|media| {
        let media = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        format_in(&media, mode)
    });
    known.ok_or_else(|| {
        let (mode, hint) = match mode {
            None => ("", ANY_HINT),
            Some(Mode::Batch) => (" in batch mode", "accept application/json"),
            Some(Mode::Stream) => {
                (" in streaming mode", "accept text/event-stream or application/x-ndjson")
            }
        };
        Failure::bad_request(format!("rows cannot be given as \"{accept}\"{mode}"), hint)
    })
}

const ANY_HINT: &str = "accept application/x-ndjson, application/json, text/csv, \
                        text/event-stream, application/vnd.apache.arrow.stream or \
                        application/vnd.apache.parquet";

/// The format of a media type in a mode; without a mode rows are streamed as they are, but JSON and
/// server-sent events have a mode of their own.
fn format_in(media: &str, mode: Option<Mode>) -> Option<&'static str> {
    let format = match (media, mode) {
        ("application/json" | "*/*" | "application/*", Some(Mode::Batch))
        | ("application/json", None) => "batch",
        (
            "application/x-ndjson" | "application/jsonl" | "*/*" | "application/*",
            Some(Mode::Stream),
        ) => "events",
        ("text/event-stream" | "text/*", Some(Mode::Stream)) | ("text/event-stream", None) => {
            "events:sse"
        }
        ("application/x-ndjson" | "application/jsonl" | "*/*" | "application/*", None) => "ndjson",
        ("text/csv" | "text/*", None) => "csv",
        ("application/vnd.apache.arrow.stream", None) => "arrow",
        ("application/vnd.apache.parquet", None) => "parquet",
        _ => return None,
    };
    Some(format)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(accept: &'static str, mode: Option<Mode>) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        format_of(&headers, mode).ok()
    }

    #[test]
    fn the_caller_gets_what_it_accepts_in_the_mode_that_it_wants() {
        let (any, batch, stream) = (None, Some(Mode::Batch), Some(Mode::Stream));
        let cases = [
            ("*/*", any, Some("ndjson")),
            ("*/*", batch, Some("batch")),
            ("*/*", stream, Some("events")),
            ("application/json", any, Some("batch")),
            ("application/json", stream, None),
            ("application/x-ndjson; q=0.9, text/csv", any, Some("ndjson")),
            ("application/x-ndjson", stream, Some("events")),
            ("application/x-ndjson", batch, None),
            ("image/png, TEXT/CSV", any, Some("csv")),
            ("text/csv", batch, None),
            ("text/event-stream", any, Some("events:sse")),
            ("text/event-stream", stream, Some("events:sse")),
            ("application/vnd.apache.arrow.stream", any, Some("arrow")),
            ("application/vnd.apache.parquet", any, Some("parquet")),
            ("image/png", any, None),
        ];
        for (accept, mode, expected) in cases {
            assert_eq!(format(accept, mode), expected, "{accept} {mode:?}");
        }
    }
}
