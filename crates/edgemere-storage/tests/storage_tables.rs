//! Tables: made, widened, dropped, retained, and what their files hold.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

mod scratch;

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
    RecordBatch, StringArray, StringViewArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow::compute::concat_batches;
use edgemere_storage::schema::{Kind, Schema};
use edgemere_storage::storage::{APPEND_ROWS_MAX, COLUMNS_MAX, Error, Options, Retention, Storage};
use scratch::{OWN, batch, batches, column, manual, numbers, open, rows, schema, table};

#[tokio::test]
async fn a_table_is_there_after_the_next_open() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = open(scratch.path(), manual());
    assert!(storage.databases().is_empty());
    for (dbms, name) in [("b", "t"), ("a", "x y"), ("a", "t.1")] {
        storage.create_table(dbms, name, schema()).await.unwrap();
    }
    let same = storage.create_table("b", "t", schema()).await.unwrap();
    assert!(Arc::ptr_eq(&same, &storage.table("b", "t").unwrap()));
    let receipt = same.append(batch([7, 8])).await.unwrap();
    assert_eq!((receipt.first_row_id, receipt.rows), (1, 2));
    assert_eq!(same.append(batch([9])).await.unwrap().first_row_id, 3);
    assert_eq!(same.append(batch([])).await.unwrap().rows, 0);
    storage.close().await.unwrap();
    assert!(matches!(same.append(batch([1])).await, Err(Error::Closed)));
    assert_eq!(numbers(&same.snapshot()), [7, 8, 9]);
    drop((storage, same));
    let (storage, recovery) = Storage::open(scratch.path(), manual()).unwrap();
    assert_eq!((recovery.tables, recovery.memtable_rows, recovery.was_open), (3, 3, false));
    assert_eq!(storage.databases(), ["a", "b"]);
    let names: Vec<_> = storage.tables("a").iter().map(|table| table.name().to_owned()).collect();
    assert_eq!(names, ["t.1", "x y"]);
    assert_eq!(*storage.table("a", "x y").unwrap().schema(), schema());
    assert_eq!(numbers(&storage.table("b", "t").unwrap().snapshot()), [7, 8, 9]);
}

#[tokio::test]
async fn what_does_not_fit_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = open(scratch.path(), manual());
    let table = table(&storage).await;
    let other = Schema { columns: vec![column("n", Kind::Int)] };
    let conflict = storage.create_table("d", "t", other).await.unwrap_err();
    assert_eq!(conflict.to_string(), "the table \"d.t\" exists with other columns");
    let name = storage.create_table("d", "../t", schema()).await.unwrap_err();
    assert!(matches!(name, Error::Name { .. }) && name.hint().is_some());
    let system = Schema { columns: vec![column("row_id", Kind::Int)] };
    assert!(matches!(storage.create_table("d", "s", system).await, Err(Error::Columns { .. })));
    let wide = (0..=COLUMNS_MAX).map(|n| column(&format!("c{n}"), Kind::Int)).collect();
    let wide = storage.create_table("d", "w", Schema { columns: wide }).await.unwrap_err();
    assert_eq!(wide.to_string(), "the table is over the limit of 1000 columns");
    let again = storage.add_columns(&table, vec![column("n", Kind::Int)]).await;
    assert!(matches!(again, Err(Error::Columns { .. })));
    let long = table.append(batch(0..=APPEND_ROWS_MAX as i64)).await;
    assert!(matches!(long, Err(Error::TooLarge { .. })));
    assert!(matches!(storage.drop_table("d", "x").await, Err(Error::NotFound { .. })));
    assert_eq!(table.stats().rows, 0);
    let locked = Storage::open(scratch.path(), manual()).unwrap_err();
    assert!(matches!(locked, Error::Locked { .. }) && locked.hint().is_some());
}

