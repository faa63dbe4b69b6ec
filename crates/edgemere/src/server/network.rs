//! The network port: what other nodes ask of this one.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State as Shared};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use edgemere_command::{Access, COMMAND_BYTES_MAX, Principal, Request};
use serde::Deserialize;

use super::execute::execute;
use super::peers::COMMAND_PATH;
use super::reply::answer;
use super::state::State;

/// A command of another node.
#[derive(Debug, Deserialize)]
struct Call {
    command: String,
}

/// The routes of the network port.
pub(super) fn router(state: Arc<State>) -> Router {
    Router::new()
        .route("/health", get(|| async { StatusCode::OK }))
        .route(COMMAND_PATH, post(command))
        .layer(DefaultBodyLimit::max(COMMAND_BYTES_MAX * 2))
        .with_state(state)
}

/// Runs a command for another node. Both are on this machine, since only its own addresses are
/// listened on, so the other may do what anyone here may do.
async fn command(Shared(state): Shared<Arc<State>>, Json(call): Json<Call>) -> Response {
    let request =
        Request::new(call.command, Principal::new("a node of the network", Access::Admin));
    match execute(&state, &request).await {
        Ok(rendered) => answer(rendered),
        Err(failure) => {
            let node = state.node.settings().network.ip().to_string();
            failure.into_reply("post", &node, None)
        }
    }
}
