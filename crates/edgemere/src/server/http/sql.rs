//! `/api/v1/sql`: a query, and its rows in the form that the caller accepts. `POST` streams them; `GET` is for
//! programs that read a file from a URL, and sends them whole, with their length and with ranges.

use std::sync::Arc;

use axum::extract::State as Shared;
use axum::http::{HeaderMap, Method, Uri, header};
use axum::response::Response;
use edgemere_command::{Request, sql_command};
use serde::Deserialize;

use super::rest::principal;
use super::{asked, jobs, whole};
use crate::server::execute::execute;
use crate::server::reply::{Failure, answer};
use crate::server::state::State;

/// A query.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    dbms: String,
    sql: String,
    /// The form of the rows; without it as the caller accepts.
    #[serde(default, deserialize_with = "asked::text")]
    format: Option<String>,
    /// All rows at once up to a limit, or as events; without it as the caller accepts.
    mode: Option<Mode>,
    /// The most rows in batch mode.
    #[serde(default, deserialize_with = "asked::number")]
    limit: Option<u64>,
    /// How many rows an event has in streaming mode.
    #[serde(default, deserialize_with = "asked::number")]
    batch_rows: Option<u64>,
    /// How many seconds it may take.
    #[serde(default, deserialize_with = "asked::number")]
    max_time: Option<u64>,
    /// The same, under the name that it has in other requests.
    #[serde(default, deserialize_with = "asked::number")]
    timeout: Option<u64>,
    /// `network`: all operators as one database. `local`: this node. Nodes: each of them. Without it this
    /// node, or the network when this node has nothing of the database.
    #[serde(default, deserialize_with = "asked::text")]
    destination: Option<String>,
    /// Whether the rows of some operators will do when others do not answer.
    #[serde(default, deserialize_with = "asked::flag")]
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
    /// The request that asks the same.
    fn request(self, state: &State, headers: &HeaderMap) -> Result<Request, Failure> {
        let format = match (&self.format, self.mode) {
            (Some(name), None) => format_named(name)?,
            (Some(_), Some(_)) => {
                let message = "\"format\" and \"mode\" cannot both be given";
                return Err(Failure::bad_request(message, "leave \"mode\" out"));
            }
            (None, mode) => format_of(headers, mode)?,
        };
        let max_time = self.max_time.or(self.timeout);
        let numbers =
            [("limit", self.limit), ("batch_rows", self.batch_rows), ("max_time", max_time)];
        let command = sql_command(&self.dbms, &options(format, &numbers), &self.sql);
        let (destination, subset) = (self.destination, self.subset);
        Ok(Request { destination, subset, ..Request::new(command, principal(state)) })
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

/// Answers a query with its rows as they are found.
pub(super) async fn query(
    Shared(state): Shared<Arc<State>>,
    uri: Uri,
    headers: HeaderMap,
    body: asked::Body,
) -> Response {
    let answered = async {
        let question: Question = asked::asked(&headers, &uri, Some(body))?;
        let request = question.request(&state, &headers)?;
        execute(&state, &request).await.map(answer)
    };
    jobs::or_failure(answered.await, &state, &Method::POST, &headers)
}

/// Answers a query as if its rows were a file: whole, with a length, and in parts.
pub(super) async fn read(
    Shared(state): Shared<Arc<State>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let answered = async {
        let question: Question = asked::asked(&headers, &uri, None)?;
        let request = question.request(&state, &headers)?;
        let Request { command, destination, subset, principal, .. } = &request;
        let name = principal.name();
        let asked =
            format!("{name}\n{}\n{subset}\n{command}", destination.as_deref().unwrap_or(""));
        if let Some(part) = state.whole.again(&asked, &headers) {
            return Ok(part);
        }
        let rendered = execute(&state, &request).await?;
        whole::reply(&state.whole, &asked, &headers, rendered).await
    };
    jobs::or_failure(answered.await, &state, &Method::GET, &headers)
}

/// The formats that a query can name, and what the `sql` command calls them.
const FORMATS: [(&str, &str); 9] = [
    ("csv", "csv"),
    ("ndjson", "ndjson"),
    ("json", "batch"),
    ("json:list", "json:list"),
    ("arrow", "arrow"),
    ("parquet", "parquet"),
    ("table", "table"),
    ("events", "events"),
    ("events:sse", "events:sse"),
];

/// The format of that name.
pub(super) fn format_named(name: &str) -> Result<&'static str, Failure> {
    let name = name.to_ascii_lowercase();
    let found = FORMATS.iter().find(|(known, _)| *known == name).map(|(_, format)| *format);
    found.ok_or_else(|| {
        let known = FORMATS.map(|(known, _)| known).join(", ");
        let message = format!("rows cannot be given as \"{name}\"");
        Failure::bad_request(message, &format!("give one of {known}"))
    })
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
