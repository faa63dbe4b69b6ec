//! Appends with keys: stored once, however often they are sent, whatever happens in between.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod scratch;

use std::sync::Arc;

use edgemere_engine::storage::{Error, Options, Receipt, Table};
use scratch::{batch, manual, numbers, open, restless, schema, table};

async fn once(table: &Arc<Table>, key: &str, first: i64) -> Receipt {
    table.append_once(key, batch(first..first + 3)).await.unwrap()
}

#[tokio::test]
async fn a_key_is_stored_once_also_after_it_was_closed_and_opened() {
    let folder = tempfile::tempdir().unwrap();
    let storage = open(folder.path(), manual());
    let stored = table(&storage).await;
    let first = Receipt { first_row_id: 1, rows: 3, repeated: false };
    let again = Receipt { first_row_id: 0, rows: 3, repeated: true };
    assert_eq!(once(&stored, "a", 0).await, first);
    // It is the key that counts, and not what comes with it.
    for numbers in [0, 0, 10] {
        assert_eq!(once(&stored, "a", numbers).await, again);
    }
    assert_eq!(storage.settle(&stored).await.unwrap(), 3);
    assert_eq!(once(&stored, "a", 0).await, again);
    drop((stored, storage));
    let storage = open(folder.path(), manual());
    let stored = table(&storage).await;
    assert_eq!(once(&stored, "a", 0).await, again);
    assert_eq!(once(&stored, "b", 3).await, Receipt { first_row_id: 4, ..first });
    assert_eq!(numbers(&stored.snapshot()), [0, 1, 2, 3, 4, 5]);
    // Without a key everything is stored.
    stored.append(batch(0..3)).await.unwrap();
    assert_eq!(stored.stats().rows, 9);
}

#[tokio::test]
async fn a_key_belongs_to_its_table_and_goes_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let storage = open(folder.path(), manual());
    let one = table(&storage).await;
    let two = storage.create_table("d", "other", schema()).await.unwrap();
    assert!(!once(&one, "a", 0).await.repeated && !once(&two, "a", 0).await.repeated);
    storage.drop_table("d", "t").await.unwrap();
    assert!(matches!(one.append_once("a", batch(0..3)).await, Err(Error::NotFound { .. })));
    let one = table(&storage).await;
    assert!(!once(&one, "a", 0).await.repeated);
    assert!(once(&one, "a", 0).await.repeated && once(&two, "a", 0).await.repeated);
}

#[tokio::test]
async fn the_oldest_keys_are_forgotten_first() {
    let folder = tempfile::tempdir().unwrap();
    let storage = open(folder.path(), Options { keys_max: 3, ..manual() });
    let table = table(&storage).await;
    for key in ["a", "b", "c"] {
        assert!(!once(&table, key, 0).await.repeated);
    }
    assert!(once(&table, "a", 0).await.repeated);
    assert!(!once(&table, "d", 0).await.repeated);
    for (key, repeated) in [("b", true), ("c", true), ("d", true), ("a", false), ("b", false)] {
        assert_eq!(once(&table, key, 0).await.repeated, repeated, "{key}");
    }
    let long = "k".repeat(257);
    assert!(matches!(table.append_once(&long, batch(0..1)).await, Err(Error::TooLarge { .. })));
    // Nothing was stored under this key, so nothing is remembered.
    assert!(!table.append_once("none", batch(0..0)).await.unwrap().repeated);
    assert!(!once(&table, "none", 0).await.repeated);
}

/// The same keys from many writers at the same moment, which come into one transaction.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_that_race_with_one_key_store_it_once() {
    let folder = tempfile::tempdir().unwrap();
    let storage = open(folder.path(), restless());
    let table = table(&storage).await;
    let writer = |_| {
        let table = Arc::clone(&table);
        tokio::spawn(async move {
            let mut stored = 0;
            for number in 0..50 {
                stored += i64::from(!once(&table, &number.to_string(), number * 3).await.repeated);
            }
            stored
        })
    };
    let mut stored = 0;
    for writer in (0..8).map(writer).collect::<Vec<_>>() {
        stored += writer.await.unwrap();
    }
    assert_eq!(stored, 50);
    let mut held = numbers(&table.snapshot());
    held.sort_unstable();
    assert!(held.into_iter().eq(0..150));
}
