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
}

/// Answers a query.
pub(super) async fn query(
    Shared(state): Shared<Arc<State>>,
    headers: HeaderMap,
    question: Result<Json<Question>, JsonRejection>,
) -> Response {
    let answered = async {
        let Json(question) = question.map_err(|error| Failure::bad_json(error.body_text()))?;
        let options = format!("format = {} and stat = false", format_of(&headers)?);
        let command = sql_command(&question.dbms, &options, &question.sql);
        execute(&state, &Request::new(command, principal(&state))).await
    };
    match answered.await {
        Ok(rendered) => answer(rendered),
        Err(failure) => {
            let node = state.node.settings().http.ip().to_string();
            failure.into_reply("post", &node, request_id(&headers))
        }
    }
}

/// The format of the first media type that is known; NDJSON when none is named.
fn format_of(headers: &HeaderMap) -> Result<&'static str, Failure> {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
    let known = accept.split(',').find_map(|media| {
        match media.split(';').next().unwrap_or_default().trim() {
            "application/x-ndjson" | "application/jsonl" | "*/*" | "application/*" => {
                Some("ndjson")
            }
            "application/json" => Some("json:list"),
            "text/csv" | "text/*" => Some("csv"),
            _ => None,
        }
    });
    known.ok_or_else(|| {
        Failure::bad_request(
            format!("rows cannot be given as \"{accept}\""),
            "accept application/x-ndjson, application/json or text/csv",
        )
    })
}
