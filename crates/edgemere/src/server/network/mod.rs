//! The network port: what other nodes ask of this one. Everything on it goes through the guard, so
//! that only nodes of the network get an answer; a further service is one more route here.

mod ledger;

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State as Shared};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use edgemere_command::{COMMAND_BYTES_MAX, Node, Principal, Request, Role, sync};
use edgemere_query::distributed::{Identity, Worker};
use serde::Deserialize;
use tower::util::MapResponseLayer;

use super::auth::{Guard, authenticate, prove};
use super::execute::execute;
use super::http::guard::unkept;
use super::peers::{COMMAND_PATH, HEALTH_PATH, LEDGER_PATH};
use super::reply::{Failure, answer};
use super::state::State;

/// A command of another node.
#[derive(Debug, Deserialize)]
struct Call {
    command: String,
    /// For whom the other node asks. The proof of the network key covers it as it does the command.
    #[serde(default)]
    caller: Option<CallerOf>,
}

/// The caller of a command that another node forwards.
#[derive(Debug, Deserialize)]
struct CallerOf {
    name: String,
    access: String,
}

impl Call {
    /// Who the command is run for: the caller that the peer names, with no more than both may do. Without
    /// one, or with one that makes no sense, the command may only read.
    fn principal(&self, peer: &Principal) -> Principal {
        let caller = self.caller.as_ref();
        let access = caller.and_then(|caller| caller.access.parse().ok());
        peer.on_behalf_of(caller.zip(access).map(|(caller, access)| (caller.name.as_str(), access)))
    }
}

/// The routes of the network port.
pub(super) fn router(state: Arc<State>, guard: Arc<Guard>) -> Router {
    let operator = state.node.has_role(Role::Operator).then(|| worker(&state.node));
    Router::new()
        .merge(operator.unwrap_or_default())
        .route(HEALTH_PATH, get(|| async { StatusCode::OK }))
        .route(COMMAND_PATH, post(command))
        .route(LEDGER_PATH, get(ledger::changes).post(ledger::publish))
        .layer(DefaultBodyLimit::max(COMMAND_BYTES_MAX * 2))
        .layer(middleware::from_fn_with_state(Arc::clone(&guard), prove))
        .layer(middleware::from_fn_with_state(guard, authenticate))
        .layer(MapResponseLayer::new(unkept))
        .with_state(state)
}

/// What an operator does for the queries of other nodes: their tasks, on its own rows. Who calls has
/// proved to be of the network before.
fn worker(node: &Arc<Node>) -> Router<Arc<State>> {
    // What runs for others does not keep the node.
    let of = Arc::downgrade(node);
    // Only known when the node has joined, and another one when it has moved.
    let id: Identity = Arc::new(move || sync::operator(of.upgrade()?.as_ref()));
    let worker = Worker::new(id, node.engine().sql(), Arc::new(|_| Ok(())));
    // What is called and not there is not found, whoever calls.
    worker.service().into_axum_router().reset_fallback().with_state(())
}

/// Runs a command for another node of the network, with no more than that node's caller may do.
async fn command(Shared(state): Shared<Arc<State>>, Json(call): Json<Call>) -> Response {
    let principal = call.principal(&peer(&state));
    // The other node has decided who is asked: here only this one's rows are.
    let destination = Some("local".to_owned());
    let request = Request { destination, ..Request::new(call.command, principal) };
    match execute(&state, &request).await {
        Ok(rendered) => answer(rendered),
        Err(failure) => refuse(failure, &state),
    }
}

/// The node that asks, with what nodes may do here.
fn peer(state: &State) -> Principal {
    Principal::new("a node of the network", state.peer_access)
}

/// A failure as other nodes are reported.
fn refuse(failure: Failure, state: &State) -> Response {
    let node = state.node.settings().network.ip().to_string();
    failure.into_reply("post", &node, None)
}

#[cfg(test)]
mod tests;
