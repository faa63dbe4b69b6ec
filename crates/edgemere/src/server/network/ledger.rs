//! `/v1/ledger`: a master's history for the nodes that follow it, and their policies for the master.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Query, State as Shared};
use axum::response::{IntoResponse, Response};
use edgemere_command::{Effect, Error, sync};
use edgemere_ledger::{Policy, Position};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::reply::{Failure, json_body};
use super::super::state::State;
use super::{peer, refuse};

/// From where on, and how long to wait for something.
#[derive(Debug, Deserialize)]
pub(super) struct After {
    entries: u64,
    head: String,
    wait_ms: u64,
}

/// Policies that another node has for the network.
#[derive(Debug, Deserialize)]
pub(super) struct Policies {
    policies: Vec<Value>,
    /// The identity of that node; of one of an older version none.
    #[serde(default)]
    by: Option<String>,
}

/// What the ledger has after a position. The question stays open while there is nothing.
pub(super) async fn changes(
    Shared(state): Shared<Arc<State>>,
    Query(after): Query<After>,
) -> Response {
    let Ok(_permit) = state.followers.try_acquire() else {
        return refuse(Failure::busy(), &state);
    };
    let position = Position { entries: after.entries, head: after.head };
    let wait = Duration::from_millis(after.wait_ms);
    match sync::serve::changes(&state.node, position, wait).await {
        Ok(changes) => Json(changes).into_response(),
        Err(error) => refuse(error.into(), &state),
    }
}

/// What lets other nodes publish at a master whose own users may only read.
const PUBLISH_HINT: &str = "start the master with a network key, or with --access write";

/// Takes policies: each comes back as the ledger has it, or with why it is refused.
pub(super) async fn publish(
    Shared(state): Shared<Arc<State>>,
    Json(given): Json<Policies>,
) -> Response {
    let caller = peer(&state);
    if !caller.may(Effect::Write) {
        let message = format!("{} may not add policies here", caller.name());
        return refuse(Failure::foreign(message, PUBLISH_HINT), &state);
    }
    let read: Vec<_> = given.policies.into_iter().map(Policy::from_value).collect();
    let good = read.iter().filter_map(|policy| policy.as_ref().ok().cloned()).collect();
    let mut taken = match sync::serve::take(&state.node, good, given.by).await {
        Ok(taken) => taken.into_iter(),
        Err(error) => return refuse(error.into(), &state),
    };
    let mut answers = Vec::new();
    for policy in read {
        match policy {
            Ok(_) => answers.extend(taken.next().map(|taken| answer(&taken))),
            Err(error) => answers.push(answer(&Err(error.into()))),
        }
    }
    let end = state.node.ledger().end();
    json_body(&json!({ "answers": answers, "end": end })).into_response()
}

fn answer(taken: &Result<Arc<Policy>, Error>) -> Value {
    match taken {
        Ok(policy) => json!({ "policy": **policy }),
        Err(error) => {
            let code = error.code();
            json!({ "error": {
                "status": error.kind().http_status(),
                "err_code": code.number,
                "err_text": code.text,
                "local_msg": error.message(),
            }})
        }
    }
}
