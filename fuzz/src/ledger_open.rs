//! Histories of ledgers, as a node opens them.

use std::{fs, sync::LazyLock};

use edgemere_ledger::{Ledger, Policy, Scope, repair};
use serde_json::json;

use crate::damaged;

/// Every line carries the hash of the line before: no fuzzer would find these by itself.
static HISTORY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let (ledger, _) = Ledger::open(folder.path()).expect("opens");
    for id in ["a", "b", "c"] {
        let policy = Policy::from_value(json!({"device": {"name": id, "id": id}}));
        ledger.insert(policy.expect("a policy"), Scope::Local).expect("inserts");
    }
    ledger.remove(&["b".to_owned()]).expect("removes");
    fs::read(folder.path().join("ledger.log")).expect("a history")
});

/// Opens the bytes as a history, and as damage to a true one.
pub fn run(bytes: &[u8]) {
    open(bytes);
    open(&damaged(&HISTORY, bytes));
}

/// What is refused can be repaired.
fn open(history: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("ledger.log"), history).expect("a history");
    if Ledger::open(folder.path()).is_err() {
        repair(folder.path()).expect("repairs");
        Ledger::open(folder.path()).expect("opens once repaired");
    }
}
