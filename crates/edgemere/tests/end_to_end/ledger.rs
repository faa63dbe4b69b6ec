//! `edgemere ledger`: a check and a repair of what a node has left.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::support::{Node, parts, run};

/// The folder of a node that has stopped, and the log of its ledger.
fn stopped_node() -> (TempDir, PathBuf) {
    let mut node = Node::start(&[]);
    node.stop("TERM");
    let folder = std::mem::replace(&mut node.folder, tempfile::tempdir().unwrap());
    let log = folder.path().join("edgemere-data/ledger/ledger.log");
    (folder, log)
}

#[test]
fn a_whole_ledger_is_found_whole_and_left_as_it_is() {
    let (folder, log) = stopped_node();
    let before = fs::read(&log).unwrap();
    let (stdout, stderr, code) = parts(&run(folder.path(), &["ledger", "verify"]));
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.starts_with("the ledger is whole: entries 5, policies 4, "), "{stdout}");
    let (stdout, _, code) = parts(&run(folder.path(), &["ledger", "repair"]));
    assert_eq!(code, 0);
    assert!(stdout.starts_with("nothing to repair"), "{stdout}");
    assert_eq!(fs::read(&log).unwrap(), before);
}

#[test]
fn damage_stops_the_node_until_it_is_repaired() {
    let (folder, log) = stopped_node();
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replacen("127.0.0.1", "127.0.0.2", 1)).unwrap();
    let free = ["node", "--http", "127.0.0.1:0", "--network", "127.0.0.1:0"];
    for args in [&free[..], &["ledger", "verify"]] {
        let (_, stderr, code) = parts(&run(folder.path(), args));
        assert_eq!(code, 70, "{stderr}");
        assert!(stderr.contains("is damaged in line"), "{stderr}");
        assert!(stderr.contains("edgemere ledger repair"), "{stderr}");
    }
    let data = folder.path().join("edgemere-data");
    let repair = ["ledger", "repair", "--data", data.to_str().unwrap()];
    let (stdout, stderr, code) = parts(&run(folder.path(), &repair));
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.starts_with("repaired: ") && stdout.contains("saved to"), "{stdout}");
    Node::start_in(folder, &[]);
}

#[test]
fn a_folder_without_a_ledger_is_not_made_one() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["verify", "repair"] {
        let (_, stderr, code) = parts(&run(folder.path(), &["ledger", command, "--data", "d"]));
        assert_eq!(code, 3, "{stderr}");
        assert!(stderr.contains("hint: "), "{stderr}");
    }
    assert!(!folder.path().join("d").exists());
}
