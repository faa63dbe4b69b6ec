//! Files that were changed behind the storage's back: an error that names the file, and no panic.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

mod scratch;

use std::fs;
use std::path::Path;

use edgemere_storage::storage::{Error, Storage};
use scratch::{batch, manual, numbers, open, rows, table};

/// A folder with flushed rows and a memtable that was closed.
async fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let storage = open(folder.path(), manual());
    let table = table(&storage).await;
    table.append(batch(0..100)).await.unwrap();
    storage.flush(&table).await.unwrap();
    table.append(batch(100..150)).await.unwrap();
    storage.close().await.unwrap();
    folder
}

fn parquet(folder: &Path) -> std::path::PathBuf {
    fs::read_dir(folder.join("data/d/t")).unwrap().next().unwrap().unwrap().path()
}

#[tokio::test]
async fn a_parquet_file_that_is_not_whole_is_reported_and_not_read() {
    for keep in [0, 4, 100, 1000] {
        let folder = folder().await;
        let file = parquet(folder.path());
        let whole = fs::read(&file).unwrap();
        fs::write(&file, &whole[..keep]).unwrap();
        let (storage, recovery) = Storage::open(folder.path(), manual()).unwrap();
        assert_eq!(recovery.damaged[0].path, file);
        let table = storage.table("d", "t").unwrap();
        let snapshot = table.snapshot();
        let error = snapshot.files[0].read(&snapshot.arrow).unwrap_err();
        assert!(matches!(&error, Error::Damaged { path, .. } if *path == file), "{error}");
        // The rest of the storage goes on.
        table.append(batch(150..160)).await.unwrap();
        storage.flush(&table).await.unwrap();
        assert_eq!(storage.compact(&table).await.unwrap(), 0);
        assert_eq!((table.stats().files, table.stats().damaged_files), (2, 1));
    }
}

#[tokio::test]
async fn a_missing_parquet_file_is_reported() {
    let folder = folder().await;
    let file = parquet(folder.path());
    fs::remove_file(&file).unwrap();
    let (storage, recovery) = Storage::open(folder.path(), manual()).unwrap();
    assert_eq!(recovery.damaged[0].path, file);
    let snapshot = storage.table("d", "t").unwrap().snapshot();
    assert!(matches!(snapshot.files[0].read(&snapshot.arrow), Err(Error::Damaged { .. })));
}

#[tokio::test]
async fn flipped_bytes_of_a_parquet_file_are_all_noticed() {
    let folder = folder().await;
    let file = parquet(folder.path());
    let whole = fs::read(&file).unwrap();
    let storage = open(folder.path(), manual());
    let snapshot = storage.table("d", "t").unwrap().snapshot();
    for at in (0..whole.len()).step_by(7) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0xff;
        fs::write(&file, flipped).unwrap();
        let read = snapshot.files[0].read(&snapshot.arrow);
        assert!(matches!(read, Err(Error::Damaged { .. })), "byte {at}");
    }
    fs::write(&file, whole).unwrap();
    assert_eq!(numbers(&snapshot).len(), 150);
}

/// Whatever byte of the store is wrong: it does not open, or everything is there.
#[tokio::test]
async fn flipped_bytes_of_the_store_are_noticed() {
    let folder = folder().await;
    let file = folder.path().join("fresh.redb");
    let whole = fs::read(&file).unwrap();
    let used = whole.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let mut refused = 0;
    for at in (0..used).step_by(used / 150 + 1).chain(0..64) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x55;
        fs::write(&file, flipped).unwrap();
        match Storage::open(folder.path(), manual()) {
            Err(error) => {
                let named = matches!(&error, Error::Damaged { path, .. } | Error::Io { path, .. }
                    if *path == file);
                assert!(named, "byte {at}: {error}");
                refused += 1;
            }
            Ok((storage, _)) => {
                let snapshot = storage.table("d", "t").unwrap().snapshot();
                assert_eq!(rows(&snapshot).len(), 150, "byte {at}");
            }
        }
        assert!(parquet(folder.path()).exists(), "byte {at}: a settled file was removed");
    }
    assert!(refused > 0);
}

#[tokio::test]
async fn a_store_that_is_missing_or_something_else_is_refused() {
    let folder = folder().await;
    let file = folder.path().join("fresh.redb");
    for content in [None, Some(""), Some("not a database at all")] {
        fs::remove_file(&file).unwrap();
        if let Some(content) = content {
            fs::write(&file, content).unwrap();
        }
        let error = Storage::open(folder.path(), manual()).unwrap_err();
        assert!(matches!(&error, Error::Damaged { .. }), "{content:?}: {error:?}");
        assert!(error.hint().is_some());
        assert!(parquet(folder.path()).exists());
        fs::write(&file, "").unwrap();
    }
}

#[tokio::test]
async fn what_is_unfinished_is_removed_and_what_nobody_knows_is_kept() {
    let folder = folder().await;
    let at = folder.path().join("data/d/t");
    let (unknown, unfinished) = (at.join("1-99.parquet"), at.join("7-98.parquet.tmp"));
    let foreign = at.join("notes.txt");
    let lost = folder.path().join("lost/d/t");
    for path in [&unknown, &unfinished, &foreign] {
        fs::write(path, "x").unwrap();
    }
    let (storage, recovery) = Storage::open(folder.path(), manual()).unwrap();
    assert_eq!(recovery.removed, [unfinished.as_path()]);
    assert_eq!(recovery.lost.len(), 1);
    assert_eq!(
        (&recovery.lost[0].from, &recovery.lost[0].to),
        (&unknown, &lost.join("1-99.parquet"))
    );
    assert!(foreign.exists() && !unknown.exists() && !unfinished.exists());
    drop(storage);
    // A second one of the same name does not take the place of the first.
    fs::write(&unknown, "y").unwrap();
    let (storage, recovery) = Storage::open(folder.path(), manual()).unwrap();
    assert_eq!(recovery.lost[0].to, lost.join("1-99.parquet.1"));
    assert_eq!(fs::read(lost.join("1-99.parquet")).unwrap(), b"x");
    assert_eq!(numbers(&storage.table("d", "t").unwrap().snapshot()).len(), 150);
}
