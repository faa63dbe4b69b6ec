//! Databases, views and retention: what is said of them holds, also after the next open.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

mod scratch;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, RecordBatch, TimestampMicrosecondArray};
use edgemere_storage::schema::{Kind, Schema};
use edgemere_storage::storage::{
    Database, DropSelector, Error, Options, Retention, Storage, Table,
};
use scratch::{batch, column, manual, numbers, open, restless, schema, table};

fn names(storage: &Storage) -> Vec<String> {
    storage.all_databases().into_iter().map(|database| database.name).collect()
}

fn described(storage: &Storage, name: &str) -> Database {
    storage.all_databases().into_iter().find(|database| database.name == name).unwrap()
}

/// A table with one file for each of these ages in hours, and no rows of the memtable.
async fn aged(storage: &Storage, name: &str, hours: &[i64]) -> Arc<Table> {
    let columns = vec![column("at", Kind::Timestamp)];
    let table = storage.create_table("d", name, Schema { columns }).await.unwrap();
    for hours in hours {
        append_aged(&table, *hours).await;
        storage.flush(&table).await.unwrap();
    }
    table
}

async fn append_aged(table: &Arc<Table>, hours: i64) {
    let at = jiff::Timestamp::now().as_microsecond() - hours * 3_600_000_000;
    let at: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![at]));
    table.append(RecordBatch::try_from_iter([("at", at)]).unwrap()).await.unwrap();
}

fn hours(hours: u64) -> Retention {
    Retention { max_age: Some(Duration::from_secs(hours * 3600)), max_bytes: None }
}

#[tokio::test]
async fn a_connected_database_is_there_without_a_table() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = open(scratch.path(), manual());
    storage.connect("empty").await.unwrap();
    storage.connect("empty").await.unwrap();
    assert_eq!(storage.databases(), ["empty"]);
    let name = storage.connect("../x").await.unwrap_err();
    assert!(matches!(name, Error::Name { .. }));
    drop(storage);
    let storage = open(scratch.path(), manual());
    assert_eq!(storage.databases(), ["empty"]);
    storage.create_table("empty", "t", schema()).await.unwrap();
    storage.drop_table("empty", "t").await.unwrap();
    assert_eq!(storage.databases(), ["empty"]);
    storage.drop_database("empty").await.unwrap();
    assert!(storage.databases().is_empty());
    drop(storage);
    assert!(names(&open(scratch.path(), manual())).is_empty());
}

#[tokio::test]
async fn a_disconnected_database_does_not_answer_and_keeps_its_rows() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = open(scratch.path(), manual());
    let rows = table(&storage).await;
    rows.append(batch([1, 2, 3])).await.unwrap();
    storage.flush(&rows).await.unwrap();
    rows.append(batch([4])).await.unwrap();
    storage.create_view("d", "v", "select 1").await.unwrap();
    assert!(matches!(storage.disconnect("x").await, Err(Error::NoDatabase { .. })));
    storage.disconnect("d").await.unwrap();
    storage.disconnect("d").await.unwrap();
    drop((storage, rows));
    let storage = open(scratch.path(), manual());
    assert!(storage.is_disconnected("d") && storage.databases().is_empty());
    assert!(storage.table("d", "t").is_none() && storage.view("d", "v").is_none());
    assert!(storage.tables("d").is_empty() && storage.views("d").is_empty());
    let found = described(&storage, "d");
    assert_eq!((found.connected, found.tables, found.views), (false, 1, 1));
    for refused in [
        storage.create_table("d", "t", schema()).await.map(drop),
        storage.create_table("d", "new", schema()).await.map(drop),
        storage.create_view("d", "w", "select 1").await,
        storage.drop_view("d", "v").await,
        storage.set_retention("d", None, hours(1)).await.map(drop),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::Disconnected { .. }), "{error}");
        assert!(error.hint().unwrap().contains("connect dbms d"));
    }
    storage.connect("d").await.unwrap();
    assert_eq!(numbers(&storage.table("d", "t").unwrap().snapshot()), [1, 2, 3, 4]);
    assert_eq!(storage.view("d", "v").unwrap().sql, "select 1");
}

#[tokio::test]
async fn a_database_is_dropped_whole_and_not_while_it_is_in_use() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = open(scratch.path(), manual());
    let dropped = table(&storage).await;
    dropped.append(batch([1])).await.unwrap();
    storage.flush(&dropped).await.unwrap();
    dropped.append(batch([2])).await.unwrap();
    storage.create_table("d", "u", schema()).await.unwrap();
    storage.create_view("d", "v", "select 1").await.unwrap();
    storage.create_table("other", "t", schema()).await.unwrap();
    let path = dropped.snapshot().files[0].path.clone();
    let connected = storage.drop_database("d").await.unwrap_err();
    assert!(matches!(connected, Error::Connected { .. }) && connected.hint().is_some());
    assert!(matches!(storage.drop_database("x").await, Err(Error::NoDatabase { .. })));
    storage.disconnect("d").await.unwrap();
    storage.drop_database("d").await.unwrap();
    assert!(matches!(dropped.append(batch([3])).await, Err(Error::NotFound { .. })));
    assert_eq!(names(&storage), ["other"]);
    assert_eq!(storage.stats().total.memtable_bytes, 0);
    assert!(!path.exists());
    drop((storage, dropped));
    let storage = open(scratch.path(), manual());
    assert_eq!(names(&storage), ["other"]);
    // A new database of the name has nothing of the old one.
    assert_eq!(table(&storage).await.stats().rows, 0);
    assert!(storage.views("d").is_empty());
}

