//! Rows over HTTP: EdgeLake's `PUT`, and `POST /api/v1/ingest/{dbms}/{table}`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use edgemere_command::ingest;
use edgemere_storage::decode::{Input, LeftOut, Mixed, Note, Rejection};
use edgemere_storage::{Column, Put, Rows};
use serde_json::{Map, Value, json};

use super::body;
use super::jobs::or_failure;
use super::rest::principal;
use crate::server::execute;
use crate::server::reply::{Failure, json_body};
use crate::server::state::State;

/// What rows must be sent with.
const HEADERS_HINT: &str = "send the headers dbms and table, as in: curl -X PUT -H 'dbms: d' \
                            -H 'table: t' -H 'type: json' -d '[{\"a\": 1}]' ADDRESS";

/// Under which rows are sent again by a client that did not hear that they are stored.
const KEY_HEADER: &str = "idempotency-key";

/// Whether a new column of a CSV is text when some of its values are of another sort than the others.
const INFER: &str = "infer";

/// The most characters of such a key.
const KEY_CHARS_MAX: usize = 200;

/// Refuses rows with a column that no table can hold, which is left out otherwise.
const STRICT_HEADER: &str = "strict";

/// EdgeLake's hash of rows that are not remembered by their content.
const NO_HASH: &str = "0";

/// EdgeLake's `PUT`: rows as JSON, with the database and the table in headers.
pub(super) async fn put(
    Shared(state): Shared<Arc<State>>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let stored = async {
        let target = Target::of_headers(&headers, &uri)?;
        store(&state, "put", &headers, body, target).await
    };
    let reply = stored.await.map(|(put, hash)| {
        let mut reply = report(&put);
        let is_whole = put.rejected_total == 0;
        let said = if is_whole { "Success" } else { "Partial" };
        reply.shift_insert(0, "AnyLog.status".into(), said.into());
        reply.shift_insert(1, "AnyLog.hash".into(), hash.into());
        (status(&put), json_body(&Value::Object(reply))).into_response()
    });
    let error = reply.as_ref().err().map(Failure::edgelake_text);
    state.node.note_rest_call(principal(&state).name(), "PUT", error);
    or_failure(reply, &state, &Method::PUT, &headers)
}

/// Rows in any form that is known, by their content type.
pub(super) async fn ingest(
    Shared(state): Shared<Arc<State>>,
    Path((dbms, table)): Path<(String, String)>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let stored = async {
        let (input, key) = (input_of(&headers)?, key_of(&headers)?);
        let (mixed, strict) = (mixed_of(&headers, &uri)?, is_strict(&headers));
        let target = Target { dbms, table, input, key, mixed, is_file: false, strict };
        store(&state, "ingest", &headers, body, target).await
    };
    let reply = stored.await.map(|(put, _)| {
        let mut reply = report(&put);
        // EdgeLake's reply to PUT has no place for it.
        reply.extend(columns(&put));
        (status(&put), json_body(&Value::Object(reply))).into_response()
    });
    or_failure(reply, &state, &Method::POST, &headers)
}

fn is_strict(headers: &HeaderMap) -> bool {
    headers.get(STRICT_HEADER).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"))
}

/// Where rows go, and as what.
struct Target {
    dbms: String,
    table: String,
    input: Input,
    key: Option<String>,
    mixed: Mixed,
    /// Whether they are known by their content.
    is_file: bool,
    /// Whether no column may be left out.
    strict: bool,
}

impl Target {
    fn of_headers(headers: &HeaderMap, uri: &Uri) -> Result<Self, Failure> {
        let text =
            |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        let need = |name: &str| {
            let value = text(name).filter(|value| !value.is_empty());
            let message = format!("the header \"{name}\" is missing; nothing was stored");
            value.ok_or_else(|| Failure::bad_request(message, HEADERS_HINT))
        };
        let (dbms, table) = (need("dbms")?.to_owned(), need("table")?.to_owned());
        let input = match text("type").map(str::to_ascii_lowercase).as_deref() {
            None | Some("json") => Input::Json,
            Some("csv") => Input::Csv,
            Some(other) => {
                let message = format!("rows of type \"{other}\" are not known; nothing was stored");
                return Err(Failure::bad_request(message, "send type: json or type: csv"));
            }
        };
        let is_file = match text("mode").map(str::to_ascii_lowercase).as_deref() {
            None | Some("" | "streaming") => false,
            Some("file") => true,
            Some(other) => {
                let message = format!("the mode \"{other}\" is not known; nothing was stored");
                return Err(Failure::bad_request(message, "send mode: streaming or mode: file"));
            }
        };
        let key = if is_file { None } else { key_of(headers)? };
        let (mixed, strict) = (mixed_of(headers, uri)?, is_strict(headers));
        Ok(Self { dbms, table, input, key, mixed, is_file, strict })
    }
}

