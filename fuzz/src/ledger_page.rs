//! Pages of a master's history, as a node that follows takes them.

use std::sync::LazyLock;

use edgemere_ledger::{Changes, Follower, Ledger, Policy, Position, Scope};
use serde_json::json;

use crate::damaged;

/// Every line carries the hash of the line before: no fuzzer would find these by itself.
static PAGE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let (ledger, _) = Ledger::open(folder.path()).expect("opens");
    for id in ["a", "b", "c"] {
        let policy = Policy::from_value(json!({"device": {"name": id, "id": id}}));
        ledger.insert(policy.expect("a policy"), Scope::Global).expect("inserts");
    }
    ledger.remove(&["b".to_owned()]).expect("removes");
    let changes = ledger.changes_after(&Position::start(), 1 << 20).expect("changes");
    serde_json::to_vec(&changes).expect("a page")
});

/// Takes the bytes as a page, and as damage to a true one.
pub fn run(bytes: &[u8]) {
    take(bytes);
    take(&damaged(&PAGE, bytes));
}

fn take(bytes: &[u8]) {
    let Ok(changes) = serde_json::from_slice::<Changes>(bytes) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (ledger, _) = Ledger::open(folder.path()).expect("opens");
    let mut follower = Follower::new(ledger);
    // What is refused changes nothing, and what is taken is a ledger as any other.
    let _ = follower.take(&changes);
    let _ = follower.take(&changes);
    drop(follower);
    Ledger::open(folder.path()).expect("opens again");
}
