//! A disk that is full: the writer gets an error, reads go on, and writing goes on when there is
//! room.
//!
//! The disk is a small one in memory, which only root may mount. Who may not still has the same with
//! a disk that fails on purpose, in the unit tests of the storage.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::print_stderr, reason = "a test that is not run says why")]

mod scratch;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use edgemere_storage::storage::{Error, Options, Storage, Table};
use scratch::{batch, manual, numbers, open, table};

const BALLAST_BYTES: usize = 2 << 20;

/// Rows leave nothing of the disk alone.
fn to_the_last_byte() -> Options {
    Options { disk_reserve: Some(0), ..manual() }
}

/// A small disk in memory, until it is dropped.
struct Disk(tempfile::TempDir);

impl Disk {
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=6m", "tmpfs"])
            .arg(folder.path())
            .status()
            .is_ok_and(|status| status.success());
        mounted.then_some(Self(folder))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // What stays mounted goes with the machine.
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// Appends until the disk is full, and returns the next number.
async fn fill(table: &std::sync::Arc<Table>, mut next: i64) -> i64 {
    loop {
        match table.append(batch(next..next + 500)).await {
            Ok(_) => next += 500,
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::StorageFull => {
                return next;
            }
            other => assert!(other.is_ok(), "{other:?}"),
        }
    }
}

fn held(storage: &Storage) -> Vec<i64> {
    numbers(&storage.table("d", "t").unwrap().snapshot())
}

fn fits_or_not<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert!(matches!(result, Ok(_) | Err(Error::Io { .. })), "{result:?}");
}

#[tokio::test]
async fn a_full_disk_is_survived() {
    let Some(disk) = Disk::mount() else {
        eprintln!("NOT RUN: only root can mount a small disk here");
        return;
    };
    std::fs::write(disk.ballast(), vec![1; BALLAST_BYTES]).unwrap();
    let folder = disk.path().join("data");
    let storage = open(&folder, to_the_last_byte());
    let table = table(&storage).await;
    let mut next = 0;
    for round in 0..3 {
        next = fill(&table, next).await;
        assert_eq!(held(&storage), (0..next).collect::<Vec<_>>(), "in round {round}");
        assert!(table.append(batch(next..next + 500)).await.is_err());
        fits_or_not(storage.flush(&table).await);
        assert_eq!(held(&storage), (0..next).collect::<Vec<_>>());
        std::fs::remove_file(disk.ballast()).unwrap();
        table.append(batch(next..next + 500)).await.unwrap();
        next += 500;
        storage.flush(&table).await.unwrap();
        fits_or_not(storage.compact(&table).await);
        assert_eq!(held(&storage), (0..next).collect::<Vec<_>>());
        // As much as fits: the disk is to be full again soon.
        let _ = std::fs::write(disk.ballast(), vec![1; BALLAST_BYTES]);
    }
    drop((storage, table));
    let storage = open(&folder, to_the_last_byte());
    assert_eq!(held(&storage), (0..next).collect::<Vec<_>>());
}
