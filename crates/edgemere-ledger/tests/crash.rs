//! A process that is killed while it inserts: everything that it acknowledged is there afterwards.
//!
//! The test starts its own program again as the child, which prints the id of each policy after its
//! insert returned.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use edgemere_ledger::{Condition, Kinds, Ledger, Policy, Scope};
use proptest::test_runner::TestRunner;
use serde_json::json;

const ROUNDS: u32 = 20;
const FOLDER: &str = "EDGEMERE_LEDGER_CRASH_FOLDER";
const ROUND: &str = "EDGEMERE_LEDGER_CRASH_ROUND";
const MARK: &str = "acknowledged ";

#[test]
fn killed_processes_lose_nothing_acknowledged() {
    if let Ok(folder) = std::env::var(FOLDER) {
        return insert_forever(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = Vec::new();
    let mut runner = TestRunner::default();
    for round in 0..ROUNDS {
        let kills_after = rand_below(&mut runner, 40);
        acknowledged.extend(run_and_kill(folder.path(), round, kills_after));
        check(folder.path(), &acknowledged);
    }
    assert!(!acknowledged.is_empty());
}

fn rand_below(runner: &mut TestRunner, limit: u64) -> usize {
    use proptest::strategy::{Strategy, ValueTree};
    (0..limit as usize).new_tree(runner).unwrap().current()
}

/// The child: inserts one policy after the other until it is killed.
fn insert_forever(folder: &Path) {
    let round = std::env::var(ROUND).unwrap();
    let ledger = Ledger::open(folder).unwrap().0;
    let mut out = std::io::stdout();
    for n in 0.. {
        let device =
            json!({"device": {"name": format!("{round}-{n}"), "note": "x".repeat(n % 5000)}});
        let policy = ledger.insert(Policy::from_value(device).unwrap(), Scope::Local).unwrap();
        writeln!(out, "\n{MARK}{}", policy.id().unwrap()).unwrap();
        out.flush().unwrap();
    }
}

/// The parent: kills the child after so many acknowledged inserts, and returns all that it
/// acknowledged.
fn run_and_kill(folder: &Path, round: u32, kills_after: usize) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["killed_processes_lose_nothing_acknowledged", "--exact", "--nocapture"])
        .env(FOLDER, folder)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ids = read_ids(&mut child);
    let mut acknowledged: Vec<_> = ids.by_ref().take(kills_after).collect();
    child.kill().unwrap();
    // What is still in the pipe was acknowledged before the kill.
    acknowledged.extend(ids);
    assert!(acknowledged.len() >= kills_after, "the child ended on its own");
    child.wait().unwrap();
    acknowledged
}

fn read_ids(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.map_while(Result::ok).filter_map(|line| line.strip_prefix(MARK).map(str::to_owned))
}

fn check(folder: &Path, acknowledged: &[String]) {
    let (ledger, _) = Ledger::open(folder).unwrap();
    ledger.verify().unwrap();
    let all = ledger.select(&Kinds::All, &Condition::True);
    let live: HashSet<_> = all.iter().filter_map(|policy| policy.id()).collect();
    assert_eq!(live.len(), all.len(), "an id is there twice");
    let lost: Vec<_> = acknowledged.iter().filter(|id| !live.contains(id.as_str())).collect();
    assert!(lost.is_empty(), "lost {lost:?}");
}
