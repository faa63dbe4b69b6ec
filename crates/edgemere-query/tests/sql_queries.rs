//! What is known of queries while they run and afterwards, and how one is cancelled.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::panic, reason = "a test that cannot go on should stop")]

use std::path::Path;

use edgemere_query::Engine;
use edgemere_query::sql::{Error, Query, State};
use edgemere_storage::decode::Input;

/// An engine with a table of numbers from 0.
async fn engine(folder: &Path, numbers: usize) -> Engine {
    let (engine, _) = Engine::open(folder).unwrap();
    let rows: Vec<_> = (0..numbers).map(|n| format!("{{\"n\": {n}}}")).collect();
    let put = engine.put("d", "t", Input::Json, rows.join("\n").as_bytes()).await.unwrap();
    assert_eq!(put.stored, numbers);
    engine
}

async fn drain(mut query: Query) -> usize {
    let mut rows = 0;
    while let Some(batch) = query.next().await {
        rows += batch.unwrap().rows();
    }
    rows
}

#[tokio::test]
async fn a_query_is_seen_from_its_beginning_to_its_end() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = engine(scratch.path(), 3).await;
    let sql = engine.sql().asked_by("somebody");
    assert!(sql.queries().last().is_none());
    let query = sql.query("d", "select n from t", None).await.unwrap();
    let running = engine.sql().queries().last().unwrap();
    assert_eq!((running.state.clone(), running.rows), (State::Running, 0));
    assert_eq!((running.caller.as_str(), running.dbms.as_str()), ("somebody", "d"));
    assert_eq!((running.sql.as_str(), running.first_rows), ("select n from t", None));
    assert!(running.plan.unwrap().logical.contains("TableScan: t"));
    assert_eq!(drain(query).await, 3);
    let ended = engine.sql().queries().get(running.id).unwrap();
    assert_eq!((ended.state, ended.rows), (State::Completed, 3));
    assert!(ended.first_rows.unwrap() <= ended.elapsed);
    assert_eq!(engine.sql().queries().cancel(ended.id), Some(false));
    assert_eq!(engine.sql().queries().cancel(99), None);
}

#[tokio::test]
async fn one_that_is_refused_or_let_go_of_is_seen_as_such() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = engine(scratch.path(), 3).await;
    let queries = engine.sql().queries();
    assert!(engine.sql().query("d", "select m from t", None).await.is_err());
    assert_eq!(queries.last().unwrap().state, State::Failed("no column \"m\"".into()));
    drop(engine.sql().query("d", "select n from t", None).await.unwrap());
    assert_eq!(queries.last().unwrap().state, State::Cancelled);
    let failing = "select 1 / (n - 1) as x from t";
    let mut query = engine.sql().query("d", failing, None).await.unwrap();
    assert!(matches!(query.begin().await, Err(Error::Execution(_))));
    drop(query);
    assert!(matches!(queries.last().unwrap().state, State::Failed(_)));
    let states: Vec<_> = queries.all().iter().map(|query| query.id).collect();
    assert_eq!(states, [1, 2, 3]);
}

#[tokio::test]
async fn a_query_that_runs_is_cancelled() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = engine(scratch.path(), 50_000).await;
    let mut query = engine.sql().query("d", "select n from t", None).await.unwrap();
    let rows = query.next().await.unwrap().unwrap().rows();
    assert!(rows < 50_000, "all rows are in one batch");
    let id = engine.sql().queries().last().unwrap().id;
    assert_eq!(engine.sql().queries().cancel(id), Some(true));
    assert!(matches!(query.next().await, Some(Err(Error::Cancelled))));
    drop(query);
    let ended = engine.sql().queries().get(id).unwrap();
    assert_eq!((ended.state, ended.rows), (State::Cancelled, rows as u64));
}

#[tokio::test]
async fn one_that_was_cancelled_before_anyone_took_rows_gives_none() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = engine(scratch.path(), 3).await;
    let mut query = engine.sql().query("d", "select n from t", None).await.unwrap();
    let id = engine.sql().queries().last().unwrap().id;
    assert_eq!(engine.sql().queries().cancel(id), Some(true));
    assert!(matches!(query.begin().await, Err(Error::Cancelled)));
}

#[tokio::test]
async fn the_oldest_that_ended_are_forgotten_and_none_that_runs() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = engine(scratch.path(), 3).await;
    let running = engine.sql().query("d", "select n from t", None).await.unwrap();
    for _ in 0..120 {
        assert!(engine.sql().query("d", "no sql at all", None).await.is_err());
    }
    let all = engine.sql().queries().all();
    assert!(all.len() <= 102, "{}", all.len());
    assert_eq!((all.first().unwrap().id, all.last().unwrap().id), (1, 121));
    assert_eq!(engine.sql().queries().get(2).map(|query| query.id), None);
    assert_eq!(drain(running).await, 3);
}
