//! Rows over HTTP: EdgeLake's `PUT`, and `POST /api/v1/ingest/{dbms}/{table}`.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use edgemere_command::{Effect, ingest};
use edgemere_engine::Put;
use edgemere_engine::ingest::{Input, Rejected};
use serde_json::{Map, Value, json};

use super::rest::{principal, request_id};
use crate::server::reply::{Failure, json_body};
use crate::server::state::State;

/// What rows must be sent with.
const HEADERS_HINT: &str = "send the headers dbms and table, as in: curl -X PUT -H 'dbms: d' \
                            -H 'table: t' -H 'type: json' -d '[{\"a\": 1}]' ADDRESS";

/// EdgeLake's `PUT`: rows as JSON, with the database and the table in headers.
pub(super) async fn put(
    state: &Arc<State>,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Failure> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let need = |name: &str| {
        let value = text(name).filter(|value| !value.is_empty());
        let message = format!("the header \"{name}\" is missing; nothing was stored");
        value.ok_or_else(|| Failure::bad_request(message, HEADERS_HINT))
    };
    let (dbms, table) = (need("dbms")?, need("table")?);
    let input = match text("type").map(str::to_ascii_lowercase).as_deref() {
        None | Some("json") => Input::Json,
        Some("csv") => Input::Csv,
        Some(other) => {
            let message = format!("rows of type \"{other}\" are not known; nothing was stored");
            return Err(Failure::bad_request(message, "send type: json or type: csv"));
        }
    };
    let put = store(state, dbms, table, input, body).await?;
    let mut reply = report(&put);
    let is_whole = put.rejected_total == 0;
    let said = if is_whole { "Success" } else { "Partial" };
    reply.shift_insert(0, "AnyLog.status".into(), said.into());
    reply.shift_insert(1, "AnyLog.hash".into(), "0".into());
    Ok((status(&put), json_body(&Value::Object(reply))).into_response())
}

/// Rows in any form that is known, by their content type.
pub(super) async fn ingest(
    Shared(state): Shared<Arc<State>>,
    Path((dbms, table)): Path<(String, String)>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let stored = async {
        let input = input_of(&headers)?;
        store(&state, &dbms, &table, input, body).await
    };
    match stored.await {
        Ok(put) => (status(&put), json_body(&Value::Object(report(&put)))).into_response(),
        Err(failure) => {
            let node = state.node.settings().http.ip().to_string();
            failure.into_reply("post", &node, request_id(&headers))
        }
    }
}

fn input_of(headers: &HeaderMap) -> Result<Input, Failure> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = content_type.unwrap_or("application/json").split(';').next().unwrap_or_default();
    match media.trim().to_ascii_lowercase().as_str() {
        "application/json"
        | "application/x-ndjson"
        | "application/jsonl"
        | "text/plain"
        | "application/x-www-form-urlencoded" => Ok(Input::Json),
        "text/csv" => Ok(Input::Csv),
        "application/vnd.apache.arrow.stream" => Ok(Input::ArrowStream),
        other => Err(Failure::bad_request(
            format!("rows of content type \"{other}\" are not known; nothing was stored"),
            "send application/json, application/x-ndjson, text/csv or \
             application/vnd.apache.arrow.stream",
        )),
    }
}

async fn store(
    state: &Arc<State>,
    dbms: &str,
    table: &str,
    input: Input,
    body: Result<Bytes, BytesRejection>,
) -> Result<Put, Failure> {
    let body = body.map_err(|error| {
        let message = format!("the rows cannot be read: {error}; nothing was stored");
        Failure::bad_request(message, "send fewer rows at once")
    })?;
    if !principal(state).may(Effect::Write) {
        let message = "the local user may not store rows: it needs the permission to write";
        return Err(Failure::foreign(message.into()));
    }
    Ok(ingest::put(&state.node, dbms, table, input, &body).await?)
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
    let rejected = |rejected: &Rejected| {
        json!({
            "row": rejected.row,
            "column": rejected.column,
            "value": rejected.value,
            "reason": rejected.reason,
        })
    };
    let mut report = Map::new();
    report.insert("stored".into(), put.stored.into());
    if put.rejected_total > 0 {
        report.insert("rejected".into(), put.rejected_total.into());
        report.insert("rows".into(), put.rejected.iter().map(rejected).collect());
    }
    report
}
