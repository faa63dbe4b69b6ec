//! Rows that have settled are asked as fresh ones are: also when the node's folder was given as seen
//! from where the node was started, with tables that are included, and in the automatic form of
//! `increments`, which asks twice.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::{Component, Path, PathBuf};

use edgemere_query::Engine;
use edgemere_query::sql::{QueryOptions, TableName, Times};
use edgemere_storage::decode::Input;

/// The same folder, as seen from here.
fn relative(folder: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap();
    let up = here.components().filter(|part| matches!(part, Component::Normal(_)));
    let up: PathBuf = up.map(|_| "..").collect();
    up.join(folder.strip_prefix("/").unwrap())
}

async fn ask(engine: &Engine, sql: &str, scope: &QueryOptions) -> String {
    let mut query = engine.sql().ask("d", sql, scope).await.unwrap();
    let mut rows = String::new();
    while let Some(batch) = query.next().await {
        rows.push_str(&batch.unwrap().json_lists(Times::Plain).unwrap());
    }
    rows
}

#[tokio::test]
async fn flushed_rows_are_found_from_a_relative_folder() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = relative(scratch.path());
    assert!(folder.is_relative());
    let (engine, _) = Engine::open(&folder).unwrap();
    let put = |table: &'static str, rows: &'static str| {
        engine.put("d", table, Input::Json, rows.as_bytes())
    };
    put("t", r#"[{"time": "2026-01-01", "v": 1}, {"time": "2026-01-03", "v": 2}]"#).await.unwrap();
    put("u", r#"[{"time": "2026-01-05", "w": 1}]"#).await.unwrap();
    assert_eq!(engine.storage().flush_all().await.unwrap(), 3);
    put("t", r#"[{"time": "2026-01-04", "v": 3}]"#).await.unwrap();

    let sql = "select count(*), sum(v), max(time) from t";
    let alone = ask(&engine, sql, &QueryOptions::default()).await;
    assert_eq!(alone.trim(), r#"[3,6,"2026-01-04"]"#);
    let include = vec![TableName { dbms: None, table: "u".into() }];
    let scope = QueryOptions { include, ..QueryOptions::default() };
    assert_eq!(ask(&engine, sql, &scope).await.trim(), r#"[4,6,"2026-01-05"]"#);
    let sql = "select increments(time, 4) as t, count(*) from t";
    let days = "[\"2026-01-01 00:00:00.000000\",1]\n[\"2026-01-03 00:00:00.000000\",1]\n\
                [\"2026-01-04 00:00:00.000000\",1]\n[\"2026-01-05 00:00:00.000000\",1]\n";
    assert_eq!(ask(&engine, sql, &scope).await, days);
}
