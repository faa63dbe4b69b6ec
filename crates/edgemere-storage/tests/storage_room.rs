//! A disk that is nearly full: rows are refused, and all else goes on.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod scratch;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use edgemere_storage::Rows;
use edgemere_storage::decode::Input;
use edgemere_storage::storage::{DiskProbe, DropSelector, Error, Options, Retention, Storage};
use scratch::{batch, manual, numbers, open, table};

const MIB: u64 = 1 << 20;

fn with(free: &Arc<AtomicU64>) -> Options {
    let disk = DiskProbe::Manual(Arc::clone(free));
    Options { disk, disk_reserve: Some(100 * MIB), ..manual() }
}

#[tokio::test]
async fn below_the_reserve_rows_are_refused_and_drops_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let free = Arc::new(AtomicU64::new(1000 * MIB));
    let storage = open(folder.path(), with(&free));
    let stored = table(&storage).await;
    for first in [0, 10, 20] {
        stored.append(batch(first..first + 10)).await.unwrap();
        storage.flush(&stored).await.unwrap();
    }
    stored.append(batch(30..40)).await.unwrap();
    free.store(99 * MIB, Ordering::SeqCst);
    let error = stored.append(batch(40..50)).await.unwrap_err();
    assert!(matches!(error, Error::DiskReserve { .. }) && error.is_full(), "{error:?}");
    assert!(error.to_string().contains("has 99 MiB free"), "{error}");
    let keyed = stored.append_idempotent("k", 1, batch(40..50)).await.unwrap_err();
    assert!(keyed.is_full());
    // Rows that are stored are flushed while there is room for that, and files are not merged.
    assert_eq!(storage.compact(&stored).await.unwrap(), 0);
    assert_eq!(storage.flush(&stored).await.unwrap(), 10);
    free.store(MIB, Ordering::SeqCst);
    assert!(numbers(&stored.snapshot()).into_iter().eq(0..40));
    assert_eq!(storage.drop_files(&stored, DropSelector::AllBut(3)).await.unwrap().files, 1);
    let rule = Retention { max_age: None, max_bytes: Some(0) };
    assert_eq!(storage.set_retention("d", None, rule).await.unwrap().files, 3);
    storage.set_retention("d", None, Retention::default()).await.unwrap();
    drop((storage, stored));
    let (storage, recovery) = Storage::open(folder.path(), with(&free)).unwrap();
    assert!(recovery.damaged.is_empty());
    let stored = table(&storage).await;
    assert!(stored.append(batch(40..50)).await.is_err());
    free.store(200 * MIB, Ordering::SeqCst);
    assert!(!stored.append_idempotent("k", 1, batch(40..50)).await.unwrap().repeated);
    free.store(0, Ordering::SeqCst);
    storage.drop_table("d", "t").await.unwrap();
}

/// Rows that are refused make neither a table nor columns.
#[tokio::test]
async fn refused_rows_change_no_table() {
    let folder = tempfile::tempdir().unwrap();
    let free = Arc::new(AtomicU64::new(1000 * MIB));
    let (storage, _) = Storage::open(folder.path(), with(&free)).unwrap();
    storage.put(Rows::new("d", "t", Input::Json, br#"[{"a": 1}]"#)).await.unwrap();
    free.store(0, Ordering::SeqCst);
    for table in ["t", "u"] {
        let rows = Rows::new("d", table, Input::Json, br#"[{"a": 1, "b": 2}]"#);
        let error = storage.put(rows).await.unwrap_err();
        assert!(error.is_disk_full(), "{error}");
    }
    assert_eq!(storage.table("d", "t").unwrap().schema().columns.len(), 1);
    assert!(storage.table("d", "u").is_none());
}
