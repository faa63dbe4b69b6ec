//! Many writers and readers while rows flush and files are merged: every snapshot has every
//! acknowledged row, once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod scratch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use edgemere_storage::schema::Kind;
use edgemere_storage::storage::{Storage, Table};
use scratch::{batch, column, numbers, open, restless, table};

const WRITERS: i64 = 8;
const APPENDS: i64 = 60;

/// Appends rows, of which each number is the writer's own, and counts what was acknowledged.
async fn write(table: Arc<Table>, writer: i64, acknowledged: Arc<AtomicU64>) {
    for append in 0..APPENDS {
        let first = (writer * APPENDS + append) * 100;
        let rows = 1 + (append * 31 + writer) % 99;
        table.append(batch(first..first + rows)).await.unwrap();
        acknowledged.fetch_add(rows as u64, Ordering::SeqCst);
    }
}

/// Takes snapshots: the row ids have no gap and no number is twice there, and all rows are there
/// that were acknowledged before.
fn read(table: &Table, acknowledged: &AtomicU64, done: &AtomicBool) -> usize {
    let mut snapshots = 0;
    while !done.load(Ordering::SeqCst) || snapshots == 0 {
        let before = acknowledged.load(Ordering::SeqCst);
        let snapshot = table.snapshot();
        let mut numbers = numbers(&snapshot);
        assert!(numbers.len() as u64 >= before, "{} rows of {before}", numbers.len());
        let rows = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), rows);
        snapshots += 1;
    }
    snapshots
}

async fn tend(storage: Storage, table: Arc<Table>, done: Arc<AtomicBool>) {
    let mut columns = 0;
    while !done.load(Ordering::SeqCst) {
        storage.flush(&table).await.unwrap();
        storage.compact(&table).await.unwrap();
        if columns < 20 {
            let added = vec![column(&format!("c{columns}"), Kind::Varchar)];
            storage.add_columns(&table, added).await.unwrap();
            columns += 1;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_snapshot_has_every_acknowledged_row_once() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = open(scratch.path(), restless());
    let table = table(&storage).await;
    let (acknowledged, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (table, acknowledged) = (Arc::clone(&table), Arc::clone(&acknowledged));
            let done = Arc::clone(&done);
            tokio::task::spawn_blocking(move || read(&table, &acknowledged, &done))
        })
        .collect();
    let tender = tokio::spawn(tend(storage.clone(), Arc::clone(&table), Arc::clone(&done)));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| tokio::spawn(write(Arc::clone(&table), writer, Arc::clone(&acknowledged))))
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    done.store(true, Ordering::SeqCst);
    for reader in readers {
        assert!(reader.await.unwrap() > 0);
    }
    tender.await.unwrap();
    let total = acknowledged.load(Ordering::SeqCst);
    assert_eq!(table.snapshot().rows, total);
    drop((storage, table));
    let storage = open(scratch.path(), restless());
    let held = numbers(&storage.table("d", "t").unwrap().snapshot());
    assert_eq!(held.len() as u64, total);
}
