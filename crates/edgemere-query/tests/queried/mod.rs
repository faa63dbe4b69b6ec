//! What the tests of queries share: an engine with a table of numbers and texts, and how to wait.

#![allow(dead_code, reason = "not every test uses everything")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::Path;
use std::time::{Duration, Instant};

use edgemere_query::Engine;
use edgemere_query::sql::Limits;
use edgemere_storage::storage::Options;

use crate::scratch;

/// How long something has that takes a moment.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many rows are appended at once.
const ROWS_AT_ONCE: i64 = 8192;

/// An engine whose table `d.t` has so many rows, with the numbers from 0 in `n`.
pub(crate) async fn engine(folder: &Path, rows: i64, limits: Limits) -> Engine {
    let options = Options { background: false, ..Options::default() };
    let (engine, _) = Engine::open_with(folder, options, limits).unwrap();
    let table = scratch::table(engine.storage()).await;
    for first in (0..rows).step_by(ROWS_AT_ONCE as usize) {
        table.append(scratch::batch(first..rows.min(first + ROWS_AT_ONCE))).await.unwrap();
    }
    engine
}

/// Waits until no query runs any more.
pub(crate) async fn wait_until_idle(engine: &Engine, sql: &str) {
    let start = Instant::now();
    while engine.sql().running() > 0 {
        assert!(start.elapsed() < PATIENCE, "it goes on: {sql}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(engine.sql().memory_used_bytes(), 0);
}
