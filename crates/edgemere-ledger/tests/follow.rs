//! Copies of a master's ledger: any history of the master, with copies that ask at any moment, send
//! policies of their own, crash in between, and find the master put back to an older copy of itself.
//! In the end all have the same global policies, and nobody has lost what is its own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::panic, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

mod scratch;

use std::collections::{BTreeMap, BTreeSet};

use edgemere_ledger::{
    Changes, Condition, Error, Follower, Kinds, Ledger, Page, Policy, Position, Scope,
};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use tempfile::TempDir;

const COPIES: usize = 2;

#[derive(Clone, Debug)]
enum Step {
    Insert(Value, bool),
    Update(Index, Value),
    Remove(Index),
    SetScope(Index, bool),
    /// A copy adds a policy of its own.
    Add(usize, Value),
    /// A copy has a policy for the master.
    Send(usize, Value),
    /// What waits is sent; the answer may be lost.
    Flush(usize, bool),
    /// A copy asks for a page of so many bytes.
    Pull(usize, usize),
    Crash(usize),
    /// The master is saved, and put back to what was saved.
    Save,
    Restore,
}

/// Few names, so that policies meet.
fn policy() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..6, 0..3).prop_map(|(name, rate)| json!({"device": {"name": name, "rate": rate}})),
        (select(vec!["a", "b", "c"]), select(vec!["x", "y"])).prop_map(|(name, create)| json!(
            {"table": {"name": name, "dbms": "d", "create": create}}
        )),
        (select(vec!["a", "b", "c"]), 1..4).prop_map(|(name, port)| json!(
            {"operator": {"company": "c", "name": name, "ip": "::1", "port": port}}
        )),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let copy = || 0..COPIES;
    prop_oneof![
        6 => (policy(), prop::bool::weighted(0.8)).prop_map(|(p, far)| Step::Insert(p, far)),
        3 => (any::<Index>(), policy()).prop_map(|(which, policy)| Step::Update(which, policy)),
        3 => any::<Index>().prop_map(Step::Remove),
        2 => (any::<Index>(), any::<bool>()).prop_map(|(which, far)| Step::SetScope(which, far)),
        2 => (copy(), policy()).prop_map(|(copy, policy)| Step::Add(copy, policy)),
        3 => (copy(), policy()).prop_map(|(copy, policy)| Step::Send(copy, policy)),
        3 => (copy(), any::<bool>()).prop_map(|(copy, lost)| Step::Flush(copy, lost)),
        6 => (copy(), select(vec![1, 400, 100_000])).prop_map(|(c, bytes)| Step::Pull(c, bytes)),
        2 => copy().prop_map(Step::Crash),
        1 => Just(Step::Save),
        1 => Just(Step::Restore),
    ]
}

struct Copy {
    folder: TempDir,
    follower: Follower,
    ledger: Ledger,
    /// The ids of policies that are this copy's own.
    own: BTreeSet<String>,
}

impl Copy {
    fn open(folder: TempDir) -> Self {
        let ledger = Ledger::open(folder.path()).unwrap().0;
        Self { folder, follower: Follower::new(ledger.clone()), ledger, own: BTreeSet::new() }
    }

    fn crash(self) -> Self {
        let Self { folder, follower, ledger, own } = self;
        let before = (shown(&ledger), ledger.position(), ids(&ledger.outbox(usize::MAX)));
        drop((follower, ledger));
        let copy = Self { own, ..Self::open(folder) };
        let after =
            (shown(&copy.ledger), copy.ledger.position(), ids(&copy.ledger.outbox(usize::MAX)));
        assert_eq!(before, after);
        copy
    }

