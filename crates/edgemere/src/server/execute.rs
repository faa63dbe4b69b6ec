//! Runs a command for a service: within the limit of commands at once, measured and logged.

use std::sync::Arc;
use std::time::{Duration, Instant};

use edgemere_command::results::{self, Answer};
use edgemere_command::{Effect, Error, Kind, Outcome, Rendered, Request};
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
    result.map(|rendered| rendered.holding(permit)).map_err(|error| refused(state, error))
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
    result.map(|answer| (answer, permit)).map_err(|error| refused(state, error))
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
    result.map(|done| (done, permit)).map_err(|error| refused(state, error))
}

/// Stores rows for a caller that may write: their body is read with `read`, and then they take a permit as
/// every command does. A body that comes slowly holds none.
pub(super) async fn store<T, U>(
    state: &Arc<State>,
    name: &'static str,
    read: impl Future<Output = Result<T, Failure>>,
    work: impl AsyncFnOnce(T) -> Result<U, Failure>,
) -> Result<U, Failure> {
    let (principal, start) = (super::http::principal(state), Instant::now());
    let stored = async {
        principal.authorize(name, Effect::Write).map_err(Error::from)?;
        let rows = read.await?;
        let _permit = permit(state)?;
        work(rows).await
    };
    let stored = stored.await;
    let refused =
        stored.as_ref().err().map(|failure| (failure.kind(), failure.message().to_owned()));
    log(state, Some(name), principal.name(), start.elapsed(), refused);
    stored
}

/// Why there is no answer, for a caller who need not know where the node keeps its data.
fn refused(state: &State, error: Error) -> Failure {
    Failure::from(error).without_folder(&state.node.settings().data)
}

fn permit(state: &State) -> Result<OwnedSemaphorePermit, Failure> {
    Arc::clone(&state.commands).try_acquire_owned().map_err(|_| Failure::busy())
}

fn note(
    state: &State,
    command: Option<&'static str>,
    principal: &str,
    time: Duration,
    error: Option<&Error>,
) {
    let refused = error.map(|error| match error.kind() {
        Kind::Internal => (Kind::Internal, error.message()),
        kind => (kind, error.to_string()),
    });
    log(state, command, principal, time, refused);
}

/// Measures and logs. Only the command's name is logged: what follows it may be nobody else's
/// business.
fn log(
    state: &State,
    command: Option<&'static str>,
    principal: &str,
    time: Duration,
    refused: Option<(Kind, String)>,
) {
    state.metrics.command(command, refused.is_none(), time);
    let name = command.unwrap_or("unknown");
    match refused {
        None => tracing::debug!(command = name, principal, ?time, "done"),
        Some((Kind::Internal, error)) => {
            tracing::error!(command = name, principal, ?time, error, "failed");
        }
        Some((_, error)) => tracing::info!(command = name, principal, ?time, error, "refused"),
    }
}
