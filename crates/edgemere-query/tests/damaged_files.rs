//! Bytes of data files that a disk has changed: the answer is right, or an error that names the file;
//! with `subset` the rows of the other files. Never a wrong row, and never a panic.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

#[path = "../../edgemere-storage/tests/scratch/mod.rs"]
mod scratch;

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use edgemere_query::Engine;
use edgemere_query::sql::{Error, Limits, QueryOptions, Times};
use edgemere_storage::storage::{self, Options, Table};
use scratch::{batch, manual, numbers, rows, table};

/// What is asked of the table, over all of its columns, and in ways that read parts of files.
const STATEMENTS: [&str; 6] = [
    "select count(*), sum(n), min(at), max(text) from t",
    "select n, at, text from t where n % 7 = 3 order by n",
    "select n, text from t order by at desc, n limit 5",
    "select count(text), sum(row_id), count(distinct insert_timestamp) from t where n > 250",
    "select n from t where at between '1970-01-01 00:00:00.0001' and '1970-01-01 00:00:00.0002' order by n",
    "select count(*) from t",
];

/// An engine whose table has 300 rows in three files, and 20 that were not flushed.
async fn engine(folder: &Path) -> Engine {
    let (engine, _) = Engine::open_with(folder, manual(), Limits::default()).unwrap();
    let table = table(engine.storage()).await;
    for first in [0, 100, 200] {
        table.append(batch(first..first + 100)).await.unwrap();
        engine.storage().flush(&table).await.unwrap();
    }
    table.append(batch(300..320)).await.unwrap();
    engine
}

fn open(folder: &Path) -> Engine {
    Engine::open_with(folder, manual(), Limits::default()).unwrap().0
}

fn own(engine: &Engine) -> Arc<Table> {
    engine.storage().table("d", "t").unwrap()
}

fn files(engine: &Engine) -> Vec<PathBuf> {
    own(engine).snapshot().files.iter().map(|file| file.path.clone()).collect()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// The rows of an answer, and what it says is missing.
async fn ask(engine: &Engine, sql: &str, subset: bool) -> Result<(String, Vec<String>), Error> {
    let scope = QueryOptions { subset, ..QueryOptions::default() };
    let mut query = engine.sql().ask("d", sql, &scope).await?;
    let mut rows = String::new();
    while let Some(batch) = query.next().await {
        rows.push_str(&batch?.json_lists(Times::Plain).unwrap());
    }
    Ok((rows, query.missing_rows()))
}

/// Changes one bit of a file, where it lies.
fn flip(path: &Path, at: u64, bit: u32) {
    let byte = fs::read(path).unwrap()[at as usize] ^ (1 << bit);
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&[byte]).unwrap();
}

/// Numbers that look random, and are the same each time.
fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

fn is_about(error: &Error, path: &Path) -> bool {
    matches!(error, Error::Storage(storage::Error::Unreadable { dbms, table, file, .. })
        if &**dbms == "d" && &**table == "t" && **file == *name(path))
}

#[tokio::test]
async fn no_changed_bit_is_ever_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = engine(folder.path()).await;
    let mut right = Vec::new();
    for sql in STATEMENTS {
        right.push(ask(&engine, sql, false).await.unwrap().0);
    }
    let files = files(&engine);
    let (mut seed, mut errors) = (0x5eed_u64, 0);
    for round in 0..240 {
        // Half of them without anything that was read before.
        if round % 2 == 0 {
            drop(engine);
            engine = open(folder.path());
        }
        let path = &files[round % files.len()];
        let length = fs::metadata(path).unwrap().len();
        // Also what is at the ends, where little is read and much depends on it.
        let at = match round / 3 {
            near @ 0..12 => length - 1 - near as u64,
            near @ 12..18 => near as u64 - 12,
            _ => random(&mut seed) % length,
        };
        let bit = (random(&mut seed) % 8) as u32;
        flip(path, at, bit);
        for (sql, right) in STATEMENTS.iter().zip(&right) {
            match ask(&engine, sql, false).await {
                Ok((rows, missing)) => {
                    assert_eq!((&rows, missing), (right, vec![]), "bit {bit} of byte {at}: {sql}");
                }
                Err(error) => {
                    assert!(is_about(&error, path), "bit {bit} of byte {at}: {sql}: {error:?}");
                    errors += 1;
                }
            }
        }
        let found = engine.storage().verify().await.unwrap();
        assert_eq!(found.damaged.len(), 1, "bit {bit} of byte {at}");
        assert_eq!(found.damaged[0].file, name(path));
        flip(path, at, bit);
        assert_eq!(engine.storage().verify().await.unwrap().damaged, []);
        assert_eq!(ask(&engine, STATEMENTS[0], false).await.unwrap().0, right[0]);
    }
    assert!(errors > 240, "{errors}");
}

