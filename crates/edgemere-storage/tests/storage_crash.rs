//! A process that is killed while it appends, flushes and compacts: everything that it acknowledged
//! is there afterwards, once.
//!
//! The test starts its own program again as the child, which prints the number of each row after
//! its append returned.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod scratch;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use edgemere_storage::storage::Storage;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use scratch::{batch, numbers, open, restless, table};

const ROUNDS: i64 = 60;
const FOLDER: &str = "EDGEMERE_STORAGE_CRASH_FOLDER";
const ROUND: &str = "EDGEMERE_STORAGE_CRASH_ROUND";
const MARK: &str = "acknowledged ";

/// Numbers of one round are below this, so that those of all rounds differ.
const NUMBERS_MAX: i64 = 1_000_000;

#[test]
fn killed_processes_lose_nothing_acknowledged() {
    if let Ok(folder) = std::env::var(FOLDER) {
        return append_forever(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = Vec::new();
    let mut runner = TestRunner::default();
    for round in 0..ROUNDS {
        let kill_after = (0..200usize).new_tree(&mut runner).unwrap().current();
        acknowledged.extend(run_and_kill(folder.path(), round, kill_after));
        check(folder.path(), &acknowledged);
    }
    assert!(acknowledged.len() > 100);
}

/// The child: appends from several tasks while everything else goes on, until it is killed.
#[tokio::main(flavor = "multi_thread", worker_threads = 3)]
async fn append_forever(folder: &Path) {
    let round: i64 = std::env::var(ROUND).unwrap().parse().unwrap();
    let storage = open(folder, restless());
    let table = table(&storage).await;
    for task in 0..3 {
        let table = table.clone();
        tokio::spawn(async move {
            for n in 0.. {
                let first = round * NUMBERS_MAX + (n * 3 + task) * 10;
                let rows = 1 + n % 10;
                table.append(batch(first..first + rows)).await.unwrap();
                let mut lines = String::new();
                (first..first + rows).for_each(|n| lines += &format!("\n{MARK}{n}\n"));
                std::io::stdout().lock().write_all(lines.as_bytes()).unwrap();
            }
        });
    }
    loop {
        storage.flush(&table).await.unwrap();
        storage.compact(&table).await.unwrap();
    }
}

/// The parent: kills the child after so many acknowledged rows, and returns all that it
/// acknowledged.
fn run_and_kill(folder: &Path, round: i64, kill_after: usize) -> Vec<i64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["killed_processes_lose_nothing_acknowledged", "--exact", "--nocapture"])
        .env(FOLDER, folder)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut numbers = lines.filter_map(|line| line.strip_prefix(MARK)?.parse().ok());
    let mut acknowledged: Vec<_> = numbers.by_ref().take(kill_after).collect();
    child.kill().unwrap();
    // What is still in the pipe was acknowledged before the kill.
    acknowledged.extend(numbers);
    assert!(acknowledged.len() >= kill_after, "the child ended on its own");
    child.wait().unwrap();
    acknowledged
}

/// Opens what the child left: every row is there once, and no garbage stays.
fn check(folder: &Path, acknowledged: &[i64]) {
    let (storage, recovery) = Storage::open(folder, scratch::manual()).unwrap();
    assert!(recovery.damaged.is_empty(), "{recovery:?}");
    let Some(table) = storage.table("d", "t") else {
        // It was killed before it made the table.
        return assert!(acknowledged.is_empty());
    };
    let mut held = numbers(&table.snapshot());
    let rows = held.len();
    held.sort_unstable();
    held.dedup();
    assert_eq!(held.len(), rows, "a row is there twice");
    for number in acknowledged {
        assert!(held.binary_search(number).is_ok(), "row {number} is lost");
    }
    let files = std::fs::read_dir(folder.join("data/d/t")).map_or(0, Iterator::count);
    assert_eq!(files, table.stats().files, "there is garbage");
}
