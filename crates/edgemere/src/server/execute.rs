//! Runs a command for a service: within the limit of commands at once, measured and logged.

use std::sync::Arc;
use std::time::{Duration, Instant};

use edgemere_command::results::{self, Answer};
use edgemere_command::{Error, Kind, Outcome, Rendered, Request};
use tokio::sync::OwnedSemaphorePermit;

use super::reply::Failure;
use super::state::State;

/// Runs a command.
pub(super) async fn execute(state: &Arc<State>, request: &Request) -> Result<Rendered, Failure> {
    let permit = permit(state)?;
    let start = Instant::now();
    let Outcome { command, result } = edgemere_command::execute(&state.node, request).await;
    note(state, command, request.principal.name(), start.elapsed(), result.as_ref().err());
    // A reply that is streamed is under way until its end.
    result.map(|rendered| rendered.holding(permit)).map_err(Failure::from)
}

/// Runs a command, and leaves the rows of a query to whoever takes them, with its permit.
pub(super) async fn answer(
    state: &Arc<State>,
    request: &Request,
) -> Result<(Answer, OwnedSemaphorePermit), Failure> {
    let permit = permit(state)?;
    let start = Instant::now();
    let Outcome { command, result } = results::answer(&state.node, request).await;
    note(state, command, request.principal.name(), start.elapsed(), result.as_ref().err());
    result.map(|answer| (answer, permit)).map_err(Failure::from)
}

/// Runs something else that counts as a command, and gives its permit with what it gave.
pub(super) async fn measured<T>(
    state: &Arc<State>,
    name: &'static str,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<(T, OwnedSemaphorePermit), Failure> {
    let permit = permit(state)?;
    let start = Instant::now();
    let result = work.await;
    let principal = super::http::principal(state);
    note(state, Some(name), principal.name(), start.elapsed(), result.as_ref().err());
    result.map(|done| (done, permit)).map_err(Failure::from)
}

fn permit(state: &State) -> Result<OwnedSemaphorePermit, Failure> {
    Arc::clone(&state.commands).try_acquire_owned().map_err(|_| Failure::busy())
}

/// Measures and logs. Only the command's name is logged: what follows it may be nobody else's
/// business.
fn note(
    state: &State,
    command: Option<&'static str>,
    principal: &str,
    time: Duration,
    error: Option<&Error>,
) {
    state.metrics.command(command, error.is_none(), time);
    let name = command.unwrap_or("unknown");
    match error {
        None => tracing::debug!(command = name, principal, ?time, "done"),
        Some(error) if error.kind() == Kind::Internal => {
            tracing::error!(command = name, principal, ?time, error = error.message(), "failed");
        }
        Some(error) => {
            tracing::info!(command = name, principal, ?time, error = %error, "refused");
        }
    }
}