#[tokio::test]
async fn a_damaged_file_is_left_out_with_its_name_or_fails_the_query() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path()).await;
    let path = files(&engine)[1].clone();
    flip(&path, fs::metadata(&path).unwrap().len() / 2, 0);
    let sql = "select count(*), sum(n) from t";
    // The query that finds the damage fails, also with subset: rows of the file may have been used.
    engine.storage().verify().await.unwrap();
    let error = ask(&engine, sql, false).await.unwrap_err();
    assert!(is_about(&error, &path), "{error:?}");
    assert!(
        error.to_string().starts_with("100 rows of the table \"d.t\" cannot be read"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("drop partition"), "{:?}", error.hint());

    let missing = [format!("100 rows of \"d.t\" (the file {} is damaged)", name(&path))];
    let whole = (0..320).filter(|n| !(100..200).contains(n));
    let right = format!("[220,{}]\n", whole.clone().sum::<i64>());
    assert_eq!(ask(&engine, sql, true).await.unwrap(), (right, missing.to_vec()));
    let count = ask(&engine, "select count(*) from t", true).await.unwrap();
    assert_eq!(count, ("[220]\n".to_owned(), missing.to_vec()));
    assert!(ask(&engine, "select count(*) from t", false).await.is_err());

    // What the manifest rules out is not missing.
    let after = "select count(*) from t where row_id > 200";
    assert_eq!(ask(&engine, after, false).await.unwrap(), ("[120]\n".to_owned(), vec![]));
    assert!(ask(&engine, "select count(*) from t where row_id > 199", false).await.is_err());

    // It is known after a start too, and taken again when it is put back.
    drop(engine);
    let (engine, recovery) = Engine::open_with(folder.path(), manual(), Limits::default()).unwrap();
    assert_eq!(recovery.damaged[0].path, path);
    assert!(ask(&engine, sql, false).await.is_err());
    let stats = own(&engine).stats();
    assert_eq!((stats.damaged_files, stats.damaged_rows, stats.rows), (1, 100, 320));
    let partitions = own(&engine).partitions();
    let damaged: Vec<_> = partitions.iter().filter(|part| part.damage.is_some()).collect();
    assert_eq!((damaged.len(), damaged[0].file.as_deref()), (1, Some(name(&path).as_str())));
    drop(engine);
    flip(&path, fs::metadata(&path).unwrap().len() / 2, 0);
    let (engine, recovery) = Engine::open_with(folder.path(), manual(), Limits::default()).unwrap();
    assert_eq!(recovery.damaged, []);
    let all = (0..320).sum::<i64>();
    assert_eq!(ask(&engine, sql, false).await.unwrap().0, format!("[320,{all}]\n"));
}

#[tokio::test]
async fn a_count_does_not_come_from_a_file_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path()).await;
    let path = files(&engine)[2].clone();
    fs::remove_file(&path).unwrap();
    for sql in STATEMENTS.iter().rev() {
        let error = ask(&engine, sql, false).await.unwrap_err();
        assert!(is_about(&error, &path), "{sql}: {error:?}");
    }
    let (rows, missing) = ask(&engine, "select count(*) from t", true).await.unwrap();
    assert_eq!((rows.as_str(), missing.len()), ("[220]\n", 1));
    // Without any file there is still an answer.
    files(&engine).iter().for_each(|path| _ = fs::remove_file(path));
    for (sql, right) in [("select count(*) from t", "[20]\n"), ("select min(n) from t", "[300]\n")]
    {
        let (rows, missing) = ask(&engine, sql, true).await.unwrap();
        assert_eq!((rows.as_str(), missing.len()), (right, 3), "{sql}");
    }
}

