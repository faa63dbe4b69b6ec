//! A log that is torn, flipped, or something else altogether: what opening it gives.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

mod scratch;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use edgemere_ledger::{Condition, Error, Kinds, Ledger, Policy, Scope, repair};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A log, and what the ledger held after each of its entries; first of all nothing, after none.
struct History {
    log: Vec<u8>,
    states: Vec<Vec<Value>>,
}

static HISTORY: LazyLock<History> = LazyLock::new(History::new);

impl History {
    fn new() -> Self {
        let folder = scratch::folder();
        let (ledger, _) = Ledger::open(folder.path()).unwrap();
        let policy = |value| Policy::from_value(value).unwrap();
        let mut states = vec![state(&ledger)];
        let mut ids = Vec::new();
        for name in ["a", "bé", "c"] {
            let added =
                ledger.insert(policy(json!({"device": {"name": name}})), Scope::Local).unwrap();
            ids.push(added.id().unwrap().to_owned());
            states.push(state(&ledger));
        }
        ledger.update(&ids[0], policy(json!({"device": {"name": "d"}}))).unwrap();
        states.push(state(&ledger));
        ledger.remove(&ids[1..2]).unwrap();
        states.push(state(&ledger));
        let batch = ["e", "f"].map(|name| policy(json!({"x": {"name": name}})));
        ledger.insert_all(batch.to_vec(), Scope::Global).unwrap();
        states.push(state(&ledger));
        Self { log: fs::read(folder.path().join("ledger.log")).unwrap(), states }
    }

    /// Where each line begins, and the end.
    fn offsets(&self) -> Vec<usize> {
        let ends = self.log.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        [0].into_iter().chain(ends.map(|(index, _)| index + 1)).collect()
    }
}

fn state(ledger: &Ledger) -> Vec<Value> {
    let policies = ledger.select(&Kinds::All, &Condition::True);
    policies.iter().map(|policy| policy.to_value()).collect()
}

fn folder_with(log: &[u8]) -> TempDir {
    let folder = scratch::folder();
    fs::write(log_of(folder.path()), log).unwrap();
    folder
}

fn log_of(folder: &Path) -> PathBuf {
    folder.join("ledger.log")
}

fn files(folder: &Path) -> Vec<String> {
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| name(entry.unwrap())).collect();
    files.sort();
    files
}

/// Opens a log that was cut to a length, and checks that nothing whole was lost and nothing else
/// gained.
fn check_torn(history: &History, length: usize) {
    let folder = folder_with(&history.log[..length]);
    let offsets = history.offsets();
    let whole = offsets.iter().filter(|offset| **offset <= length).count() - 1;
    let (ledger, recovery) = Ledger::open(folder.path()).unwrap();
    assert_eq!(state(&ledger), history.states[whole], "cut to {length} bytes");
    assert_eq!(recovery.entries, whole as u64);
    assert_eq!(recovery.policies, history.states[whole].len());
    match recovery.cut {
        None => assert_eq!(length, offsets[whole]),
        Some(cut) => {
            assert_eq!((cut.line, cut.offset), (whole as u64 + 1, offsets[whole] as u64));
            assert_eq!(fs::read(&cut.saved).unwrap(), &history.log[offsets[whole]..length]);
            assert_eq!(cut.bytes as usize, length - offsets[whole]);
        }
    }
    ledger.insert(Policy::from_value(json!({"y": {}})).unwrap(), Scope::Local).unwrap();
    ledger.verify().unwrap();
    drop(ledger);
    assert_eq!(Ledger::open(folder.path()).unwrap().1.cut, None);
}

#[test]
fn a_torn_end_is_cut_at_every_length_of_the_last_two_records() {
    let history = &*HISTORY;
    let offsets = history.offsets();
    for length in offsets[offsets.len() - 3]..=history.log.len() {
        check_torn(history, length);
    }
}

#[test]
fn a_torn_first_record_is_cut_too() {
    let history = &*HISTORY;
    for length in 0..=history.offsets()[1] {
        check_torn(history, length);
    }
}

#[test]
fn an_end_of_garbage_is_cut_and_older_cuts_are_kept() {
    let history = &*HISTORY;
    let folder = folder_with(&history.log);
    for (garbage, name) in [
        (&b"\0\0\0\0\0\0\0\0"[..], "ledger.cut-7"),
        (b"more\nlines\n\nof garbage", "ledger.cut-7-2"),
        (b"\n", "ledger.cut-7-3"),
    ] {
        fs::write(log_of(folder.path()), [history.log.as_slice(), garbage].concat()).unwrap();
        let (ledger, recovery) = Ledger::open(folder.path()).unwrap();
        assert_eq!(&state(&ledger), history.states.last().unwrap());
        let saved = recovery.cut.unwrap().saved;
        assert_eq!(saved, folder.path().join(name));
        assert_eq!(fs::read(saved).unwrap(), garbage);
    }
    let expected =
        ["ledger.cut-7", "ledger.cut-7-2", "ledger.cut-7-3", "ledger.lock", "ledger.log"];
    assert_eq!(files(folder.path()), expected);
}