#[tokio::test]
async fn older_rows_have_nulls_in_new_columns() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = open(scratch.path(), manual());
    let table = table(&storage).await;
    table.append(batch(1..4)).await.unwrap();
    storage.flush(&table).await.unwrap();
    table.append(batch(4..6)).await.unwrap();
    let before = table.snapshot();
    storage.add_columns(&table, vec![column("new", Kind::Boolean)]).await.unwrap();
    let new: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
    let six: ArrayRef = Arc::new(Int64Array::from(vec![5]));
    let row = RecordBatch::try_from_iter([("new", new), ("n", six)]).unwrap();
    table.append(row).await.unwrap();
    assert_eq!((before.schema.columns.len(), before.rows), (3, 5));
    assert_eq!(numbers(&before), [1, 2, 3, 4, 5]);
    let nulls = |table: &Arc<_>| {
        let table: &edgemere_storage::storage::Table = table;
        let all = batches(&table.snapshot());
        all.iter().map(|batch| batch.column(OWN + 3).null_count()).sum::<usize>()
    };
    assert_eq!((table.snapshot().rows, nulls(&table)), (6, 5));
    storage.flush(&table).await.unwrap();
    assert_eq!(nulls(&table), 5);
    assert_eq!(storage.compact(&table).await.unwrap(), 2);
    assert_eq!((table.stats().files, nulls(&table)), (1, 5));
    drop((storage, table, before));
    let storage = open(scratch.path(), manual());
    let table = storage.table("d", "t").unwrap();
    assert_eq!((table.schema().columns.len(), nulls(&table)), (4, 5));
    assert_eq!(numbers(&table.snapshot()), [1, 2, 3, 4, 5, 5]);
}

#[tokio::test]
async fn a_snapshot_keeps_its_files_and_a_new_table_has_its_own() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = open(scratch.path(), manual());
    let old = table(&storage).await;
    for n in 0..3 {
        old.append(batch([n])).await.unwrap();
        storage.flush(&old).await.unwrap();
    }
    let held = old.snapshot();
    assert_eq!(storage.compact(&old).await.unwrap(), 3);
    let compacted = old.snapshot();
    assert_eq!((held.files.len(), compacted.files.len()), (3, 1));
    storage.drop_table("d", "t").await.unwrap();
    assert!(matches!(old.append(batch([1])).await, Err(Error::NotFound { .. })));
    assert!(storage.table("d", "t").is_none() && storage.databases().is_empty());
    let new = table(&storage).await;
    new.append(batch([9])).await.unwrap();
    storage.flush(&new).await.unwrap();
    assert_eq!(numbers(&held), [0, 1, 2]);
    assert_eq!(numbers(&compacted), [0, 1, 2]);
    let paths: Vec<_> =
        held.files.iter().chain(&compacted.files).map(|file| file.path.clone()).collect();
    drop((held, compacted));
    assert!(paths.iter().all(|path| !path.exists()));
    assert_eq!(numbers(&new.snapshot()), [9]);
    drop((storage, old, new));
    let (storage, recovery) = Storage::open(scratch.path(), manual()).unwrap();
    assert_eq!((recovery.files, recovery.removed.len()), (1, 0));
    assert_eq!(numbers(&storage.table("d", "t").unwrap().snapshot()), [9]);
}

#[tokio::test]
async fn the_oldest_files_are_dropped() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = open(scratch.path(), manual());
    let columns = vec![column("at", Kind::Timestamp)];
    let table = storage.create_table("d", "t", Schema { columns }).await.unwrap();
    let now = jiff::Timestamp::now().as_microsecond();
    let hour = 3_600_000_000;
    // The ages do not follow the row ids.
    for hours in [2, 5, 1, 9] {
        let at: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![now - hours * hour]));
        table.append(RecordBatch::try_from_iter([("at", at)]).unwrap()).await.unwrap();
        storage.flush(&table).await.unwrap();
    }
    let ids = || {
        let snapshot = table.snapshot();
        snapshot.files.iter().map(|file| file.row_ids.0).collect::<Vec<_>>()
    };
    let max_age = Some(Duration::from_secs(6 * 3600));
    let dropped = storage.retain(&table, Retention { max_age, max_bytes: None }).await.unwrap();
    assert_eq!((dropped.files, dropped.rows, ids()), (1, 1, vec![1, 2, 3]));
    let max_bytes = Some(table.stats().file_bytes - 1);
    let dropped = storage.retain(&table, Retention { max_age, max_bytes }).await.unwrap();
    assert_eq!((dropped.files, ids()), (1, vec![1, 3]));
    let none = Retention { max_age: None, max_bytes: Some(0) };
    assert_eq!(storage.retain(&table, none).await.unwrap().files, 2);
    assert_eq!((table.stats().rows, storage.stats().total.file_bytes), (0, 0));
    // Row ids go on, also after the next open.
    drop((storage, table));
    let storage = open(scratch.path(), manual());
    let table = storage.table("d", "t").unwrap();
    let at: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![now]));
    let row = RecordBatch::try_from_iter([("at", at)]).unwrap();
    assert_eq!(table.append(row).await.unwrap().first_row_id, 5);
}

