//! A manifest that is not that of the files beside it: one that is older does not open, and what a kill
//! leaves always does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::panic, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

mod scratch;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use edgemere_storage::storage::{
    DropSelector, EPOCHS_MAX, Error, Reached, Storage, Table, back_up_closed, repair,
};
use scratch::{batch, manual, numbers, open, table};

fn manifest(folder: &Path) -> PathBuf {
    folder.join("fresh.redb")
}

fn parquet_files(folder: &Path) -> BTreeSet<PathBuf> {
    let files = fs::read_dir(folder.join("data/d/t")).into_iter().flatten();
    files.map(|file| file.unwrap().path()).collect()
}

/// Puts a manifest in the place of the one that is there, as if the other had never been: what witnesses
/// its last transaction goes with it.
fn put_back(folder: &Path, bytes: &[u8]) {
    fs::write(manifest(folder), bytes).unwrap();
    fs::remove_file(folder.join("fresh.last")).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// The table of a storage that has it.
fn existing(storage: &Storage) -> Arc<Table> {
    storage.table("d", "t").unwrap()
}

/// Appends rows and flushes them, so that they are a file.
async fn file_of(storage: &Storage, table: &Arc<Table>, rows: std::ops::Range<i64>) {
    table.append(batch(rows)).await.unwrap();
    storage.flush(table).await.unwrap();
}

/// A folder, and its manifest as it was when it had the rows 0..20 in two files and 20..30 not flushed.
async fn begun(folder: &Path) -> Vec<u8> {
    let storage = open(folder, manual());
    let table = table(&storage).await;
    file_of(&storage, &table, 0..10).await;
    file_of(&storage, &table, 10..20).await;
    table.append(batch(20..30)).await.unwrap();
    drop((storage, table));
    fs::read(manifest(folder)).unwrap()
}

#[tokio::test]
async fn an_older_manifest_does_not_open_and_nothing_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let old = begun(folder.path()).await;
    {
        let storage = open(folder.path(), manual());
        let table = existing(&storage);
        file_of(&storage, &table, 30..40).await;
    }
    let (new, files) = (fs::read(manifest(folder.path())).unwrap(), parquet_files(folder.path()));
    for _ in 0..2 {
        fs::write(manifest(folder.path()), &old).unwrap();
        let error = Storage::open(folder.path(), manual()).unwrap_err();
        assert!(matches!(&error, Error::Older { .. }), "{error:?}");
        assert!(error.to_string().contains("was written after transaction"), "{error}");
        let hint = error.hint().unwrap();
        assert!(
            hint.contains("edgemere restore") && hint.contains("edgemere data repair"),
            "{hint}"
        );
        assert_eq!(parquet_files(folder.path()), files);
    }
    // With its own manifest it is as it was.
    fs::write(manifest(folder.path()), new).unwrap();
    let storage = open(folder.path(), manual());
    assert!(numbers(&existing(&storage).snapshot()).into_iter().eq(0..40));
}

/// The file that compaction made has all rows, and those that it replaced are gone: with the manifest from
/// before nothing would be left.
#[tokio::test]
async fn a_manifest_from_before_a_compaction_does_not_open() {
    let folder = tempfile::tempdir().unwrap();
    let old = begun(folder.path()).await;
    {
        let storage = open(folder.path(), manual());
        let table = existing(&storage);
        assert_eq!(storage.compact(&table).await.unwrap(), 2);
    }
    let files = parquet_files(folder.path());
    assert_eq!(files.len(), 1);
    fs::write(manifest(folder.path()), &old).unwrap();
    let error = Storage::open(folder.path(), manual()).unwrap_err();
    assert!(matches!(&error, Error::Older { .. }), "{error:?}");
    assert!(error.to_string().contains("has replaced"), "{error}");
    assert_eq!(parquet_files(folder.path()), files);
}

