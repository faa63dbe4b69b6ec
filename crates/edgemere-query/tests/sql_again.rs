//! Queries that come again: the answer is always that of the rows, the tables, the views and the moment
//! of now, however often the same was asked before.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::Path;

use edgemere_query::Engine;
use edgemere_query::sql::{Error, QueryOptions, Times, Zone};
use edgemere_storage::decode::Input;

/// How often a query is asked until its plan has been kept and used.
const OFTEN: usize = 4;

async fn open(folder: &Path) -> Engine {
    let (engine, _) = Engine::open(folder).unwrap();
    put(
        &engine,
        r#"[{"time": "2026-01-01 10:00:00", "v": 1}, {"time": "2026-01-03 10:00:00", "v": 2}]"#,
    )
    .await;
    engine
}

async fn put(engine: &Engine, rows: &str) {
    engine.put("d", "t", Input::Json, rows.as_bytes()).await.unwrap();
}

async fn try_ask(engine: &Engine, sql: &str, scope: &QueryOptions) -> Result<String, Error> {
    let mut query = engine.sql().ask("d", sql, scope).await?;
    let mut rows = query.columns().join(",") + "\n";
    while let Some(batch) = query.next().await {
        rows.push_str(&batch?.json_lists(Times::Plain)?);
    }
    Ok(rows.trim().to_owned())
}

async fn ask(engine: &Engine, sql: &str) -> String {
    try_ask(engine, sql, &QueryOptions::default()).await.unwrap()
}

async fn ask_often(engine: &Engine, sql: &str) -> String {
    let first = ask(engine, sql).await;
    for _ in 1..OFTEN {
        assert_eq!(ask(engine, sql).await, first);
    }
    first
}

#[tokio::test]
async fn rows_that_came_are_seen_fresh_settled_and_compacted() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path()).await;
    let sql = "select count(*) as n, sum(v) as s from t where v > 0";
    assert_eq!(ask_often(&engine, sql).await, "n,s\n[2,3]");
    let table = engine.storage().table("d", "t").unwrap();
    for round in 0..3 {
        put(&engine, r#"[{"time": "2026-01-04 10:00:00", "v": 10}]"#).await;
        let expected = format!("n,s\n[{},{}]", 3 + round, 13 + 10 * round);
        assert_eq!(ask(&engine, sql).await, expected);
        engine.storage().flush(&table).await.unwrap();
        assert_eq!(ask(&engine, sql).await, expected);
    }
    engine.storage().compact(&table).await.unwrap();
    assert_eq!(ask(&engine, sql).await, "n,s\n[5,33]");
}

#[tokio::test]
async fn columns_that_came_are_seen() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path()).await;
    let sql = "select * from t order by v limit 1";
    let before = ask_often(&engine, sql).await;
    assert_eq!(before.lines().next(), Some("time,v"), "{before}");
    put(&engine, r#"[{"time": "2026-01-02 10:00:00", "v": 0, "w": "new"}]"#).await;
    let after = ask_often(&engine, sql).await;
    assert_eq!(after.lines().next(), Some("time,v,w"), "{after}");
    assert!(after.ends_with(r#",0,"new"]"#), "{after}");
}

#[tokio::test]
async fn a_table_that_was_dropped_is_gone_and_another_of_its_name_is_another() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path()).await;
    engine.put("d", "other", Input::Json, br#"[{"v": 0}]"#).await.unwrap();
    engine.storage().flush_all().await.unwrap();
    let sql = "select max(v) as m from t";
    assert_eq!(ask_often(&engine, sql).await, "m\n[2]");
    engine.storage().drop_table("d", "t").await.unwrap();
    let gone = try_ask(&engine, sql, &QueryOptions::default()).await;
    assert!(matches!(gone, Err(Error::UnknownTable { .. })), "{gone:?}");
    put(&engine, r#"[{"v": "text"}]"#).await;
    assert_eq!(ask_often(&engine, sql).await, "m\n[\"text\"]");
}

#[tokio::test]
async fn what_is_kept_keeps_no_files() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path()).await;
    engine.storage().flush_all().await.unwrap();
    let file = engine.storage().table("d", "t").unwrap().snapshot().files[0].path.clone();
    assert_eq!(ask_often(&engine, "select count(*) as n from t where v < 9").await, "n\n[2]");
    assert!(file.is_file());
    engine.storage().drop_table("d", "t").await.unwrap();
    assert!(!file.exists());
}

#[tokio::test]
async fn a_database_that_was_disconnected_does_not_answer() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path()).await;
    for sql in ["select sum(v) as s from t", "select 1 as one"] {
        ask_often(&engine, sql).await;
    }
    engine.storage().disconnect("d").await.unwrap();
    for sql in ["select sum(v) as s from t", "select 1 as one"] {
        let refused = try_ask(&engine, sql, &QueryOptions::default()).await;
        assert!(matches!(refused, Err(Error::Disconnected { .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn a_view_is_what_it_is_now() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path()).await;
    let sql = "select n from x";
    for (view, expected) in [("min(v)", "n\n[1]"), ("max(v)", "n\n[2]")] {
        engine.create_view("d", "x", &format!("select {view} as n from t")).await.unwrap();
        assert_eq!(ask_often(&engine, sql).await, expected);
        engine.storage().drop_view("d", "x").await.unwrap();
    }
    engine.put("d", "x", Input::Json, br#"[{"n": 7}]"#).await.unwrap();
    assert_eq!(ask_often(&engine, sql).await, "n\n[7]");
}

#[tokio::test]
async fn the_time_goes_on() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path()).await;
    for sql in [
        "select now() as n",
        "select now() as n from t limit 1",
        "select uuid() as n from t limit 1",
    ] {
        let mut seen = std::collections::HashSet::new();
        for _ in 0..OFTEN {
            assert!(seen.insert(ask(&engine, sql).await), "{sql}: {seen:?}");
        }
    }
}

#[tokio::test]
async fn automatic_increments_look_at_the_rows_of_now() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path()).await;
    let sql = "select increments(time, 2) as t, count(*) as n from t";
    let before = ask_often(&engine, sql).await;
    put(&engine, r#"[{"time": "2026-03-01 10:00:00", "v": 9}]"#).await;
    let after = ask_often(&engine, sql).await;
    assert_ne!(before, after);
    assert!(after.ends_with(",1]"), "{after}");
}

#[tokio::test]
async fn the_same_text_with_other_options_is_another_query() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path()).await;
    let sql = "select time, v from t order by v";
    let whole = ask_often(&engine, sql).await;
    let one = QueryOptions { rows_max: Some(1), ..QueryOptions::default() };
    let zone =
        QueryOptions { zone: Some(Zone::named("Asia/Tokyo").unwrap()), ..QueryOptions::default() };
    let first = format!("time,v\n{}", whole.lines().nth(1).unwrap());
    let there = try_ask(&engine, sql, &zone).await.unwrap();
    assert_ne!(there, whole);
    for _ in 0..OFTEN {
        assert_eq!(try_ask(&engine, sql, &one).await.unwrap(), first);
        assert_eq!(try_ask(&engine, sql, &zone).await.unwrap(), there);
        assert_eq!(ask(&engine, sql).await, whole);
    }
}
