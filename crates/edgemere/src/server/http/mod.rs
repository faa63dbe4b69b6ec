//! The HTTP port: EdgeLake's REST at `/`, health, metrics, and a page for browsers.

pub(crate) mod answers;
mod asked;
mod body;
mod bounded;
mod form;
pub(super) mod guard;
mod html;
mod ids;
mod jobs;
pub(crate) mod limit;
mod page;
mod query;
mod ranges;
mod rest;
pub(super) mod results;
mod rows;
mod sql;
mod whole;

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State as Shared};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post, put};
use axum::{Router, middleware};
use serde_json::json;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::trace::TraceLayer;

pub(super) use self::bounded::BoundedBodies;
use self::guard::OwnPages;
use self::ids::Ids;
use self::limit::Limited;
pub(super) use self::rest::principal;
pub(super) use self::whole::Whole;
use super::mcp::Mcp;
use super::reply::{LEDGER_AGE_HEADER, json_body};
use super::state::State;

/// The routes of the HTTP port.
pub(super) fn router(state: &Arc<State>, mcp: &Mcp) -> Router {
    let span = |request: &axum::extract::Request| {
        let id = rest::request_id(request.headers()).unwrap_or_default();
        tracing::info_span!("http", method = %request.method(), id)
    };
    let guarded = Arc::clone(state);
    // As one layer: each costs every request a box of its own otherwise. The first comes first.
    let layers = ServiceBuilder::new()
        .map_response(guard::unkept)
        .layer(SetRequestIdLayer::x_request_id(Ids::default()))
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(TraceLayer::new_for_http().make_span_with(span))
        .layer(CatchPanicLayer::custom(rest::panicked))
        .layer_fn(move |inner| OwnPages { inner, state: Arc::clone(&guarded) })
        .layer_fn(Limited);
    let bodies = BoundedBodies::new(state);
    let rows = Router::new()
        .route("/", put(rows::put))
        .route("/api/v1/ingest/{dbms}/{table}", post(rows::ingest));
    let routes = Router::new()
        .route("/", any(rest::handle))
        .route("/page.css", get(page::style))
        .route("/page.js", get(page::script))
        .route("/health", get(health))
        .route("/health/live", get(|| async { json_body(&json!({ "status": "ok" })) }))
        .route("/api/status", get(|| async { json_body(&json!({ "status": "ok" })) }))
        .route("/metrics", get(metrics))
        .route("/api/v1/sql", get(sql::read).post(sql::query))
        .route(jobs::PATH, get(jobs::all).post(jobs::start))
        .route("/api/v1/jobs/{id}", get(jobs::status).delete(jobs::remove))
        .route("/api/v1/jobs/{id}/rows", get(jobs::rows))
        .route("/api/v1/results/{id}", get(results::rows))
        .route(answers::PATH, post(answers::answers))
        // The bodies have been read within their limits.
        .layer(DefaultBodyLimit::disable())
        .layer(bodies)
        .merge(rows)
        .with_state(Arc::clone(state))
        .merge(mcp.router(state));
    let routes = match state.node.follows() {
        Some(_) => routes.layer(middleware::map_response_with_state(Arc::clone(state), aged)),
        None => routes,
    };
    routes.layer(layers)
}

/// Says in a reply how old the node's copy of the ledger is.
async fn aged(Shared(state): Shared<Arc<State>>, mut reply: Response) -> Response {
    if let Some(age) = state.node.ledger_age() {
        reply.headers_mut().insert(LEDGER_AGE_HEADER, age.seconds.into());
    }
    reply
}

/// Whether the node answers as it should: also whether its queries run, as the engine's last probe
/// found.
async fn health(Shared(state): Shared<Arc<State>>) -> impl IntoResponse {
    let (status, told) = match state.node.engine().sql().answers() {
        true => (StatusCode::OK, "ok"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "queries do not run"),
    };
    let body = json_body(&json!({
        "status": told,
        "node": state.node.assigned_name(),
        "version": edgemere_command::VERSION,
        "policies": state.node.ledger().len(),
    }));
    (status, body)
}

async fn metrics(Shared(state): Shared<Arc<State>>) -> impl IntoResponse {
    const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, TEXT)], state.metrics.text(&state.node))
}