#[test]
fn damage_in_the_middle_is_an_error_until_it_is_repaired() {
    let history = &*HISTORY;
    let offsets = history.offsets();
    // In the hash and in the JSON of each line but the last; the hash makes the line after it unfit
    // as well.
    for line in 0..offsets.len() - 2 {
        for place in [offsets[line] + 3, offsets[line] + 70] {
            let mut log = history.log.clone();
            log[place] ^= 1;
            let folder = folder_with(&log);
            let error = Ledger::open(folder.path()).unwrap_err();
            let hint = error.hint().unwrap();
            assert!(hint.contains(&format!("the {line} entr")), "{hint}");
            match error {
                Error::Corrupt { line: found, offset, .. } => {
                    assert_eq!((found, offset), (line as u64 + 1, offsets[line] as u64));
                }
                error => panic!("{error}"),
            }
            assert_eq!(fs::read(log_of(folder.path())).unwrap(), log);
            assert_eq!(files(folder.path()), ["ledger.lock", "ledger.log"]);

            let cut = repair(folder.path()).unwrap().cut.unwrap();
            assert_eq!(fs::read(cut.saved).unwrap(), &log[offsets[line]..]);
            let (ledger, recovery) = Ledger::open(folder.path()).unwrap();
            assert_eq!((recovery.cut, state(&ledger)), (None, history.states[line].clone()));
            ledger.verify().unwrap();
        }
    }
}

#[test]
fn a_file_of_something_else_is_not_emptied() {
    for garbage in [&b"hello\n"[..], b"hello", b"\0\0\0\0", b"\n", &[0xFF; 500]] {
        let folder = folder_with(garbage);
        assert!(matches!(Ledger::open(folder.path()), Err(Error::Corrupt { line: 1, .. })));
        assert_eq!(fs::read(log_of(folder.path())).unwrap(), garbage);
        assert_eq!(repair(folder.path()).unwrap().entries, 0);
        assert_eq!(fs::read(folder.path().join("ledger.cut-1")).unwrap(), garbage);
        assert!(Ledger::open(folder.path()).unwrap().0.is_empty());
    }
}

#[test]
fn a_repair_of_a_sound_ledger_changes_nothing() {
    let history = &*HISTORY;
    let folder = folder_with(&history.log);
    let recovery = repair(folder.path()).unwrap();
    assert_eq!((recovery.entries, recovery.cut), (6, None));
    assert_eq!(fs::read(log_of(folder.path())).unwrap(), history.log);
    let nowhere = folder.path().join("nowhere");
    assert!(matches!(repair(&nowhere), Err(Error::Io { .. })));
}

#[test]
fn a_check_finds_what_was_changed_on_disk_since() {
    let history = &*HISTORY;
    let folder = folder_with(&history.log);
    let (ledger, _) = Ledger::open(folder.path()).unwrap();
    ledger.verify().unwrap();
    let mut flipped = history.log.clone();
    flipped[100] ^= 1;
    fs::write(log_of(folder.path()), flipped).unwrap();
    assert!(matches!(ledger.verify(), Err(Error::Corrupt { line: 1, .. })));
    let shorter = &history.log[..history.offsets()[5]];
    fs::write(log_of(folder.path()), shorter).unwrap();
    assert!(matches!(ledger.verify(), Err(Error::Diverged { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn flipped_bits_give_a_prefix_or_an_error(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8_u32), 1..4),
    ) {
        let history = &*HISTORY;
        let mut log = history.log.clone();
        for (place, bit) in flips {
            let place = place.index(log.len());
            log[place] ^= 1 << bit;
        }
        let folder = folder_with(&log);
        match Ledger::open(folder.path()) {
            Ok((ledger, recovery)) => {
                prop_assert_eq!(state(&ledger), history.states[recovery.entries as usize].clone());
                ledger.verify().unwrap();
            }
            Err(Error::Corrupt { .. }) => {
                prop_assert_eq!(fs::read(log_of(folder.path())).unwrap(), log);
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn any_bytes_are_survived(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        keep in any::<prop::sample::Index>(),
    ) {
        let history = &*HISTORY;
        let offsets = history.offsets();
        let whole = keep.index(offsets.len());
        let folder = folder_with(&[&history.log[..offsets[whole]], &bytes].concat());
        match Ledger::open(folder.path()) {
            Ok((ledger, _)) => prop_assert_eq!(state(&ledger), history.states[whole].clone()),
            Err(Error::Corrupt { .. }) => prop_assert_eq!(whole, 0),
            Err(error) => panic!("{error}"),
        }
    }
}