#[tokio::test]
async fn views_are_kept_and_share_names_with_tables() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = open(scratch.path(), manual());
    table(&storage).await;
    storage.create_view("d", "v", "select n from t").await.unwrap();
    let taken = |result: Result<(), Error>, found: &str| match result.unwrap_err() {
        Error::Taken { what, .. } => assert_eq!(what, found),
        other => assert_eq!(other.to_string(), ""),
    };
    taken(storage.create_view("d", "v", "select 2").await, "view");
    taken(storage.create_view("d", "t", "select 2").await, "table");
    taken(storage.create_table("d", "v", schema()).await.map(drop), "view");
    let long = storage.create_view("d", "w", &"x".repeat(65 * 1024)).await;
    assert!(matches!(long, Err(Error::TooLarge { .. })));
    storage.create_view("only_views", "v", "select 3").await.unwrap();
    drop(storage);
    let storage = open(scratch.path(), manual());
    assert_eq!(storage.databases(), ["d", "only_views"]);
    assert_eq!(storage.view("d", "v").unwrap().sql, "select n from t");
    storage.drop_view("d", "v").await.unwrap();
    storage.drop_view("only_views", "v").await.unwrap();
    assert!(matches!(storage.drop_view("d", "v").await, Err(Error::NoView { .. })));
    drop(storage);
    let storage = open(scratch.path(), manual());
    assert_eq!(storage.databases(), ["d"]);
    assert!(storage.views("d").is_empty());
}

#[tokio::test]
async fn a_table_keeps_what_it_says_or_else_what_its_database_says() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = open(scratch.path(), manual());
    let (a, b) = (aged(&storage, "a", &[9, 5, 1]).await, aged(&storage, "b", &[9, 5, 1]).await);
    let dropped = storage.set_retention("d", Some("a"), hours(2)).await.unwrap();
    assert_eq!((dropped.files, dropped.rows), (2, 2));
    let dropped = storage.set_retention("d", None, hours(6)).await.unwrap();
    assert_eq!((dropped.files, a.stats().rows, b.stats().rows), (1, 1, 2));
    assert!(matches!(
        storage.set_retention("d", Some("x"), hours(1)).await,
        Err(Error::NotFound { .. })
    ));
    drop((storage, a, b));
    let storage = open(scratch.path(), manual());
    assert_eq!(described(&storage, "d").retention, hours(6));
    let a = storage.table("d", "a").unwrap();
    assert_eq!(a.retention(), hours(2));
    // Without a rule of its own the database's holds, and a new table of the name has none.
    storage.set_retention("d", Some("a"), Retention::default()).await.unwrap();
    assert!(!a.retention().is_set() && a.stats().rows == 1);
    storage.set_retention("d", Some("b"), hours(7)).await.unwrap();
    storage.drop_table("d", "b").await.unwrap();
    drop((storage, a));
    let storage = open(scratch.path(), manual());
    assert!(!aged(&storage, "b", &[]).await.retention().is_set());
}

#[tokio::test]
async fn files_are_dropped_by_name_and_by_number() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = open(scratch.path(), manual());
    let table = aged(&storage, "t", &[1, 9, 5, 3]).await;
    append_aged(&table, 99).await;
    let partitions = table.partitions();
    let ages: Vec<_> = partitions.iter().map(|part| part.times.unwrap().0).collect();
    assert!(ages[..4].is_sorted() && partitions[4].file.is_none());
    assert_eq!(partitions.iter().map(|part| part.rows).sum::<u64>(), 5);
    let oldest = partitions[0].file.clone().unwrap();
    let none = storage.drop_files(&table, DropSelector::Named("x".into())).await.unwrap();
    assert_eq!(none.files, 0);
    let one = storage.drop_files(&table, DropSelector::Named(oldest)).await.unwrap();
    assert_eq!((one.files, one.rows), (1, 1));
    let two = storage.drop_files(&table, DropSelector::AllBut(1)).await.unwrap();
    assert_eq!((two.files, table.partitions().len()), (2, 2));
    assert_eq!(table.partitions()[0].file, partitions[3].file);
    assert_eq!(storage.drop_files(&table, DropSelector::AllBut(7)).await.unwrap().files, 0);
}

#[tokio::test]
async fn the_keeper_drops_what_is_not_kept_and_nothing_of_a_disconnected_database() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = open(scratch.path(), Options { retain_every: Duration::ZERO, ..restless() });
    let kept = aged(&storage, "kept", &[]).await;
    let table = aged(&storage, "t", &[]).await;
    storage.set_retention("d", Some("t"), hours(2)).await.unwrap();
    append_aged(&kept, 9).await;
    append_aged(&table, 9).await;
    storage.flush(&table).await.unwrap();
    // Age is counted from the newest row, which stays.
    append_aged(&table, 0).await;
    let start = Instant::now();
    while table.stats().rows > 1 || kept.stats().files == 0 {
        assert!(start.elapsed() < Duration::from_secs(30), "nothing was dropped");
        tokio::task::yield_now().await;
    }
    assert_eq!(kept.stats().rows, 1);
    storage.disconnect("d").await.unwrap();
    append_aged(&table, 9).await;
    storage.flush_all().await.unwrap();
    drop((storage, kept, table));
    // The keeper had its time, and has it again at the next open.
    let storage = open(scratch.path(), Options { retain_every: Duration::ZERO, ..restless() });
    let compared = storage.create_table("other", "t", schema()).await.unwrap();
    compared.append(batch([1])).await.unwrap();
    let start = Instant::now();
    while compared.stats().files == 0 {
        assert!(start.elapsed() < Duration::from_secs(30), "the keeper does not run");
        tokio::task::yield_now().await;
    }
    assert_eq!(storage.stats().total.rows, 4);
}
