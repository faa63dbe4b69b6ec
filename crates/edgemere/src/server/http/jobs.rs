//! `/api/v1/jobs`: queries that run with nobody waiting, and whose rows are read later.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State as Shared};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use edgemere_command::jobs;
use serde::Deserialize;
use serde_json::Value;

use super::asked;
use super::rest::{principal, request_id};
use super::sql::{Mode, format_named, format_of, options};
use super::whole;
use crate::server::execute::measured;
use crate::server::reply::{Failure, answer, json_body};
use crate::server::state::State;

/// The path of the jobs.
pub(super) const PATH: &str = "/api/v1/jobs";

/// A query that is to be a job.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    dbms: String,
    sql: String,
    /// How many seconds it may take.
    #[serde(default, deserialize_with = "asked::number")]
    max_time: Option<u64>,
    /// The same, under the name that it has in other requests.
    #[serde(default, deserialize_with = "asked::number")]
    timeout: Option<u64>,
    /// Whose rows are asked: `network` or `local`.
    #[serde(default, deserialize_with = "asked::text")]
    destination: Option<String>,
    /// Whether the rows of some operators will do when others do not answer.
    #[serde(default, deserialize_with = "asked::flag")]
    subset: bool,
}

/// How rows are to look: as `POST /api/v1/sql` has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Looks {
    format: Option<String>,
    mode: Option<Mode>,
    limit: Option<u64>,
    batch_rows: Option<u64>,
}

/// Begins a job.
pub(super) async fn start(
    Shared(state): Shared<Arc<State>>,
    uri: Uri,
    headers: HeaderMap,
    body: asked::Body,
) -> Response {
    let started = async {
        let question: Question = asked::asked(&headers, &uri, Some(body))?;
        let options = options("ndjson", &[("max_time", question.max_time.or(question.timeout))]);
        let (dbms, sql) = (question.dbms.as_str(), question.sql.as_str());
        let (destination, subset) = (question.destination.as_deref(), question.subset);
        let asked = jobs::Question { dbms, options: &options, sql, destination, subset };
        let principal = principal(&state);
        measured(&state, "job start", jobs::start(&state.node, &principal, &asked)).await
    };
    let reply = started.await.map(|(job, _)| {
        let id = job.get("id").and_then(Value::as_str).unwrap_or_default();
        let location = [(header::LOCATION, format!("{PATH}/{id}"))];
        (StatusCode::ACCEPTED, location, json_body(&job)).into_response()
    });
    or_failure(reply, &state, &Method::POST, &headers)
}

/// All jobs of who asks.
pub(super) async fn all(Shared(state): Shared<Arc<State>>) -> Response {
    json_body(&jobs::all(&state.node, &principal(&state))).into_response()
}

/// How far a job is.
pub(super) async fn status(
    Shared(state): Shared<Arc<State>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let told = jobs::status(&state.node, &principal(&state), &id);
    let reply = told.map(|job| json_body(&job).into_response()).map_err(Failure::from);
    or_failure(reply, &state, &Method::GET, &headers)
}

/// The rows of a job in the form that the caller accepts.
pub(super) async fn rows(
    Shared(state): Shared<Arc<State>>,
    Path(id): Path<String>,
    looks: Result<Query<Looks>, QueryRejection>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let read = async {
        let Query(looks) = looks.map_err(|error| {
            Failure::bad_request(error.body_text(), "give format, or mode, limit and batch_rows")
        })?;
        let format = match (&looks.format, looks.mode) {
            (Some(name), None) => format_named(name)?,
            (_, mode) => format_of(&headers, mode)?,
        };
        let numbers = [("limit", looks.limit), ("batch_rows", looks.batch_rows)];
        let (options, principal) = (options(format, &numbers), principal(&state));
        let asked = format!("{}\njob {id}\n{options}", principal.name());
        if let Some(part) = state.whole.again(&asked, &headers) {
            return Ok(part);
        }
        let rows = jobs::rows(&state.node, &principal, &id, &options);
        let (rendered, permit) = measured(&state, "job rows", rows).await?;
        // A reply that is streamed is under way until its end.
        let rendered = rendered.holding(permit);
        match whole::is_of_file(&method, &headers) {
            true => whole::reply(&state.whole, &asked, &headers, rendered).await,
            false => Ok(answer(rendered)),
        }
    };
    or_failure(read.await, &state, &Method::GET, &headers)
}

/// Cancels a job that runs, and forgets one that has ended.
pub(super) async fn remove(
    Shared(state): Shared<Arc<State>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let removed = jobs::remove(&state.node, &principal(&state), &id).await;
    let reply = removed.map_err(Failure::from).map(|cancelled| match cancelled {
        Some(job) => json_body(&job).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    });
    or_failure(reply, &state, &Method::DELETE, &headers)
}

/// A reply, or why there is none.
pub(super) fn or_failure(
    reply: Result<Response, Failure>,
    state: &State,
    method: &Method,
    headers: &HeaderMap,
) -> Response {
    reply.unwrap_or_else(|failure| {
        let node = state.node.settings().http.ip().to_string();
        failure.into_reply(method.as_str(), &node, request_id(headers))
    })
}
