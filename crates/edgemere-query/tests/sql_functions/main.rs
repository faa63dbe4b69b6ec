//! Functions for JSON and for series of measurements, on rows of one node, against what they are
//! documented to give. `tests/network` compares the same with many nodes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]
#![allow(clippy::panic, reason = "a test that cannot go on should stop")]

#[path = "../sql_model/chance.rs"]
#[allow(dead_code, reason = "the model has more than is used here")]
mod chance;
mod gaps;
mod json;
mod model;
mod series;

use edgemere_query::Engine;
use edgemere_query::sql::{Limits, Times};
use edgemere_storage::decode::Input;
use edgemere_storage::storage;
use serde_json::Value;
use tokio::runtime::Runtime;

/// A database `d` with the tables of a test.
struct Scene {
    runtime: Runtime,
    engine: Engine,
    _folder: tempfile::TempDir,
}

impl Scene {
    fn new(tables: &[(&str, Value)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let runtime = Runtime::new().unwrap();
        let options = storage::Options { background: false, ..storage::Options::default() };
        let (engine, _) = Engine::open_with(folder.path(), options, Limits::default()).unwrap();
        for (table, rows) in tables {
            let rows = serde_json::to_vec(rows).unwrap();
            runtime.block_on(engine.put("d", table, Input::Json, &rows)).unwrap();
        }
        Self { runtime, engine, _folder: folder }
    }

    /// The rows of an answer as one line of JSON, or the error with all of its causes.
    fn ask(&self, sql: &str) -> String {
        self.runtime.block_on(async {
            match self.answer(sql).await {
                Ok(rows) => rows,
                Err(error) => format!("error: {error}"),
            }
        })
    }

    async fn answer(&self, sql: &str) -> Result<String, String> {
        let query = self.engine.sql().query("d", sql, None).await;
        let mut query = query.map_err(|error| chain(&error))?;
        let mut rows = Vec::new();
        while let Some(batch) = query.next().await {
            let lines = batch.map_err(|error| chain(&error))?.json_lists(Times::Plain).unwrap();
            rows.extend(lines.lines().map(str::to_owned));
        }
        // Whole seconds are shown without their fractions, which says as much.
        Ok(rows.join(" ").replace(":00.000000", ":00"))
    }

    fn check(&self, cases: &[(&str, &str)]) {
        let wrong: Vec<_> = cases
            .iter()
            .map(|(sql, expected)| (sql, expected, self.ask(sql)))
            .filter(|(_, expected, found)| *found != **expected)
            .map(|(sql, expected, found)| format!("{sql}\n  not {expected}\n  but {found}"))
            .collect();
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }

    /// Every query is refused, with an error that has these words.
    fn refuse(&self, cases: &[(&str, &str)]) {
        for (sql, words) in cases {
            let found = self.ask(sql);
            assert!(found.starts_with("error: ") && found.contains(words), "{sql}\n  {found}");
        }
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
