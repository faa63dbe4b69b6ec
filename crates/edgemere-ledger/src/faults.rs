//! Tests of a disk that fails: what the caller gets, and what the ledger is afterwards.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use serde_json::json;

use crate::folder::Folder;
use crate::log::Medium;
use crate::recovery::scan_log;
use crate::{Condition, Error, Kinds, Ledger, Limits, Policy, Scope};

/// A file on a disk with so much room, whose syncs and truncations may be told to fail.
struct Fault {
    file: File,
    switches: Arc<Switches>,
}

#[derive(Default)]
struct Switches {
    room_bytes: AtomicUsize,
    sync_fails: AtomicBool,
    truncate_fails: AtomicBool,
}

impl Medium for Fault {
    /// Like a full disk, it takes what fits and refuses the rest.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = self.switches.room_bytes.load(Ordering::SeqCst);
        let fits = room.min(bytes.len());
        self.switches.room_bytes.store(room - fits, Ordering::SeqCst);
        self.file.append(&bytes[..fits])?;
        if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        match self.switches.sync_fails.swap(false, Ordering::SeqCst) {
            true => Err(io::Error::other("sync")),
            false => self.file.sync(),
        }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        match self.switches.truncate_fails.load(Ordering::SeqCst) {
            true => Err(io::Error::other("truncate")),
            false => self.file.truncate(length),
        }
    }
}

fn open(path: &Path) -> (Ledger, Arc<Switches>) {
    let folder = Folder::create(path).unwrap();
    let switches = Arc::new(Switches::default());
    switches.room_bytes.store(usize::MAX, Ordering::SeqCst);
    let file = folder.open_log().unwrap();
    let scan = scan_log(&folder).unwrap();
    let fault = Fault { file, switches: Arc::clone(&switches) };
    let ledger = Ledger::new(folder, Box::new(fault), scan, Limits::default()).unwrap();
    (ledger, switches)
}

fn insert(ledger: &Ledger, name: &str) -> Result<Arc<Policy>, Error> {
    ledger.insert(Policy::from_value(json!({"device": {"name": name}})).unwrap(), Scope::Local)
}

fn names(ledger: &Ledger) -> Vec<String> {
    let policies = ledger.select(&Kinds::All, &Condition::True);
    policies.iter().filter_map(|policy| policy.name()).map(str::to_owned).collect()
}

#[test]
fn a_full_disk_changes_nothing_and_is_survived() {
    let folder = tempfile::tempdir().unwrap();
    let (ledger, switches) = open(folder.path());
    insert(&ledger, "a").unwrap();
    let version = ledger.version();
    for room in [0, 1, 64, 100] {
        switches.room_bytes.store(room, Ordering::SeqCst);
        let error = insert(&ledger, "b").unwrap_err();
        assert!(matches!(&error, Error::Io { action: "write", .. }), "{error}");
        assert!(error.hint().unwrap().contains("free some disk space"));
        assert_eq!((names(&ledger), ledger.version()), (vec!["a".to_owned()], version.clone()));
        ledger.verify().unwrap();
    }
    switches.room_bytes.store(usize::MAX, Ordering::SeqCst);
    insert(&ledger, "b").unwrap();
    ledger.verify().unwrap();
    drop(ledger);
    let (ledger, recovery) = Ledger::open(folder.path()).unwrap();
    assert_eq!((names(&ledger), recovery.cut), (vec!["a".to_owned(), "b".to_owned()], None));
}

#[test]
fn a_failed_sync_ends_all_writes_until_the_next_open() {
    let folder = tempfile::tempdir().unwrap();
    let (ledger, switches) = open(folder.path());
    insert(&ledger, "a").unwrap();
    switches.sync_fails.store(true, Ordering::SeqCst);
    assert!(matches!(insert(&ledger, "b"), Err(Error::Io { action: "sync", .. })));
    // The next sync would succeed: what the system could not write it has forgotten.
    for _ in 0..3 {
        let error = insert(&ledger, "c").unwrap_err();
        assert!(matches!(error, Error::ReadOnly { .. }), "{error}");
        assert!(error.hint().unwrap().contains("restart"));
        assert!(matches!(ledger.compact(), Err(Error::ReadOnly { .. })));
    }
    assert_eq!(names(&ledger), ["a"]);
    drop(ledger);
    assert!(folder.path().join("ledger.doubt").exists());
    let (ledger, _) = Ledger::open(folder.path()).unwrap();
    assert!(!folder.path().join("ledger.doubt").exists(), "the log was written anew");
    assert_eq!(names(&ledger)[0], "a");
    insert(&ledger, "c").unwrap();
    ledger.verify().unwrap();
}

#[test]
fn a_write_that_cannot_be_undone_ends_all_writes_until_the_next_open() {
    let folder = tempfile::tempdir().unwrap();
    let (ledger, switches) = open(folder.path());
    let id = insert(&ledger, "a").unwrap().id().unwrap().to_owned();
    switches.room_bytes.store(10, Ordering::SeqCst);
    switches.truncate_fails.store(true, Ordering::SeqCst);
    assert!(matches!(insert(&ledger, "b"), Err(Error::Io { .. })));
    switches.room_bytes.store(usize::MAX, Ordering::SeqCst);
    switches.truncate_fails.store(false, Ordering::SeqCst);
    assert!(matches!(insert(&ledger, "b"), Err(Error::ReadOnly { .. })));
    assert!(matches!(ledger.remove(&[id]), Err(Error::ReadOnly { .. })));
    assert_eq!(names(&ledger), ["a"]);
    drop(ledger);
    let (ledger, recovery) = Ledger::open(folder.path()).unwrap();
    assert_eq!(recovery.cut.unwrap().bytes, 10);
    insert(&ledger, "b").unwrap();
    ledger.verify().unwrap();
}

/// A file whose syncs wait until the test lets them go.
struct Slow {
    file: File,
    begun: mpsc::Sender<()>,
    go: mpsc::Receiver<()>,
}

impl Medium for Slow {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.begun.send(()).map_err(io::Error::other)?;
        self.go.recv().map_err(io::Error::other)?;
        self.file.sync()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.truncate(length)
    }
}

#[test]
fn readers_do_not_wait_for_the_disk() {
    let path = tempfile::tempdir().unwrap();
    let folder = Folder::create(path.path()).unwrap();
    let (begun, has_begun) = mpsc::channel();
    let (let_go, go) = mpsc::channel();
    let slow = Slow { file: folder.open_log().unwrap(), begun, go };
    let scan = scan_log(&folder).unwrap();
    let ledger = Ledger::new(folder, Box::new(slow), scan, Limits::default()).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| insert(&ledger, "a").unwrap());
        has_begun.recv().unwrap();
        // The writer is inside its sync now, and stays there until it is let go below.
        assert!(names(&ledger).is_empty());
        assert_eq!(ledger.version(), "0".repeat(32));
        let_go.send(()).unwrap();
        writer.join().unwrap();
    });
    assert_eq!(names(&ledger), ["a"]);
}
