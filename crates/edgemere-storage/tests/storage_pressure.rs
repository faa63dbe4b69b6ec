//! Rows that come faster than they are flushed: writers wait, then are refused for a while, memory stays
//! within its limit, and everything goes on when flushing does.
//!
//! Settling is held up by a file where the folder for Parquet files should be.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod scratch;

use std::path::{Path, PathBuf};
use std::time::Duration;

use edgemere_storage::storage::{Error, Options, Storage};
use scratch::{batch, numbers, open, table};

const FRESH_BYTES_MAX: u64 = 256 << 10;

fn options(wait_max: Duration) -> Options {
    Options { memtable_bytes_max: FRESH_BYTES_MAX, wait_max, ..Options::default() }
}

/// Keeps rows from being flushed until the file is removed.
fn hold_up(folder: &Path) -> PathBuf {
    let file = folder.join("data");
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(&file, "in the way").unwrap();
    file
}

fn memtable_bytes(storage: &Storage) -> u64 {
    storage.stats().total.memtable_bytes
}

#[tokio::test]
async fn writers_are_told_to_come_back_and_memory_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let in_the_way = hold_up(folder.path());
    let storage = open(folder.path(), options(Duration::from_millis(100)));
    let table = table(&storage).await;
    let (mut next, mut refused) = (0, 0);
    while refused < 5 {
        match table.append(batch(next..next + 100)).await {
            Ok(_) => next += 100,
            Err(Error::Busy { retry_after, reason }) => {
                assert!(retry_after > Duration::ZERO);
                assert!(reason.contains("flushed"), "{reason}");
                refused += 1;
            }
            other => assert!(other.is_ok(), "{other:?}"),
        }
        assert!(memtable_bytes(&storage) <= FRESH_BYTES_MAX, "{}", memtable_bytes(&storage));
    }
    assert!(next > 0, "no row ever fitted");
    // What was acknowledged is there, and what was not is not.
    assert_eq!(numbers(&table.snapshot()), (0..next).collect::<Vec<_>>());
    std::fs::remove_file(in_the_way).unwrap();
    for _ in 0..3 {
        while table.append(batch(next..next + 100)).await.is_err() {}
        next += 100;
    }
    assert_eq!(numbers(&table.snapshot()), (0..next).collect::<Vec<_>>());
    drop((storage, table));
    let storage = open(folder.path(), scratch::manual());
    let table = storage.table("d", "t").unwrap();
    assert_eq!(numbers(&table.snapshot()), (0..next).collect::<Vec<_>>());
}

#[tokio::test]
async fn writers_that_wait_get_in_when_settling_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let in_the_way = hold_up(folder.path());
    let storage = open(folder.path(), options(Duration::from_secs(60)));
    let table = table(&storage).await;
    // More than fits, so that some of these must wait.
    let writers: Vec<_> = (0..40)
        .map(|writer| {
            let table = table.clone();
            tokio::spawn(async move { table.append(batch(writer * 100..writer * 100 + 100)).await })
        })
        .collect();
    while memtable_bytes(&storage) < FRESH_BYTES_MAX / 2 {
        tokio::task::yield_now().await;
    }
    assert!(writers.iter().any(|writer| !writer.is_finished()), "nobody waits");
    std::fs::remove_file(in_the_way).unwrap();
    for writer in writers {
        writer.await.unwrap().unwrap();
    }
    let mut held = numbers(&table.snapshot());
    held.sort_unstable();
    assert_eq!(held, (0..4000).collect::<Vec<_>>());
    assert!(memtable_bytes(&storage) <= FRESH_BYTES_MAX);
}
