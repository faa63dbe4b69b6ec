//! Appends with keys: stored once, however often they are sent, whatever happens in between.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod scratch;

use std::sync::Arc;

use edgemere_storage::Rows;
use edgemere_storage::decode::Input;
use edgemere_storage::storage::{Error, Options, Receipt, Storage, Table};
use scratch::{batch, manual, numbers, open, restless, schema, table};

async fn once(table: &Arc<Table>, key: &str, first: i64) -> Receipt {
    table.append_idempotent(key, first as u64, batch(first..first + 3)).await.unwrap()
}

#[tokio::test]
async fn a_key_is_stored_once_also_after_it_was_closed_and_opened() {
    let folder = tempfile::tempdir().unwrap();
    let storage = open(folder.path(), manual());
    let stored = table(&storage).await;
    let first = Receipt { first_row_id: 1, rows: 3, repeated: false };
    let again = Receipt { first_row_id: 0, rows: 3, repeated: true };
    assert_eq!(once(&stored, "a", 0).await, first);
    for _ in 0..3 {
        assert_eq!(once(&stored, "a", 0).await, again);
    }
    assert_eq!(storage.flush(&stored).await.unwrap(), 3);
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
    assert!(matches!(
        one.append_idempotent("a", 0, batch(0..3)).await,
        Err(Error::NotFound { .. })
    ));
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
    assert!(matches!(
        table.append_idempotent(&long, 0, batch(0..1)).await,
        Err(Error::TooLarge { .. })
    ));
    // Nothing was stored under this key, so nothing is remembered.
    assert!(!table.append_idempotent("none", 0, batch(0..0)).await.unwrap().repeated);
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

/// Rows that come with a key of other rows would be lost if they were taken for those.
#[tokio::test]
async fn a_key_with_other_content_is_refused_and_stores_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let storage = open(folder.path(), manual());
    let stored = table(&storage).await;
    once(&stored, "a", 0).await;
    for round in 0..2 {
        let refused = stored.append_idempotent("a", 7, batch(7..9)).await.unwrap_err();
        assert!(matches!(refused, Error::KeyReused { rows: 3, .. }), "{round}: {refused:?}");
        assert!(refused.hint().unwrap().contains("another key"));
        assert!(once(&stored, "a", 0).await.repeated);
        assert_eq!(numbers(&stored.snapshot()), [0, 1, 2]);
        storage.flush(&stored).await.unwrap();
    }
    assert!(!once(&stored, "b", 3).await.repeated);
}

/// What is stored and what is refused do not depend on the columns that a table has by then.
#[tokio::test]
async fn the_same_bytes_are_the_same_after_columns_were_added() {
    let folder = tempfile::tempdir().unwrap();
    let (storage, _) = Storage::open(folder.path(), Options::default()).unwrap();
    let put = |key: &'static str, bytes: &'static str| {
        let rows = Rows::new("d", "t", Input::Json, bytes.as_bytes());
        storage.put(Rows { key: Some(key), ..rows })
    };
    assert!(!put("k", r#"[{"a": 1}]"#).await.unwrap().repeated);
    assert!(!put("l", r#"[{"a": 2, "b": 2}]"#).await.unwrap().repeated);
    assert!(put("k", r#"[{"a": 1}]"#).await.unwrap().repeated);
    for other in [r#"[{"a": 2}]"#, r#"[{"a": 1, "new": 2}]"#, r#"[{"a":1}]"#] {
        let refused = put("k", other).await.unwrap_err();
        assert!(refused.to_string().contains("used before for other content"), "{refused}");
    }
    let table = storage.table("d", "t").unwrap();
    assert_eq!(table.stats().rows, 2);
    assert_eq!(table.schema().columns.len(), 2, "refused rows changed the columns");
}

/// A key that is gone would have its rows stored twice when they are sent again.
#[tokio::test]
async fn a_key_that_is_lost_or_changed_on_the_disk_is_noticed() {
    type Shelf = redb::TableDefinition<'static, (u64, u64), &'static [u8]>;
    let folder = tempfile::tempdir().unwrap();
    {
        let storage = open(folder.path(), Options { keys_max: 3, ..manual() });
        let table = table(&storage).await;
        for key in ["a", "b", "c", "d"] {
            once(&table, key, 0).await;
        }
        storage.create_table("d", "other", schema()).await.unwrap();
        storage.drop_table("d", "other").await.unwrap();
    }
    // Keys that were forgotten, and those of tables that were dropped, are not missed.
    drop(open(folder.path(), manual()));
    let path = folder.path().join("fresh.redb");
    let whole = std::fs::read(&path).unwrap();
    for name in ["keys", "key_places"] {
        for is_removed in [true, false] {
            let database = redb::Database::open(&path).unwrap();
            let transaction = database.begin_write().unwrap();
            {
                let mut shelf = transaction.open_table(Shelf::new(name)).unwrap();
                let first = redb::ReadableTable::first(&shelf).unwrap().unwrap();
                let (key, mut value) = (first.0.value(), first.1.value().to_vec());
                drop(first);
                shelf.remove(key).unwrap();
                if let (false, Some(last)) = (is_removed, value.last_mut()) {
                    *last ^= 1;
                    shelf.insert(key, value.as_slice()).unwrap();
                }
            }
            transaction.commit().unwrap();
            drop(database);
            let error = Storage::open(folder.path(), manual()).unwrap_err();
            assert!(matches!(error, Error::Damaged { .. }), "{name} {is_removed}: {error:?}");
            std::fs::write(&path, &whole).unwrap();
        }
    }
    let storage = open(folder.path(), manual());
    assert!(once(&table(&storage).await, "d", 0).await.repeated);
}
