//! How far a query is, told to the client that waits for it.

use std::convert::Infallible;
use std::time::Duration;

use edgemere_command::network::State;
use edgemere_command::results::{Budget, Page, ResultRows};
use edgemere_command::sql::Watched;
use mcp_serve::Call;

use crate::commands::Failure;

/// How often it is reported.
const EVERY: Duration = Duration::from_millis(250);

/// Takes a page of rows, and tells how far it is while that takes.
pub(super) async fn told(
    call: &Call,
    rows: &mut ResultRows,
    budget: Budget,
) -> Result<Page, Failure> {
    let watched = rows.watched().filter(|_| call.wants_progress());
    let Some(watched) = watched else { return Ok(rows.page(budget).await?) };
    tokio::select! {
        biased;
        page = rows.page(budget) => Ok(page?),
        never = tell(call, &watched) => match never {},
    }
}

/// Tells for as long as somebody listens.
async fn tell(call: &Call, watched: &Watched) -> Infallible {
    let mut tick = 0_u32;
    loop {
        tick = tick.saturating_add(1);
        tokio::time::sleep(EVERY).await;
        let status = watched.status();
        let total = status.operators.len().max(1);
        let done = status.operators.iter().filter(|share| share.state == State::Done).count();
        let rows: u64 =
            status.operators.iter().map(|share| share.rows).sum::<u64>().max(status.rows);
        // What is reported must grow from one time to the next, also while no operator ends.
        let grown = done as f64 + (1.0 - 1.0 / f64::from(tick + 1)) * 0.9;
        let message = match status.operators.len() {
            0 => format!("{rows} rows"),
            operators => format!("{done} of {operators} operators, {rows} rows"),
        };
        call.progress(grown, Some(total as f64), Some(message)).await;
    }
}