    /// Asks once; says whether the master has more.
    fn pull(&mut self, master: &Ledger, bytes: usize) -> bool {
        let changes = master.changes_after(&self.follower.position(), bytes).unwrap();
        match self.follower.take(&changes) {
            Ok(followed) => followed.behind,
            // What the master has lost is lost, and an admin has to accept that.
            Err(Error::HistoryRefused { .. }) => {
                let before = (shown(&self.ledger), self.ledger.position());
                assert!(matches!(
                    self.follower.take(&changes),
                    Err(Error::HistoryRefused { .. } | Error::BadPage { .. }) | Ok(_)
                ));
                assert_eq!((shown(&self.ledger), self.ledger.position()), before);
                self.ledger.accept().unwrap();
                true
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn flush(&mut self, master: &Ledger, is_lost: bool) {
        let sent = self.ledger.outbox(3);
        let answers: Vec<_> = sent
            .into_iter()
            .map(|policy| {
                let taken = master.adopt(Policy::clone(&policy), Some("a copy")).ok();
                (policy, taken.map(|taken| Policy::clone(&taken)))
            })
            .collect();
        if !is_lost {
            self.ledger.settle(answers, &master.end()).unwrap();
        }
    }

    fn catch_up(&mut self, master: &Ledger) {
        for _ in 0..100 {
            while self.pull(master, 1000) {}
            if self.ledger.waiting() == 0 {
                break;
            }
            self.flush(master, false);
        }
    }
}

fn read(value: Value) -> Policy {
    Policy::from_value(value).unwrap()
}

fn ids(policies: &[std::sync::Arc<Policy>]) -> Vec<String> {
    policies.iter().map(|policy| policy.id().unwrap().to_owned()).collect()
}

fn shown(ledger: &Ledger) -> BTreeMap<String, String> {
    let all = ledger.select(&Kinds::All, &Condition::True);
    all.iter().map(|policy| (policy.id().unwrap().to_owned(), policy.to_string())).collect()
}

fn global(ledger: &Ledger) -> BTreeMap<String, String> {
    let is_global = |text: &String| text.contains("\"ledger\":\"global\"");
    shown(ledger).into_iter().filter(|(_, text)| is_global(text)).collect()
}

/// Only these may keep a policy out.
fn allowed<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(done) => Some(done),
        Err(
            Error::DuplicateId { .. }
            | Error::NotUnique { .. }
            | Error::NotFound { .. }
            | Error::KindMismatch { .. },
        ) => None,
        Err(error) => panic!("{error}"),
    }
}

struct Network {
    master: Option<Ledger>,
    folder: TempDir,
    saved: Vec<u8>,
    copies: Vec<Option<Copy>>,
}

impl Network {
    fn new() -> Self {
        let folder = scratch::folder();
        let master = Some(Ledger::open(folder.path()).unwrap().0);
        let copies = (0..COPIES).map(|_| Some(Copy::open(scratch::folder()))).collect();
        Self { master, folder, saved: Vec::new(), copies }
    }

