//! A ledger that is written to for long stays as large as what is in it, and a snapshot is as good as
//! the history that it stands for: after a start, after a crash, and for those who follow.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::panic, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

mod scratch;

use std::path::Path;
use std::sync::Arc;

use edgemere_ledger::{
    Changes, Condition, Error, Follower, Kinds, Ledger, Limits, Policy, Position, Scope,
};
use serde_json::json;

/// Small enough that a test comes to it.
fn limits() -> Limits {
    Limits { compact_bytes: 4000, compact_entries: 100, ..Limits::default() }
}

fn open(path: &Path) -> Ledger {
    Ledger::open_with(path, limits()).unwrap().0
}

fn device(name: &str, rate: usize) -> Policy {
    Policy::from_value(json!({"device": {"name": name, "rate": rate}})).unwrap()
}

fn all(ledger: &Ledger) -> Vec<Arc<Policy>> {
    ledger.select(&Kinds::All, &Condition::True)
}

fn log_bytes(path: &Path) -> u64 {
    std::fs::metadata(path.join("ledger.log")).unwrap().len()
}

/// A master with some policies, one of which is written anew so many times, and one taken out.
fn rewritten(path: &Path, times: usize) -> Ledger {
    let ledger = open(path);
    ledger.found().unwrap();
    let first = ledger.insert(device("first", 0), Scope::Global).unwrap();
    let gone = ledger.insert(device("gone", 0), Scope::Global).unwrap();
    ledger.insert(device("local", 0), Scope::Local).unwrap();
    ledger.remove(&[gone.id().unwrap().to_owned()]).unwrap();
    ledger.adopt(device("adopted", 0), Some("another node")).unwrap();
    for rate in 1..=times {
        ledger.update(first.id().unwrap(), device("first", rate)).unwrap();
    }
    ledger
}

#[test]
fn a_policy_that_is_rewritten_does_not_fill_the_disk() {
    let folder = scratch::folder();
    let ledger = rewritten(folder.path(), 0);
    let id = all(&ledger)[0].id().unwrap().to_owned();
    let mut most = 0;
    for rate in 0..2000 {
        ledger.update(&id, device("first", rate)).unwrap();
        most = most.max(log_bytes(folder.path()));
    }
    assert!(most < 12_000, "{most} bytes");
    let verified = ledger.verify().unwrap();
    assert!(verified.entries > 2000, "the history goes on counting: {}", verified.entries);
    let (policies, end) = (all(&ledger), ledger.end());
    drop(ledger);
    let (ledger, recovery) = Ledger::open_with(folder.path(), limits()).unwrap();
    assert_eq!((all(&ledger), ledger.end()), (policies, end));
    assert_eq!((recovery.entries, recovery.cut), (verified.entries, None));
    assert_eq!(ledger.verify().unwrap(), verified);
    ledger.insert(device("later", 1), Scope::Global).unwrap();
    ledger.verify().unwrap();
}

#[test]
fn an_old_log_that_is_too_long_is_compacted_at_the_start() {
    let folder = scratch::folder();
    let ledger = Ledger::open(folder.path()).unwrap().0;
    let id = ledger.insert(device("a", 0), Scope::Global).unwrap().id().unwrap().to_owned();
    (0..200).for_each(|rate| drop(ledger.update(&id, device("a", rate)).unwrap()));
    let end = ledger.end();
    drop(ledger);
    let before = log_bytes(folder.path());
    let ledger = open(folder.path());
    assert!(log_bytes(folder.path()) * 4 < before);
    assert_eq!(ledger.end(), end);
    ledger.verify().unwrap();
}

#[test]
fn everything_is_in_a_snapshot() {
    let (folder, other) = (scratch::folder(), scratch::folder());
    let master = rewritten(folder.path(), 3);
    let copy = open(other.path());
    follow(&copy, &master);
    copy.insert(device("waits", 1), Scope::Pending).unwrap();
    copy.insert(device("mine", 1), Scope::Local).unwrap();
    copy.accept().unwrap();
    let said = |ledger: &Ledger| {
        let waiting: Vec<_> = ledger.outbox(10).iter().map(ToString::to_string).collect();
        let state = (ledger.position(), ledger.network(), ledger.is_accepting());
        (all(ledger), ledger.end(), waiting, state)
    };
    let before = said(&copy);
    copy.compact().unwrap();
    assert_eq!(said(&copy), before);
    copy.verify().unwrap();
    drop(copy);
    let copy = open(other.path());
    assert_eq!(said(&copy), before);
}