/// What a kill leaves between a file and the manifest that names it, in either order: rows that are there
/// twice. The storage opens, with each once, and keeps no garbage.
#[tokio::test]
async fn files_that_a_kill_leaves_are_removed_when_their_rows_are_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let before_settling = begun(folder.path()).await;
    let inputs = parquet_files(folder.path());
    let kept: Vec<_> = inputs.iter().map(|path| (path, fs::read(path).unwrap())).collect();
    {
        let storage = open(folder.path(), manual());
        storage.flush(&existing(&storage)).await.unwrap();
    }
    // The file of the rows that were being flushed is there, and the manifest does not name it yet.
    put_back(folder.path(), &before_settling);
    let (storage, recovery) = Storage::open(folder.path(), manual()).unwrap();
    assert_eq!((recovery.removed.len(), recovery.lost.len()), (1, 0), "{recovery:?}");
    let stored = existing(&storage);
    assert!(numbers(&stored.snapshot()).into_iter().eq(0..30));
    // The files that compaction merged are there, and the manifest does not name them any more.
    storage.compact(&stored).await.unwrap();
    drop((storage, stored));
    for (path, bytes) in &kept {
        fs::write(path, bytes).unwrap();
    }
    let (storage, recovery) = Storage::open(folder.path(), manual()).unwrap();
    assert_eq!((recovery.removed.len(), recovery.lost.len()), (2, 0), "{recovery:?}");
    assert!(numbers(&existing(&storage).snapshot()).into_iter().eq(0..30));
    assert_eq!(parquet_files(folder.path()).len(), 1);
}

/// Rows of a file that was dropped are nowhere else. That it was dropped is not known at the start.
#[tokio::test]
async fn a_file_with_rows_that_are_nowhere_else_is_moved_away() {
    let folder = tempfile::tempdir().unwrap();
    begun(folder.path()).await;
    let first = parquet_files(folder.path()).into_iter().next().unwrap();
    let bytes = fs::read(&first).unwrap();
    {
        let storage = open(folder.path(), manual());
        let name = first.file_name().unwrap().to_str().unwrap().to_owned();
        let dropped =
            storage.drop_files(&existing(&storage), DropSelector::Named(name)).await.unwrap();
        assert_eq!(dropped.rows, 10);
    }
    fs::write(&first, &bytes).unwrap();
    let (storage, recovery) = Storage::open(folder.path(), manual()).unwrap();
    assert_eq!(recovery.lost.len(), 1, "{recovery:?}");
    assert!(recovery.lost[0].reason.contains("10 rows of \"d.t\""), "{recovery:?}");
    assert_eq!(fs::read(&recovery.lost[0].to).unwrap(), bytes);
    assert_eq!(existing(&storage).stats().rows, 20);
}

/// A file of another storage is not taken for a newer one of this.
#[tokio::test]
async fn a_file_of_another_storage_is_moved_away() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    begun(folder.path()).await;
    {
        let storage = open(other.path(), manual());
        let table = table(&storage).await;
        for n in 0..20 {
            file_of(&storage, &table, n..n + 1).await;
        }
    }
    let foreign = parquet_files(other.path()).into_iter().next_back().unwrap();
    fs::copy(&foreign, folder.path().join("data/d/t").join(foreign.file_name().unwrap())).unwrap();
    let (storage, recovery) = Storage::open(folder.path(), manual()).unwrap();
    assert_eq!(recovery.lost[0].reason, "another storage wrote it");
    assert!(numbers(&existing(&storage).snapshot()).into_iter().eq(0..30));
}

#[tokio::test]
async fn a_file_that_is_missing_is_named_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    begun(folder.path()).await;
    let first = parquet_files(folder.path()).into_iter().next().unwrap();
    fs::remove_file(&first).unwrap();
    let (_storage, recovery) = Storage::open(folder.path(), manual()).unwrap();
    assert_eq!(recovery.damaged[0].path, first);
    assert_eq!(recovery.damaged[0].reason, "it is missing, with 10 rows");
}

#[tokio::test]
async fn a_manifest_without_its_last_transactions_does_not_open_and_repair_says_what_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let old = begun(folder.path()).await;
    {
        let storage = open(folder.path(), manual());
        storage.begin_epoch().await.unwrap();
        existing(&storage).append(batch(30..33)).await.unwrap();
    }
    let new = fs::read(manifest(folder.path())).unwrap();
    fs::write(manifest(folder.path()), &old).unwrap();
    let error = Storage::open(folder.path(), manual()).unwrap_err();
    assert!(matches!(&error, Error::Forgotten { .. }), "{error:?}");
    assert!(error.hint().unwrap().contains("edgemere data repair"), "{error}");
    let scratch = tempfile::tempdir().unwrap();
    assert!(matches!(
        back_up_closed(folder.path(), &scratch.path().join("b")),
        Err(Error::Forgotten { .. })
    ));
    // With what was written it opens.
    fs::write(manifest(folder.path()), &new).unwrap();
    let before = open(folder.path(), manual()).history().reached();
    fs::write(manifest(folder.path()), &old).unwrap();
    let found = repair(folder.path(), false).unwrap();
    assert!(found.needed && found.missing.iter().any(|what| what.contains("transactions")));
    let storage = open(folder.path(), manual());
    assert!(numbers(&existing(&storage).snapshot()).into_iter().eq(0..30));
    assert!(storage.position() > before.position);
    assert!(storage.history().lacks(before).is_some(), "rows are lost, and everybody is to know");
}