    fn take(&mut self, step: Step) {
        let master = self.master.clone().unwrap();
        let id = |which: Index| {
            let all = ids(&master.select(&Kinds::All, &Condition::True));
            if all.is_empty() { "none".to_owned() } else { all[which.index(all.len())].clone() }
        };
        let scope = |far| if far { Scope::Global } else { Scope::Local };
        match step {
            Step::Insert(value, far) => {
                allowed(master.insert(read(value), scope(far)));
            }
            Step::Update(which, value) => {
                allowed(master.update(&id(which), read(value)));
            }
            Step::Remove(which) => {
                allowed(master.remove(&[id(which)]));
            }
            Step::SetScope(which, far) => {
                allowed(master.set_scope(&id(which), scope(far)));
            }
            Step::Add(copy, value) => {
                let copy = self.copies[copy].as_mut().unwrap();
                let added = allowed(copy.ledger.insert(read(value), Scope::Local));
                copy.own.extend(added.map(|policy| policy.id().unwrap().to_owned()));
            }
            Step::Send(copy, value) => {
                let ledger = &self.copies[copy].as_ref().unwrap().ledger;
                allowed(ledger.insert(read(value), Scope::Pending));
            }
            Step::Flush(copy, is_lost) => {
                self.copies[copy].as_mut().unwrap().flush(&master, is_lost);
            }
            Step::Pull(copy, bytes) => {
                self.copies[copy].as_mut().unwrap().pull(&master, bytes);
            }
            Step::Crash(copy) => {
                self.copies[copy] = self.copies[copy].take().map(Copy::crash);
            }
            Step::Save => {
                self.saved = std::fs::read(self.folder.path().join("ledger.log")).unwrap();
            }
            Step::Restore => {
                drop(master);
                self.master = None;
                std::fs::write(self.folder.path().join("ledger.log"), &self.saved).unwrap();
                self.master = Some(Ledger::open(self.folder.path()).unwrap().0);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn copies_end_in_step_whatever_happened(steps in prop::collection::vec(step(), 0..60)) {
        let mut network = Network::new();
        for step in steps {
            network.take(step);
        }
        let master = network.master.clone().unwrap();
        // The first round brings the policies of all to the master, the second to all.
        for _ in 0..2 {
            network.copies.iter_mut().flatten().for_each(|copy| copy.catch_up(&master));
        }
        for copy in network.copies.into_iter().flatten() {
            prop_assert_eq!(global(&copy.ledger), global(&master));
            prop_assert_eq!(copy.ledger.waiting(), 0);
            let at = copy.ledger.position().unwrap_or_else(Position::start);
            prop_assert_eq!(at, master.end());
            let here = shown(&copy.ledger);
            // An own policy that became everyone's may have been taken away by the master since.
            let lost: Vec<_> = copy.own.iter().filter(|id| !here.contains_key(*id)).collect();
            let was_global = |id: &&&String| history(&copy).contains(&format!("\"id\":\"{id}\",\"date\""));
            prop_assert!(lost.iter().all(|id| was_global(&id)), "lost {:?}", lost);
            copy.ledger.verify().unwrap();
        }
    }
}

/// The entries of a copy that came from its master.
fn history(copy: &Copy) -> String {
    let log = std::fs::read_to_string(copy.folder.path().join("ledger.log")).unwrap();
    log.lines().filter(|line| line.contains("\"op\":\"follow\"")).collect()
}

fn device(name: &str) -> Policy {
    read(json!({"device": {"name": name}}))
}

#[test]
fn a_page_that_was_tampered_with_changes_nothing() {
    let folders = [scratch::folder(), scratch::folder()];
    let master = Ledger::open(folders[0].path()).unwrap().0;
    let copy = Ledger::open(folders[1].path()).unwrap().0;
    master.insert(device("a"), Scope::Global).unwrap();
    master.insert(device("b"), Scope::Global).unwrap();
    let Changes::Page(page) = master.changes_after(&Position::start(), 10_000).unwrap() else {
        panic!("it does not fit")
    };
    let mut follower = Follower::new(copy.clone());
    let second = page.lines.split_inclusive('\n').nth(1).unwrap().to_owned();
    let cut = page.lines[..page.lines.len() - 5].to_owned();
    for lines in [page.lines.replace("\"b\"", "\"c\""), second, cut, "hello\n".to_owned()] {
        let bad = Changes::Page(Page { lines, entries: 2, network: None });
        assert!(matches!(follower.take(&bad), Err(Error::BadPage { .. })));
        assert!(copy.is_empty() && copy.position().is_none());
    }
    let more = Changes::Page(Page { entries: 1, ..page.clone() });
    assert!(matches!(follower.take(&more), Err(Error::BadPage { .. })));
    let followed = follower.take(&Changes::Page(page)).unwrap();
    assert!(followed.kinds.contains("device") && !followed.behind);
    assert_eq!(shown(&copy), shown(&master));
}

#[test]
fn pages_are_bounded_and_have_at_least_one_entry() {
    let folder = scratch::folder();
    let master = Ledger::open(folder.path()).unwrap().0;
    let names: Vec<_> = (0..50).map(|n| format!("device-{n}")).collect();
    names.iter().for_each(|name| drop(master.insert(device(name), Scope::Global).unwrap()));
    for bytes in [1, 700, 1_000_000] {
        let other = scratch::folder();
        let copy = Ledger::open(other.path()).unwrap().0;
        let mut follower = Follower::new(copy.clone());
        loop {
            let changes = master.changes_after(&follower.position(), bytes).unwrap();
            let Changes::Page(page) = &changes else { panic!("it does not fit") };
            let lines = page.lines.lines().count();
            assert!(page.lines.len() <= bytes || lines == 1, "{lines} lines");
            if !follower.take(&changes).unwrap().behind {
                break;
            }
        }
        assert_eq!(shown(&copy), shown(&master));
        assert_eq!(copy.position().unwrap(), master.end());
    }
}

#[test]
fn a_former_master_becomes_a_copy_and_keeps_what_is_its_own() {
    let folders = [scratch::folder(), scratch::folder()];
    let master = Ledger::open(folders[0].path()).unwrap().0;
    let former = Ledger::open(folders[1].path()).unwrap().0;
    master.insert(device("a"), Scope::Global).unwrap();
    former.insert(device("b"), Scope::Global).unwrap();
    former.insert(device("mine"), Scope::Local).unwrap();
    former.insert(device("sent"), Scope::Pending).unwrap();
    let mut follower = Follower::new(former.clone());
    let changes = master.changes_after(&follower.position(), 1000).unwrap();
    // It has a policy that the master does not have.
    assert!(matches!(follower.take(&changes), Err(Error::HistoryRefused { .. })));
    former.accept().unwrap();
    assert!(follower.take(&changes).unwrap().resynchronised);
    let names = |ledger: &Ledger| -> Vec<String> {
        let all = ledger.select(&Kinds::All, &Condition::True);
        all.iter().map(|policy| policy.name().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&former), ["mine", "sent", "a"]);
    assert_eq!(former.waiting(), 1);
}

#[test]
fn what_two_nodes_send_is_taken_once_and_numbers_do_not_meet() {
    let folder = scratch::folder();
    let master = Ledger::open(folder.path()).unwrap().0;
    let cluster = read(json!({"cluster": {"company": "c", "name": "k"}}));
    let cluster = master.adopt(cluster, None).unwrap();
    let operator = |name: &str, port: u16| {
        read(json!({"operator": {"company": "c", "name": name, "ip": "::1", "port": port,
            "cluster": cluster.id().unwrap(), "member": 7}}))
    };
    let one = master.adopt(operator("one", 1), None).unwrap();
    let end = master.end();
    assert_eq!(master.adopt(operator("one", 1), None).unwrap(), one);
    assert_eq!(master.end(), end);
    let two = master.adopt(operator("two", 2), None).unwrap();
    assert_eq!(one.attribute("member"), Some(&json!(7)));
    assert_ne!(two.attribute("member"), Some(&json!(7)));
    assert!(matches!(master.adopt(operator("two", 3), None), Err(Error::NotUnique { .. })));
}

#[test]
fn every_change_is_told_to_who_watches() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let folder = scratch::folder();
    let ledger = Ledger::open(folder.path()).unwrap().0;
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    ledger.watch(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let id = ledger.insert(device("a"), Scope::Local).unwrap().id().unwrap().to_owned();
    ledger.remove(&[id]).unwrap();
    ledger.remove(&["none".to_owned()]).unwrap_err();
    assert_eq!(told.load(Ordering::SeqCst), 2);
}
