//! Ids against those that Python computes: `data/make.py` makes the file.

use edgemere_ledger::Policy;
use serde_json::Value;

#[test]
fn ids_are_those_of_python() {
    let mut count = 0;
    for line in include_str!("data/ids.jsonl").lines() {
        let mut vector: Value = serde_json::from_str(line).unwrap();
        let policy = Policy::from_value(vector["policy"].take()).unwrap();
        assert_eq!(policy.content_id(), vector["id"], "{policy}");
        count += 1;
    }
    assert!(count > 800, "only {count} vectors");
}