#[tokio::test]
async fn every_type_comes_back_from_parquet() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = open(scratch.path(), manual());
    let kinds = [
        ("a", Kind::Int),
        ("b", Kind::HUGE),
        ("c", Kind::Decimal),
        ("d", Kind::Boolean),
        ("e", Kind::Date),
        ("f", Kind::Time),
        ("g", Kind::Timestamp),
        ("h", Kind::Char(3)),
        ("i", Kind::Varchar),
        ("j", Kind::BigInt),
    ];
    let columns = kinds.iter().map(|(name, kind)| column(name, *kind)).collect();
    let table = storage.create_table("d", "t", Schema { columns }).await.unwrap();
    let huge = Decimal128Array::from(vec![Some(10i128.pow(37)), None, Some(-1)]);
    let values: [ArrayRef; 10] = [
        Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MAX)])),
        Arc::new(huge.with_precision_and_scale(38, 0).unwrap()),
        Arc::new(Float64Array::from(vec![Some(0.1), None, Some(f64::NAN)])),
        Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
        Arc::new(Date32Array::from(vec![Some(-1), None, Some(20_000)])),
        Arc::new(Time64MicrosecondArray::from(vec![Some(0), None, Some(86_399_999_999)])),
        Arc::new(TimestampMicrosecondArray::from(vec![Some(3), None, Some(i64::MIN + 1)])),
        Arc::new(StringArray::from(vec![Some(""), None, Some("longer than three")])),
        Arc::new(StringViewArray::from(vec![Some("{\"a\": [1]}"), None, Some("ü\0'\"")])),
        Arc::new(Int64Array::from(vec![1, 2, 3])),
    ];
    let names = kinds.iter().map(|(name, _)| *name);
    let given = RecordBatch::try_from_iter(names.zip(values)).unwrap();
    table.append(given).await.unwrap();
    let fresh = table.snapshot();
    storage.flush(&table).await.unwrap();
    let flushed = table.snapshot();
    assert_eq!((fresh.files.len(), flushed.memtable.len(), flushed.files.len()), (0, 0, 1));
    // By the timestamp: the null first, then the earlier.
    let fresh = concat_batches(&fresh.arrow, &batches(&fresh)).unwrap();
    let flushed = concat_batches(&flushed.arrow, &batches(&flushed)).unwrap();
    for (fresh_row, settled_row) in [(1, 0), (2, 1), (0, 2)] {
        let (fresh, flushed) = (fresh.slice(fresh_row, 1), flushed.slice(settled_row, 1));
        let show = |batch: &RecordBatch| format!("{batch:?}");
        assert_eq!(show(&fresh), show(&flushed));
    }
}

#[tokio::test]
async fn a_large_append_makes_room_for_itself() {
    let scratch = tempfile::tempdir().unwrap();
    let storage =
        open(scratch.path(), Options { memtable_bytes_max: 40_000, ..Options::default() });
    let table = table(&storage).await;
    table.append(batch(0..100)).await.unwrap();
    assert!(table.stats().memtable_bytes < 20_000);
    table.append(batch(100..350)).await.unwrap();
    assert_eq!(numbers(&table.snapshot()), (0..350).collect::<Vec<_>>());
}

#[tokio::test]
async fn writers_wait_for_memory_and_are_then_told_to_come_back() {
    let scratch = tempfile::tempdir().unwrap();
    let options = Options {
        memtable_bytes_max: 20_000,
        wait_max: Duration::from_millis(200),
        ..Options::default()
    };
    let storage = open(scratch.path(), options);
    let table = table(&storage).await;
    // While it can be flushed, everything gets in.
    for n in 0..50 {
        table.append(batch(n * 100..(n + 1) * 100)).await.unwrap();
    }
    assert!(table.stats().files > 0 && table.stats().memtable_bytes <= 20_000);
    // A file where the table's folder should be: it cannot be flushed any more.
    let data = scratch.path().join("data");
    let moved = scratch.path().join("moved");
    std::fs::rename(&data, &moved).unwrap();
    std::fs::write(&data, "").unwrap();
    let mut stored = 5000;
    let busy = loop {
        match table.append(batch(stored..stored + 100)).await {
            Ok(_) => stored += 100,
            Err(error) => break error,
        }
    };
    assert!(matches!(busy, Error::Busy { .. }), "{busy}");
    assert!(table.stats().memtable_bytes <= 20_000);
    std::fs::remove_file(&data).unwrap();
    std::fs::rename(&moved, &data).unwrap();
    storage.flush(&table).await.unwrap();
    table.append(batch(stored..stored + 100)).await.unwrap();
    assert_eq!(numbers(&table.snapshot()), (0..stored + 100).collect::<Vec<_>>());
    assert_eq!(rows(&table.snapshot()).len() as u64, storage.stats().total.rows);
}