#[tokio::test]
async fn compaction_leaves_a_damaged_file_alone_and_merges_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path()).await;
    let storage = engine.storage();
    let table = own(&engine);
    for first in [320, 330, 340] {
        table.append(batch(first..first + 10)).await.unwrap();
        storage.flush(&table).await.unwrap();
    }
    // Files of the rows 0, 100, 200, 300, 330 and 340 on.
    let before = files(&engine);
    let damaged = &before[2];
    let changed = fs::metadata(damaged).unwrap().len() / 3;
    flip(damaged, changed, 3);
    assert_eq!(storage.compact(&table).await.unwrap(), 5);
    let after = files(&engine);
    assert_eq!(after.len(), 3);
    assert!(after.contains(damaged) && damaged.exists());
    assert_eq!(table.stats().damaged_files, 1);
    // Nothing is lost, and writing goes on.
    table.append(batch(350..360)).await.unwrap();
    storage.flush(&table).await.unwrap();
    flip(damaged, changed, 3);
    assert_eq!(storage.verify().await.unwrap().damaged, []);
    assert_eq!(numbers(&table.snapshot()), (0..360).collect::<Vec<_>>());
    storage.compact(&table).await.unwrap();
    assert_eq!((files(&engine).len(), rows(&table.snapshot()).len()), (1, 360));
}

#[tokio::test]
async fn a_damaged_file_can_be_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path()).await;
    let path = files(&engine)[0].clone();
    flip(&path, 100, 0);
    engine.storage().verify().await.unwrap();
    let unwanted = storage::DropSelector::Named(name(&path));
    engine.storage().drop_files(&own(&engine), unwanted).await.unwrap();
    let count = ask(&engine, "select count(*) from t", false).await.unwrap();
    assert_eq!(count, ("[220]\n".to_owned(), vec![]));
}

#[tokio::test]
async fn a_short_query_reads_a_few_blocks_of_a_large_file() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, _) = Engine::open_with(folder.path(), manual(), Limits::default()).unwrap();
    let table = table(engine.storage()).await;
    table.append(batch(0..200_000)).await.unwrap();
    engine.storage().flush(&table).await.unwrap();
    let file = Arc::clone(&table.snapshot().files[0]);
    assert!(file.bytes > 1 << 20, "{}", file.bytes);
    // Rows are sorted by time, so these lie together.
    let sql = "select count(n) from t where at = '1970-01-01 00:00:00.000777'";
    let right = (0..200_000).filter(|n| n % 17 != 0 && n * 7919 % 1000 == 777).count();
    assert_eq!(ask(&engine, sql, false).await.unwrap().0, format!("[{right}]\n"));
    let before = file.read_bytes();
    assert_eq!(ask(&engine, sql, false).await.unwrap().0, format!("[{right}]\n"));
    let read = file.read_bytes() - before;
    assert!(read > 0 && read <= file.bytes / 4, "{read} of {}", file.bytes);
}

#[tokio::test]
async fn the_scrub_finds_damage_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path()).await;
    let path = files(&engine)[0].clone();
    drop(engine);
    let options = Options { scrub_every: Duration::from_millis(20), ..Options::default() };
    let (engine, _) = Engine::open_with(folder.path(), options, Limits::default()).unwrap();
    flip(&path, 50, 1);
    let begun = Instant::now();
    while engine.storage().damaged().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(120), "nothing was found");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(engine.storage().damaged()[0].file, name(&path));
    flip(&path, 50, 1);
    while !engine.storage().damaged().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(120), "it is not taken again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
