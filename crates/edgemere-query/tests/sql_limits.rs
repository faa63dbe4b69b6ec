//! What a query may use: memory of its own with the rest on disk, and none of it left afterwards.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod queried;
#[path = "../../edgemere-storage/tests/scratch/mod.rs"]
mod scratch;

use std::path::{Path, PathBuf};
use std::time::Duration;

use edgemere_query::Engine;
use edgemere_query::sql::{Error, Limits};
use queried::{engine, wait_until_idle};

const ROWS: i64 = 300_000;

/// A sort of all rows, and groups that are as many as the rows: both more than the memory below.
const SORT: &str = "select text, n from t order by text desc, n";
const GROUP: &str = "select text, count(*), max(n) from t group by text";

fn small() -> Limits {
    Limits { memory_bytes: 32 << 20, ..Limits::default() }
}

/// The files in the folder for what does not fit in memory.
fn spilled(folder: &Path) -> Vec<PathBuf> {
    let list = |folder: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let inside = list(&folder.join("spill"));
    inside
        .iter()
        .flat_map(|path| if path.is_dir() { list(path) } else { vec![path.clone()] })
        .collect()
}

async fn count(engine: &Engine, sql: &str) -> Result<usize, Error> {
    let mut query = engine.sql().query("d", sql, None).await?;
    let mut rows = 0;
    while let Some(batch) = query.next().await.transpose()? {
        rows += batch.rows();
    }
    Ok(rows)
}

#[tokio::test]
async fn what_does_not_fit_in_memory_goes_to_disk_and_is_gone_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), ROWS, small()).await;
    // A fifth of the texts is null.
    let groups = (0..ROWS).filter(|n| n % 5 != 0).count() + 1;
    for (sql, rows) in [(SORT, ROWS as usize), (GROUP, groups)] {
        let mut query = engine.sql().query("d", sql, None).await.unwrap();
        query.begin().await.unwrap();
        assert!(engine.sql().spilled_bytes() > 0, "nothing went to disk: {sql}");
        assert!(!spilled(folder.path()).is_empty());
        assert!(engine.sql().memory_used_bytes() <= small().memory_bytes);
        let mut found = 0;
        while let Some(batch) = query.next().await {
            found += batch.unwrap().rows();
        }
        assert_eq!(found, rows, "{sql}");
        drop(query);
        wait_until_idle(&engine, sql).await;
        assert_eq!(engine.sql().spilled_bytes(), 0);
        assert_eq!(spilled(folder.path()), Vec::<PathBuf>::new());
    }
}

#[tokio::test]
async fn what_was_dropped_in_the_middle_leaves_nothing_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), ROWS, small()).await;
    let mut query = engine.sql().query("d", SORT, None).await.unwrap();
    query.begin().await.unwrap();
    assert!(!spilled(folder.path()).is_empty());
    drop(query);
    wait_until_idle(&engine, SORT).await;
    // Files go with the steps that read them, which may be after their memory.
    let is_clear = async {
        while !spilled(folder.path()).is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), is_clear).await.unwrap();
    assert_eq!(engine.sql().spilled_bytes(), 0);
}

#[tokio::test]
async fn without_disk_a_query_that_is_too_large_ends_and_the_others_go_on() {
    for spill_bytes in [0, 1 << 20] {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path(), ROWS, Limits { spill_bytes, ..small() }).await;
        for sql in [SORT, GROUP] {
            let error = count(&engine, sql).await.unwrap_err();
            assert!(matches!(error, Error::OutOfMemory(_)), "{error:?}");
            assert!(error.hint().unwrap().contains("query-memory"), "{error}");
            wait_until_idle(&engine, sql).await;
            assert_eq!(count(&engine, "select n from t").await.unwrap(), ROWS as usize);
        }
    }
}

#[tokio::test]
async fn all_queries_together_have_a_limit_too() {
    let folder = tempfile::tempdir().unwrap();
    let engine =
        engine(folder.path(), ROWS, Limits { memory_total_bytes: 64 << 20, ..small() }).await;
    let sorted = || async { count(&engine, SORT).await };
    let (one, two, three) = tokio::join!(sorted(), sorted(), sorted());
    for rows in [one, two, three] {
        assert_eq!(rows.unwrap(), ROWS as usize);
    }
    wait_until_idle(&engine, SORT).await;
}

#[tokio::test]
async fn what_a_crash_left_on_disk_is_removed_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let left = folder.path().join("spill/datafusion-x");
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(left.join("rows"), "x").unwrap();
    let engine = engine(folder.path(), 10, Limits::default()).await;
    assert_eq!(spilled(folder.path()), Vec::<PathBuf>::new());
    assert!(!left.exists());
    assert_eq!(count(&engine, "select n from t").await.unwrap(), 10);
}
