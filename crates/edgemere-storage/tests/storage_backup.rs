//! Copies of a storage: those that it makes itself while rows are written, and those that a user makes
//! with `cp`, which open right or not at all; and a manifest that is rebuilt from the files.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

mod scratch;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use edgemere_storage::storage::{Error, Retention, Storage, Table, back_up_closed, repair};
use scratch::{batch, column, manual, numbers, open, restless, table};

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    // What goes while it is copied is left out, as cp does.
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy_folder(&path, &to),
            false => _ = fs::copy(&path, &to),
        }
    }
}

fn parquet_files(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder.join("data/d/t")).into_iter().flatten();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

/// A storage that is written to until this is stopped.
struct Busy {
    storage: Storage,
    acknowledged: Arc<AtomicI64>,
    stop: Arc<AtomicBool>,
    writer: tokio::task::JoinHandle<()>,
}

impl Busy {
    async fn start(folder: &Path) -> Self {
        let storage = open(folder, restless());
        let table = table(&storage).await;
        let (acknowledged, stop) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, stopped) = (Arc::clone(&acknowledged), Arc::clone(&stop));
        let writer = tokio::spawn(async move {
            for n in 0.. {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                table.append(batch(n * 5..n * 5 + 5)).await.unwrap();
                count.store(n * 5 + 5, Ordering::SeqCst);
            }
        });
        Self { storage, acknowledged, stop, writer }
    }

    fn acknowledged(&self) -> i64 {
        self.acknowledged.load(Ordering::SeqCst)
    }

    /// Waits until some more rows were written.
    async fn go_on(&self) {
        let until = self.acknowledged() + 50;
        while self.acknowledged() < until {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn stop(self) {
        self.stop.store(true, Ordering::SeqCst);
        self.writer.await.unwrap();
        self.storage.close().await.unwrap();
    }
}

fn held(storage: &Storage) -> Vec<i64> {
    numbers(&storage.table("d", "t").unwrap().snapshot())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_backup_of_a_busy_storage_is_of_one_moment() {
    let folder = tempfile::tempdir().unwrap();
    let busy = Busy::start(folder.path()).await;
    for round in 0..8 {
        busy.go_on().await;
        let before = busy.acknowledged();
        let to = folder.path().join(format!("copies/{round}"));
        let backup = busy.storage.back_up(&to).await.unwrap();
        let after = busy.acknowledged();
        let copy = open(&to, manual());
        let rows = held(&copy);
        assert_eq!(rows.len() as u64, backup.rows + backup.memtable_rows);
        assert!(rows.iter().copied().eq(0..rows.len() as i64), "rows are lost or there twice");
        let count = rows.len() as i64;
        assert!(before <= count && count <= after + 5, "{before} <= {count} <= {after}");
        // It is a storage like any other.
        copy.table("d", "t").unwrap().append(batch(count..count + 5)).await.unwrap();
        copy.flush_all().await.unwrap();
    }
    busy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_copy_of_a_busy_folder_opens_right_or_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let busy = Busy::start(folder.path()).await;
    let copies = tempfile::tempdir().unwrap();
    for round in 0..25 {
        busy.go_on().await;
        let before = busy.acknowledged();
        let to = copies.path().join(round.to_string());
        copy_folder(folder.path(), &to);
        let after = busy.acknowledged();
        check_copy(&to, (before, after), round);
        // Repaired, it has no row twice, and opens.
        repair(&to, false).unwrap();
        let (storage, _) = Storage::open(&to, manual()).unwrap();
        if let Some(table) = storage.table("d", "t") {
            let rows = scratch::rows(&table.snapshot());
            let mut ids: Vec<_> = rows.iter().map(|(id, _)| *id).collect();
            ids.dedup();
            assert_eq!(ids.len(), rows.len(), "a row is there twice");
            assert!(rows.iter().all(|(id, n)| id - 1 == *n), "a row is another");
        }
    }
    busy.stop().await;
}

/// A copy has the first rows, each once and at least those from before it was made; or it does not open, or
/// says which files are not there, and what to do.
fn check_copy(copy: &Path, (before, after): (i64, i64), round: i32) {
    match Storage::open(copy, manual()) {
        Ok((storage, recovery)) if recovery.damaged.is_empty() => {
            let rows = held(&storage);
            assert!(rows.iter().copied().eq(0..rows.len() as i64), "{round}: not the first rows");
            let count = rows.len() as i64;
            assert!(before <= count && count <= after + 5, "{before} <= {count} <= {after}");
        }
        Ok((storage, recovery)) => {
            let snapshot = storage.table("d", "t").unwrap().snapshot();
            let failed = snapshot.files.iter().any(|file| file.read(&snapshot.arrow).is_err());
            assert!(failed, "{round}: {recovery:?}");
        }
        Err(error) => {
            assert!(matches!(error, Error::Older { .. } | Error::Damaged { .. }), "{error:?}");
            assert!(error.hint().unwrap().contains("edgemere data repair"), "{error}");
        }
    }
}

/// A closed storage with rows in three files and in blocks, a view and a rule.
async fn closed(folder: &Path) {
    let storage = open(folder, manual());
    let table = table(&storage).await;
    for first in [0, 10, 20] {
        file_of(&storage, &table, first).await;
    }
    table.append_idempotent("k", 1, batch(30..40)).await.unwrap();
    storage.create_view("d", "v", "select n from t").await.unwrap();
    let rule = Retention { max_age: None, max_bytes: Some(1 << 40) };
    storage.set_retention("d", Some("t"), rule).await.unwrap();
    storage.close().await.unwrap();
}

async fn file_of(storage: &Storage, table: &Arc<Table>, first: i64) {
    table.append(batch(first..first + 10)).await.unwrap();
    storage.flush(table).await.unwrap();
}

#[tokio::test]
async fn a_closed_storage_is_backed_up_as_it_is() {
    let (folder, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    closed(folder.path()).await;
    let old = fs::read(folder.path().join("fresh.redb")).unwrap();
    let copy = to.path().join("copy");
    let backup = back_up_closed(folder.path(), &copy).unwrap();
    assert_eq!((backup.tables, backup.files, backup.rows, backup.memtable_rows), (1, 3, 30, 10));
    let storage = open(&copy, manual());
    assert!(held(&storage).into_iter().eq(0..40));
    assert_eq!(storage.view("d", "v").unwrap().sql, "select n from t");
    assert!(
        storage
            .table("d", "t")
            .unwrap()
            .append_idempotent("k", 1, batch(30..40))
            .await
            .unwrap()
            .repeated
    );
    drop(storage);
    assert!(fs::read(folder.path().join("fresh.redb")).unwrap() == old, "the storage was changed");
    // Of one that is not whole there is everything else, and what is missing is named.
    fs::remove_file(&parquet_files(folder.path())[0]).unwrap();
    let copy = to.path().join("other");
    let backup = back_up_closed(folder.path(), &copy).unwrap();
    assert_eq!((backup.tables, backup.files, backup.rows, backup.memtable_rows), (1, 2, 20, 10));
    assert_eq!(backup.damaged.len(), 1);
    assert!(backup.damaged[0].reason.contains("it is missing, with 10 rows"), "{backup:?}");
    assert!(backup.damaged[0].path.starts_with("data/d/t"), "{backup:?}");
    let (_, recovery) = Storage::open(&copy, manual()).unwrap();
    assert_eq!(recovery.damaged.len(), 1);
}

#[tokio::test]
async fn a_lost_manifest_is_rebuilt_from_the_files() {
    let folder = tempfile::tempdir().unwrap();
    closed(folder.path()).await;
    fs::remove_file(folder.path().join("fresh.redb")).unwrap();
    assert!(Storage::open(folder.path(), manual()).is_err());
    let dry = repair(folder.path(), true).unwrap();
    assert!(dry.needed && dry.saved.is_none());
    assert!(!folder.path().join("fresh.redb").exists(), "a dry run changed something");
    let report = repair(folder.path(), false).unwrap();
    assert_eq!((report.tables, report.files, report.rows, report.memtable_rows), (1, 3, 30, 0));
    let storage = open(folder.path(), manual());
    assert!(held(&storage).into_iter().eq(0..30));
    // Writing goes on, with ids that no row has had.
    let table = storage.table("d", "t").unwrap();
    assert_eq!(table.schema(), Arc::new(scratch::schema()));
    table.append(batch(30..40)).await.unwrap();
    storage.flush(&table).await.unwrap();
    storage.compact(&table).await.unwrap();
    drop((storage, table));
    assert!(held(&open(folder.path(), manual())).into_iter().eq(0..40));
    assert!(!repair(folder.path(), false).unwrap().needed);
}

#[tokio::test]
async fn an_older_manifest_is_replaced_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    closed(folder.path()).await;
    let fresh = folder.path().join("fresh.redb");
    let old = fs::read(&fresh).unwrap();
    {
        let storage = open(folder.path(), manual());
        let table = storage.table("d", "t").unwrap();
        storage
            .add_columns(&table, vec![column("more", edgemere_storage::Kind::Int)])
            .await
            .unwrap();
        storage.compact(&table).await.unwrap();
        for first in [40, 50] {
            file_of(&storage, &table, first).await;
        }
    }
    fs::write(&fresh, &old).unwrap();
    assert!(matches!(Storage::open(folder.path(), manual()), Err(Error::Older { .. })));
    let old = fs::read(&fresh).unwrap();
    let report = repair(folder.path(), false).unwrap();
    assert_eq!((report.rows, report.memtable_rows), (60, 0), "{report:?}");
    assert!(fs::read(report.saved.unwrap()).unwrap() == old, "the old one was changed");
    let storage = open(folder.path(), manual());
    assert!(held(&storage).into_iter().eq(0..60));
    let table = storage.table("d", "t").unwrap();
    assert_eq!((table.schema().columns.len(), table.retention().max_bytes), (4, Some(1 << 40)));
    assert!(storage.view("d", "v").is_some());
    assert!(table.append_idempotent("k", 1, batch(30..40)).await.unwrap().repeated);
}

#[tokio::test]
async fn rows_that_had_not_settled_are_taken_from_the_old_manifest() {
    let folder = tempfile::tempdir().unwrap();
    closed(folder.path()).await;
    // One file is lost, and the manifest is as it should be.
    fs::remove_file(&parquet_files(folder.path())[0]).unwrap();
    let report = repair(folder.path(), false).unwrap();
    assert_eq!((report.rows, report.memtable_rows), (30, 10), "{report:?}");
    assert!(report.missing[0].contains("with 10 rows is not there"), "{report:?}");
    let storage = open(folder.path(), manual());
    let rows = scratch::rows(&storage.table("d", "t").unwrap().snapshot());
    assert!(rows.into_iter().map(|(_, n)| n).eq(10..40));
}

/// Whatever byte of the manifest is wrong: what it says after the repair is right.
#[tokio::test]
async fn a_damaged_manifest_is_rebuilt() {
    let whole = tempfile::tempdir().unwrap();
    closed(whole.path()).await;
    let fresh = fs::read(whole.path().join("fresh.redb")).unwrap();
    let used = fresh.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    for at in (0..used).step_by(used / 40 + 1) {
        let folder = tempfile::tempdir().unwrap();
        copy_folder(whole.path(), folder.path());
        let mut damaged = fresh.clone();
        damaged[at] ^= 0x55;
        fs::write(folder.path().join("fresh.redb"), damaged).unwrap();
        let report = repair(folder.path(), false).unwrap();
        let (storage, _) = Storage::open(folder.path(), manual())
            .unwrap_or_else(|error| panic!("byte {at}: {error}: {report:?}"));
        let rows = held(&storage);
        assert!(
            rows.iter().copied().eq(0..30) || rows.iter().copied().eq(0..40),
            "byte {at}: {rows:?}"
        );
    }
}
