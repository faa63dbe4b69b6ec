//! Runs a command for a service: within the limit of commands at once, measured and logged.

use std::sync::Arc;
use std::time::Instant;

use edgemere_command::{Kind, Outcome, Rendered, Request};

use super::reply::Failure;
use super::state::State;

/// Runs a command.
pub(super) async fn execute(state: &Arc<State>, request: &Request) -> Result<Rendered, Failure> {
    let Ok(permit) = Arc::clone(&state.commands).try_acquire_owned() else {
        return Err(Failure::busy());
    };
    let start = Instant::now();
    let Outcome { command, result } = edgemere_command::execute(&state.node, request).await;
    let time = start.elapsed();
    state.metrics.command(command, result.is_ok(), time);
    // Only the command's name is logged: what follows it may be nobody else's business.
    let name = command.unwrap_or("unknown");
    let principal = request.principal.name();
    match &result {
        Ok(_) => tracing::debug!(command = name, principal, ?time, "done"),
        Err(error) if error.kind() == Kind::Internal => {
            tracing::error!(command = name, principal, ?time, error = error.message(), "failed");
        }
        Err(error) => {
            tracing::info!(command = name, principal, ?time, error = %error, "refused");
        }
    }
    // A reply that is streamed is under way until its end.
    result.map(|rendered| rendered.holding(permit)).map_err(Failure::from)
}