/// Stores the rows of a request, and gives EdgeLake's hash of them.
async fn store(
    state: &Arc<State>,
    name: &'static str,
    headers: &HeaderMap,
    body: Body,
    target: Target,
) -> Result<(Put, String), Failure> {
    let read = body::rows(&state.bodies, headers, body);
    let node = Arc::clone(&state.node);
    let stored = execute::store(state, name, read, async move |rows: body::Rows| {
        // Who goes away leaves the rows to be stored, and the room that they take is held until then.
        let stored = tokio::spawn(async move {
            let Target { dbms, table, input, key, mixed, is_file, strict } = target;
            let (dbms, table, bytes) = (dbms.as_str(), table.as_str(), &*rows.bytes);
            match is_file {
                true => ingest::put_file(&node, dbms, table, input, bytes, mixed).await,
                false => {
                    let key = key.as_deref();
                    let rows = Rows { dbms, table, input, bytes, key, mixed, strict };
                    Ok((ingest::put_rows(&node, rows).await?, NO_HASH.to_owned()))
                }
            }
        });
        Ok(stored.await.map_err(|_| Failure::fault())??)
    });
    let (put, hash) = stored.await?;
    let stored = if put.repeated { 0 } else { put.stored };
    state.metrics.rows(stored, put.rejected_total);
    Ok((put, hash))
}

fn input_of(headers: &HeaderMap) -> Result<Input, Failure> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = content_type.unwrap_or("application/json").split(';').next().unwrap_or_default();
    match media.trim().to_ascii_lowercase().as_str() {
        "application/json" | "text/plain" | "application/x-www-form-urlencoded" => Ok(Input::Json),
        "application/x-ndjson" | "application/jsonl" => Ok(Input::Lines),
        "text/csv" => Ok(Input::Csv),
        "application/vnd.apache.arrow.stream" => Ok(Input::ArrowStream),
        other => Err(Failure::unsupported(
            format!("rows of content type \"{other}\" are not known; nothing was stored"),
            "send application/json, application/x-ndjson, text/csv or \
             application/vnd.apache.arrow.stream",
        )),
    }
}

/// What the header or the URL's parameter `infer` says.
fn mixed_of(headers: &HeaderMap, uri: &Uri) -> Result<Mixed, Failure> {
    let header = headers.get(INFER).map(|value| value.to_str().unwrap_or("?").to_owned());
    let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let parameter = pairs.into_owned().find(|(key, _)| key == INFER).map(|(_, value)| value);
    let said = parameter.or(header).map(|said| said.trim().to_ascii_lowercase());
    match said.as_deref() {
        None | Some("false") => Ok(Mixed::Reject),
        Some("true" | "") => Ok(Mixed::Text),
        Some(other) => {
            let message = format!("\"{INFER}\" cannot be \"{other}\"; nothing was stored");
            Err(Failure::bad_request(message, "send infer: true or infer: false"))
        }
    }
}

/// The key that the rows are sent with. It is kept apart from the hashes of content.
fn key_of(headers: &HeaderMap) -> Result<Option<String>, Failure> {
    let Some(key) = headers.get(KEY_HEADER) else { return Ok(None) };
    let key = key.to_str().map(str::trim).unwrap_or_default();
    if key.is_empty() || key.len() > KEY_CHARS_MAX {
        let message = format!("the header \"{KEY_HEADER}\" is no key; nothing was stored");
        let hint = "send 1 to 200 ASCII characters, as a UUID, that no other rows are sent with";
        return Err(Failure::bad_request(message, hint));
    }
    Ok(Some(format!("key {key}")))
}

/// Some stored and some not is neither a success nor a failure.
fn status(put: &Put) -> StatusCode {
    match (put.stored, put.rejected_total) {
        (_, 0) => StatusCode::OK,
        (0, _) => StatusCode::BAD_REQUEST,
        _ => StatusCode::MULTI_STATUS,
    }
}

/// How many rows were stored, and which were not.
fn report(put: &Put) -> Map<String, Value> {
    let rejected = |rejected: &Rejection| {
        json!({
            "row": rejected.row,
            "column": rejected.column,
            "value": rejected.value,
            "reason": rejected.reason,
        })
    };
    let mut report = Map::new();
    report.insert("stored".into(), put.stored.into());
    if put.repeated {
        report.insert("repeated".into(), true.into());
    }
    if !put.notes.is_empty() {
        let note = |note: &Note| {
            let Note { column, row, value } = note;
            json!({ "column": column, "row": row, "value": value, "note": note.to_string() })
        };
        report.insert("notes".into(), put.notes.iter().map(note).collect());
    }
    if put.rejected_total > 0 {
        report.insert("rejected".into(), put.rejected_total.into());
        report.insert("rows".into(), put.rejected.iter().map(rejected).collect());
    }
    if !put.left_out.is_empty() {
        let column = |left: &LeftOut| json!({ "column": left.column, "reason": left.reason });
        report.insert("left_out".into(), put.left_out.iter().map(column).collect());
    }
    report
}

/// The columns of a table that was made for the rows, or that has new ones since.
fn columns(put: &Put) -> Option<(String, Value)> {
    let column = |column: &Column| match &column.original {
        Some(original) => {
            json!({ "name": column.name, "type": column.kind.sql(), "original_name": original })
        }
        None => json!({ "name": column.name, "type": column.kind.sql() }),
    };
    let columns = put.changed.as_ref()?.columns.iter().map(column).collect();
    Some((if put.is_new { "created" } else { "columns" }.into(), columns))
}