fn follow(copy: &Ledger, master: &Ledger) {
    let mut follower = Follower::new(copy.clone());
    loop {
        let changes = master.changes_after(&follower.position(), 200).unwrap();
        if !follower.take(&changes).unwrap().behind {
            break;
        }
    }
    let globals = |ledger: &Ledger| -> Vec<String> {
        let global = Condition::equal("ledger", "global");
        let mut all: Vec<_> =
            ledger.select(&Kinds::All, &global).iter().map(ToString::to_string).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(globals(copy), globals(master));
    assert_eq!(copy.position().unwrap(), master.end());
}

#[test]
fn those_who_follow_go_on_over_a_snapshot() {
    let (folder, new, behind, with) =
        (scratch::folder(), scratch::folder(), scratch::folder(), scratch::folder());
    let master = rewritten(folder.path(), 3);
    let (behind, with) = (open(behind.path()), open(with.path()));
    follow(&behind, &master);
    let dropped = all(&master).into_iter().find(|policy| policy.name() == Some("adopted")).unwrap();
    for rate in 0..50 {
        master.insert(device(&format!("d{rate}"), rate), Scope::Global).unwrap();
        follow(&with, &master);
    }
    master.remove(&[dropped.id().unwrap().to_owned()]).unwrap();
    follow(&with, &master);
    master.compact().unwrap();
    // In step: nothing is read again.
    let changes = master.changes_after(&with.position().unwrap(), 200).unwrap();
    assert!(matches!(changes, Changes::Page(page) if page.lines.is_empty()));
    master.insert(device("after", 1), Scope::Global).unwrap();
    follow(&with, &master);
    // Behind, and new: from the snapshot. What was taken out meanwhile is no loss.
    let changes = master.changes_after(&behind.position().unwrap(), 200).unwrap();
    assert!(matches!(changes, Changes::Unfit { compacted: true, .. }), "{changes:?}");
    follow(&behind, &master);
    follow(&open(new.path()), &master);
    let begin = master.changes_after(&Position::start(), 1).unwrap();
    assert!(matches!(begin, Changes::Page(page) if page.lines.lines().count() == 1));
}

#[test]
fn a_page_is_of_one_log_also_while_that_is_compacted() {
    let folder = scratch::folder();
    let master = rewritten(folder.path(), 0);
    let id = all(&master)[0].id().unwrap().to_owned();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            (0..1500).for_each(|rate| drop(master.update(&id, device("first", rate)).unwrap()));
        });
        while !writer.is_finished() {
            let other = scratch::folder();
            let copy = open(other.path());
            let mut follower = Follower::new(copy);
            for _ in 0..20 {
                let changes = master.changes_after(&follower.position(), 500).unwrap();
                follower.take(&changes).unwrap();
            }
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_crash_while_compacting_leaves_the_log_of_before() {
    let folder = scratch::folder();
    let ledger = rewritten(folder.path(), 5);
    let before = (all(&ledger), ledger.end());
    drop(ledger);
    let log = folder.path().join("ledger.log");
    let whole = std::fs::read(&log).unwrap();
    let copy = scratch::folder();
    std::fs::write(copy.path().join("ledger.log"), &whole).unwrap();
    let compacted = open(copy.path());
    compacted.compact().unwrap();
    drop(compacted);
    let new = std::fs::read(copy.path().join("ledger.log")).unwrap();
    // However much of the new log was written: it is not there until it is put in place.
    for length in [0, 1, new.len() / 2, new.len()] {
        std::fs::write(folder.path().join("ledger.new"), &new[..length]).unwrap();
        let ledger = open(folder.path());
        assert_eq!((all(&ledger), ledger.end()), before);
    }
    std::fs::rename(folder.path().join("ledger.new"), &log).unwrap();
    let ledger = open(folder.path());
    assert_eq!((all(&ledger), ledger.end()), before);
}

#[test]
fn damage_in_a_snapshot_is_never_cut_and_a_torn_end_after_one_is() {
    let folder = scratch::folder();
    let ledger = rewritten(folder.path(), 5);
    ledger.compact().unwrap();
    let snapshot = log_bytes(folder.path());
    ledger.insert(device("after", 1), Scope::Global).unwrap();
    let before = all(&ledger);
    drop(ledger);
    let log = folder.path().join("ledger.log");
    let whole = std::fs::read(&log).unwrap();
    let snapshot = usize::try_from(snapshot).unwrap();
    for at in [0, 70, snapshot / 2, snapshot - 2] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        std::fs::write(&log, &damaged).unwrap();
        let opened = Ledger::open_with(folder.path(), limits());
        assert!(matches!(opened, Err(Error::Corrupt { .. })), "at {at}");
        assert_eq!(std::fs::read(&log).unwrap(), damaged, "nothing is changed");
        assert!(edgemere_ledger::repair(folder.path()).is_err());
        assert_eq!(std::fs::read(&log).unwrap(), damaged, "nothing is changed");
    }
    for length in [snapshot / 3, snapshot - 1] {
        std::fs::write(&log, &whole[..length]).unwrap();
        let opened = Ledger::open_with(folder.path(), limits());
        assert!(matches!(opened, Err(Error::Corrupt { .. })), "{length} bytes");
    }
    for length in snapshot..whole.len() {
        std::fs::write(&log, &whole[..length]).unwrap();
        let (ledger, recovery) = Ledger::open_with(folder.path(), limits()).unwrap();
        assert_eq!(all(&ledger).len(), before.len() - 1);
        assert_eq!(recovery.cut.is_some(), length > snapshot);
    }
}
