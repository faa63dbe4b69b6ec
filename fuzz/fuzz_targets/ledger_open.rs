//! Any bytes as a ledger's history, and any damage to a true one: opening it never panics, and what
//! it refuses can be repaired.

#![cfg_attr(feature = "run", no_main)]

use std::{fs, sync::LazyLock};

use edgemere_ledger::{Ledger, Policy, Scope, repair};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

/// Every line carries the hash of the line before: no fuzzer would find these by itself.
static HISTORY: LazyLock<Vec<u8>> = LazyLock::new(history);

fuzz_target!(|bytes: &[u8]| {
    open(bytes);
    open(&damaged(bytes));
});

fn open(history: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("ledger.log"), history).expect("a history");
    if Ledger::open(folder.path()).is_err() {
        repair(folder.path()).expect("repairs");
        Ledger::open(folder.path()).expect("opens once repaired");
    }
}

/// The true history with bits changed: two bytes say where, the third says which.
fn damaged(bytes: &[u8]) -> Vec<u8> {
    let mut history = HISTORY.clone();
    let (edits, tail) = bytes.as_chunks::<3>();
    for &[high, low, bits] in edits {
        let place = usize::from(u16::from_be_bytes([high, low])) % history.len();
        history[place] ^= bits;
    }
    history.extend_from_slice(tail);
    history
}

fn history() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let (ledger, _) = Ledger::open(folder.path()).expect("opens");
    for id in ["a", "b", "c"] {
        let policy = Policy::from_value(json!({"device": {"name": id, "id": id}}));
        ledger.insert(policy.expect("a policy"), Scope::Local).expect("inserts");
    }
    ledger.remove(&["b".to_owned()]).expect("removes");
    fs::read(folder.path().join("ledger.log")).expect("a history")
}

// Without libFuzzer, which has a main of its own, the target only has to compile.
#[cfg(not(feature = "run"))]
fn main() {}
