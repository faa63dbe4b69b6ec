//! `/api/v1/jobs`: queries that run with nobody waiting, and whose rows are read later.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State as Shared};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use edgemere_command::jobs;
use serde::Deserialize;
use serde_json::Value;

use super::rest::{principal, request_id};
use super::sql::{Mode, format_of, options};
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
    max_time: Option<u64>,
    /// Whose rows are asked.
    #[serde(default)]
    destination: Destination,
    /// Whether the rows of some operators will do when others do not answer.
    #[serde(default)]
    subset: bool,
}

/// Whose rows a query asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Destination {
    /// This node's.
    #[default]
    Local,
    /// Those of all operators.
    Network,
}

/// How rows are to look: as `POST /api/v1/sql` has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Looks {
    mode: Option<Mode>,
    limit: Option<u64>,
    batch_rows: Option<u64>,
}

/// Begins a job.
pub(super) async fn start(
    Shared(state): Shared<Arc<State>>,
    headers: HeaderMap,
    question: Result<Json<Question>, JsonRejection>,
) -> Response {
    let started = async {
        let Json(question) = question.map_err(|error| Failure::bad_json(error.body_text()))?;
        let options = options("ndjson", &[("max_time", question.max_time)]);
        let (dbms, sql) = (question.dbms.as_str(), question.sql.as_str());
        let on_network = question.destination == Destination::Network;
        let subset = question.subset;
        let asked = jobs::Question { dbms, options: &options, sql, on_network, subset };
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
    headers: HeaderMap,
) -> Response {
    let read = async {
        let Query(looks) = looks.map_err(|error| {
            Failure::bad_request(error.body_text(), "give mode, limit and batch_rows")
        })?;
        let format = format_of(&headers, looks.mode)?;
        let numbers = [("limit", looks.limit), ("batch_rows", looks.batch_rows)];
        let (options, principal) = (options(format, &numbers), principal(&state));
        let rows = jobs::rows(&state.node, &principal, &id, &options);
        measured(&state, "job rows", rows).await
    };
    // A reply that is streamed is under way until its end.
    let reply = read.await.map(|(rendered, permit)| answer(rendered.holding(permit)));
    or_failure(reply, &state, &Method::GET, &headers)
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