/// A kill, and then a bit of what was written last is another: redb takes it for a transaction on its way.
#[tokio::test]
async fn rot_of_the_last_transaction_after_a_kill_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let storage = open(&folder.path().join("live"), manual());
    let table = table(&storage).await;
    for n in 0..5 {
        table.append(batch(n * 10..(n + 1) * 10)).await.unwrap();
    }
    let before = fs::read(manifest(&folder.path().join("live"))).unwrap();
    table.append(batch(50..60)).await.unwrap();
    // What a kill leaves is what is in the file now.
    let killed = folder.path().join("killed");
    copy(&folder.path().join("live"), &killed);
    let after = fs::read(manifest(&killed)).unwrap();
    let (mut forgotten, mut tried) = (0, 0);
    const BLOCK: usize = 256;
    // The first page says which of two roots is the last one.
    for at in (0..after.len()).step_by(BLOCK).filter(|at| *at >= 512) {
        let end = (at + BLOCK).min(after.len());
        if before.get(at..end) == after.get(at..end) {
            continue;
        }
        let changed = (at..end).find(|at| before.get(*at) != after.get(*at)).unwrap();
        let mut rotten = after.clone();
        rotten[changed] ^= 1;
        let disk = folder.path().join(format!("rotten-{at}"));
        copy(&killed, &disk);
        fs::write(manifest(&disk), rotten).unwrap();
        tried += 1;
        match Storage::open(&disk, manual()) {
            Ok((storage, _)) => {
                let rows = numbers(&existing(&storage).snapshot());
                assert!(rows.into_iter().eq(0..60), "byte {changed}");
            }
            Err(Error::Forgotten { .. }) => forgotten += 1,
            Err(Error::Damaged { .. }) => {}
            Err(error) => panic!("byte {changed}: {error:?}"),
        }
        fs::remove_dir_all(&disk).unwrap();
    }
    assert!(tried > 3 && forgotten > 0, "{tried} tried, {forgotten} forgotten");
}

#[tokio::test]
async fn an_older_copy_of_a_folder_lacks_what_was_seen_also_after_it_went_on() {
    let folder = tempfile::tempdir().unwrap();
    let (own, older) = (folder.path().join("own"), folder.path().join("older"));
    let begin = async |folder: &Path| {
        let storage = open(folder, manual());
        storage.begin_epoch().await.unwrap();
        let table = table(&storage).await;
        (storage, table)
    };
    let (storage, table) = begin(&own).await;
    table.append(batch(0..10)).await.unwrap();
    let early = storage.history().reached();
    // A copy in the middle of a run, and rows after it.
    copy(&own, &older);
    table.append(batch(10..20)).await.unwrap();
    let late = storage.history().reached();
    assert_eq!((early.epoch, early.position + 1), (late.epoch, late.position));
    drop((storage, table));
    for _ in 0..3 {
        let (storage, _) = begin(&own).await;
        assert_eq!(storage.history().lacks(early), None);
        assert_eq!(storage.history().lacks(late), None);
    }
    let (storage, table) = begin(&older).await;
    for _ in 0..5 {
        assert_eq!(storage.history().lacks(early), None);
        let reason = storage.history().lacks(late).unwrap();
        assert!(reason.contains("rows are lost"), "{reason}");
        table.append(batch(0..3)).await.unwrap();
    }
    assert!(storage.history().reached().position > late.position);
    // What was seen of the copy is nothing that the folder itself knows.
    let copied = storage.history().reached();
    drop((storage, table));
    assert!(begin(&own).await.0.history().lacks(copied).is_some());
}

#[tokio::test]
async fn as_many_epochs_are_known_as_the_limit_says() {
    let folder = tempfile::tempdir().unwrap();
    let storage = open(folder.path(), manual());
    storage.begin_epoch().await.unwrap();
    let first = storage.history().reached();
    for _ in 0..EPOCHS_MAX {
        storage.begin_epoch().await.unwrap();
    }
    drop(storage);
    let history = open(folder.path(), manual()).history();
    assert_eq!(history.lacks(first), None);
    assert!(history.lacks(Reached { position: first.position + 2, ..first }).is_some());
}
