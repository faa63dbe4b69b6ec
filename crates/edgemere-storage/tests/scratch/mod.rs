//! What the tests share: a table with a few columns, rows for it, and how to read them all.

#![allow(dead_code, reason = "not every test uses everything")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{
    Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringViewArray, TimestampMicrosecondArray,
};
use arrow::datatypes::Int64Type;
use edgemere_storage::schema::{Column, Kind, Schema};
use edgemere_storage::storage::{Options, Snapshot, Storage, Table};

/// Where a table's own first column is.
pub(crate) const OWN: usize = 4;

pub(crate) fn column(name: &str, kind: Kind) -> Column {
    Column::new(name, kind)
}

/// A table of a number, a time and a text.
pub(crate) fn schema() -> Schema {
    let columns =
        vec![column("n", Kind::Int), column("at", Kind::Timestamp), column("text", Kind::Varchar)];
    Schema { columns }
}

/// Rows with these numbers; the times and texts follow from them.
pub(crate) fn batch(numbers: impl IntoIterator<Item = i64>) -> RecordBatch {
    let numbers: Vec<i64> = numbers.into_iter().collect();
    // The times are not in the order of the rows, so that sorting has something to do.
    let times = numbers.iter().map(|n| (n % 17 != 0).then_some((n * 7919) % 1000));
    let times = TimestampMicrosecondArray::from_iter(times);
    let texts = numbers.iter().map(|n| (n % 5 != 0).then(|| text(*n)));
    let texts = StringViewArray::from_iter(texts);
    RecordBatch::try_from_iter([
        ("n", Arc::new(Int64Array::from(numbers)) as ArrayRef),
        ("at", Arc::new(times)),
        ("text", Arc::new(texts)),
    ])
    .unwrap()
}

fn text(n: i64) -> String {
    format!("it's ünicode {n}, and long enough not to be in the view")
}

/// Nothing happens by itself.
pub(crate) fn manual() -> Options {
    Options { background: false, ..Options::default() }
}

/// Everything happens all the time.
pub(crate) fn restless() -> Options {
    Options { flush_rows: 10, flush_age: Duration::ZERO, compact_files: 3, ..Options::default() }
}

pub(crate) fn open(folder: &Path, options: Options) -> Storage {
    let (storage, recovery) = Storage::open(folder, options).unwrap();
    assert!(recovery.damaged.is_empty(), "{recovery:?}");
    storage
}

pub(crate) async fn table(storage: &Storage) -> Arc<Table> {
    storage.create_table("d", "t", schema()).await.unwrap()
}

/// All rows of a snapshot, with all columns.
pub(crate) fn batches(snapshot: &Snapshot) -> Vec<RecordBatch> {
    let mut batches = snapshot.memtable.clone();
    for file in &snapshot.files {
        batches.extend(file.read(&snapshot.arrow).unwrap());
    }
    assert!(batches.iter().all(|batch| batch.schema() == snapshot.arrow));
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(rows as u64, snapshot.rows);
    batches
}

/// The row ids and numbers of a snapshot, by row id; the other columns are checked.
pub(crate) fn rows(snapshot: &Snapshot) -> Vec<(i64, i64)> {
    let mut rows = Vec::new();
    for all in batches(snapshot) {
        let ids = all.column(0).as_primitive::<Int64Type>();
        let numbers = all.column(OWN).as_primitive::<Int64Type>();
        let texts = all.column(OWN + 2).as_string_view();
        for row in 0..all.num_rows() {
            let n = numbers.value(row);
            assert_eq!(texts.is_null(row), n % 5 == 0);
            assert!(texts.is_null(row) || texts.value(row) == text(n));
            rows.push((ids.value(row), n));
        }
    }
    rows.sort_unstable();
    rows
}

/// The numbers of a snapshot by row id, which must be 1, 2, 3 and so on.
pub(crate) fn numbers(snapshot: &Snapshot) -> Vec<i64> {
    let rows = rows(snapshot);
    assert!(rows.iter().map(|(id, _)| *id).eq(1..=rows.len() as i64), "the row ids have gaps");
    rows.into_iter().map(|(_, number)| number).collect()
}
