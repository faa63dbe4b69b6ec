//! Masters that are the wrong ones: a copy keeps what it has, says why, and takes another history only
//! when an admin accepts it; and a copy that becomes the master.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::panic, reason = "a test that cannot go on should stop")]

mod scratch;

use edgemere_ledger::{
    Condition, Error, Followed, Follower, Kinds, Ledger, Limits, Network, Policy, Scope,
};
use serde_json::json;
use tempfile::TempDir;

struct Node {
    folder: TempDir,
    ledger: Ledger,
}

fn node() -> Node {
    let folder = scratch::folder();
    let ledger = Ledger::open(folder.path()).unwrap().0;
    Node { folder, ledger }
}

fn master() -> Node {
    let master = node();
    master.ledger.found().unwrap();
    master
}

fn device(name: &str) -> Policy {
    Policy::from_value(json!({"device": {"name": name}})).unwrap()
}

fn add(ledger: &Ledger, names: &[&str]) {
    names.iter().for_each(|name| drop(ledger.insert(device(name), Scope::Global).unwrap()));
}

fn names(ledger: &Ledger) -> Vec<String> {
    let all = ledger.select(&Kinds::All, &Condition::True);
    let mut names: Vec<_> = all.iter().map(|policy| policy.name().unwrap().to_owned()).collect();
    names.sort_unstable();
    names
}

fn follow(copy: &Ledger, master: &Ledger) -> Result<Followed, Error> {
    let mut follower = Follower::new(copy.clone());
    let mut all = Followed::default();
    loop {
        let changes = master.changes_after(&follower.position(), 300).unwrap();
        let followed = follower.take(&changes)?;
        all.resynchronised |= followed.resynchronised;
        if !followed.behind {
            return Ok(all);
        }
    }
}

fn refusal(result: Result<Followed, Error>) -> String {
    let error = result.unwrap_err();
    assert!(error.hint().unwrap().contains("edgemere ledger accept"), "{error}");
    match error {
        Error::HistoryRefused { reason } => reason,
        error => panic!("{error}"),
    }
}

#[test]
fn a_network_has_one_id_which_its_copies_know() {
    let (first, second, copy) = (master(), master(), node());
    let network = first.ledger.network().unwrap();
    assert_eq!((network.id.len(), network.term), (32, 1));
    assert_ne!(second.ledger.network().unwrap().id, network.id);
    assert_eq!(first.ledger.found().unwrap(), network);
    add(&first.ledger, &["d1"]);
    follow(&copy.ledger, &first.ledger).unwrap();
    assert_eq!(copy.ledger.network(), Some(network.clone()));
    let Node { folder, ledger } = copy;
    drop(ledger);
    let again = Ledger::open(folder.path()).unwrap().0;
    assert_eq!(again.network(), Some(network));
    assert!(matches!(again.found(), Err(Error::IsCopy { .. })));
    again.verify().unwrap();
}

#[test]
fn a_master_of_before_there_were_ids_gets_one() {
    let (old, copy) = (node(), node());
    add(&old.ledger, &["d1"]);
    follow(&copy.ledger, &old.ledger).unwrap();
    assert_eq!(copy.ledger.network(), None);
    let network = old.ledger.found().unwrap();
    follow(&copy.ledger, &old.ledger).unwrap();
    assert_eq!(copy.ledger.network(), Some(network));
    assert_eq!(names(&copy.ledger), ["d1"]);
}

#[test]
fn an_empty_master_and_another_networks_take_nothing() {
    let (right, copy) = (master(), node());
    add(&right.ledger, &["d1", "d2"]);
    follow(&copy.ledger, &right.ledger).unwrap();
    let before = (names(&copy.ledger), copy.ledger.position());
    let other = master();
    add(&other.ledger, &["x1", "x2", "x3"]);
    let unnamed = node();
    for (wrong, why) in [
        (&master().ledger, "of network"),
        (&other.ledger, "of network"),
        (&unnamed.ledger, "of no network"),
    ] {
        assert!(refusal(follow(&copy.ledger, wrong)).contains(why));
        assert_eq!((names(&copy.ledger), copy.ledger.position()), before);
    }
    // The right one is there again: nothing has to be accepted.
    add(&right.ledger, &["d3"]);
    follow(&copy.ledger, &right.ledger).unwrap();
    assert_eq!(names(&copy.ledger), ["d1", "d2", "d3"]);
}

#[test]
fn an_older_history_of_the_same_network_is_refused_until_it_is_accepted() {
    let (right, copy) = (master(), node());
    add(&right.ledger, &["d1"]);
    let old = std::fs::read(right.folder.path().join("ledger.log")).unwrap();
    add(&right.ledger, &["d2"]);
    follow(&copy.ledger, &right.ledger).unwrap();
    let restored = scratch::folder();
    std::fs::write(restored.path().join("ledger.log"), old).unwrap();
    let restored = Ledger::open(restored.path()).unwrap().0;
    assert!(refusal(follow(&copy.ledger, &restored)).contains("older"));
    // Also when it has gone on by itself since.
    add(&restored, &["e1", "e2", "e3"]);
    assert!(refusal(follow(&copy.ledger, &restored)).contains("another one since"));
    assert_eq!(names(&copy.ledger), ["d1", "d2"]);
    copy.ledger.accept().unwrap();
    assert!(follow(&copy.ledger, &restored).unwrap().resynchronised);
    assert_eq!(names(&copy.ledger), ["d1", "e1", "e2", "e3"]);
    assert!(!copy.ledger.is_accepting(), "once is once");
    let saved = std::fs::read_dir(copy.folder.path()).unwrap();
    let saved = saved.filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    assert_eq!(saved.filter(|name| name.starts_with("ledger.before-")).count(), 1);
    copy.ledger.verify().unwrap();
}

#[test]
fn what_was_accepted_and_not_needed_is_accepted_no_more() {
    let (right, copy) = (master(), node());
    add(&right.ledger, &["d1"]);
    follow(&copy.ledger, &right.ledger).unwrap();
    copy.ledger.accept().unwrap();
    follow(&copy.ledger, &right.ledger).unwrap();
    assert!(!copy.ledger.is_accepting());
    refusal(follow(&copy.ledger, &master().ledger));
}

#[test]
fn a_copy_is_promoted_and_the_master_before_is_known_as_older() {
    let (first, one, two) = (master(), node(), node());
    add(&first.ledger, &["d1", "d2"]);
    let gone = first.ledger.insert(device("gone"), Scope::Global).unwrap();
    [&one, &two].iter().for_each(|copy| drop(follow(&copy.ledger, &first.ledger).unwrap()));
    first.ledger.remove(&[gone.id().unwrap().to_owned()]).unwrap();
    follow(&one.ledger, &first.ledger).unwrap();
    one.ledger.insert(device("waits"), Scope::Pending).unwrap();
    let id = first.ledger.network().unwrap().id;
    assert_eq!(one.ledger.promote().unwrap(), Network { id: id.clone(), term: 2 });
    assert_eq!((one.ledger.position(), one.ledger.waiting()), (None, 0));
    assert_eq!(one.ledger.promote().unwrap().term, 2, "once");
    assert_eq!(one.ledger.found().unwrap().term, 2);
    // The other copy finds it without a word, with what it did not know yet.
    assert!(follow(&two.ledger, &one.ledger).unwrap().resynchronised);
    assert_eq!(names(&two.ledger), ["d1", "d2", "waits"]);
    assert_eq!(two.ledger.network(), Some(Network { id, term: 2 }));
    // The master before is back: nobody follows it, and it may follow itself.
    assert!(refusal(follow(&two.ledger, &first.ledger)).contains("replaced"));
    follow(&first.ledger, &one.ledger).unwrap();
    assert_eq!(names(&first.ledger), ["d1", "d2", "waits"]);
    assert_eq!(first.ledger.network().unwrap().term, 2);
    [&first, &one, &two].iter().for_each(|node| drop(node.ledger.verify().unwrap()));
}

#[test]
fn a_promoted_copy_that_has_less_is_refused() {
    let (first, one, two) = (master(), node(), node());
    add(&first.ledger, &["d1"]);
    follow(&one.ledger, &first.ledger).unwrap();
    add(&first.ledger, &["d2"]);
    follow(&two.ledger, &first.ledger).unwrap();
    one.ledger.promote().unwrap();
    assert!(refusal(follow(&two.ledger, &one.ledger)).contains("device \"d2\""));
    assert_eq!(names(&two.ledger), ["d1", "d2"]);
    two.ledger.accept().unwrap();
    follow(&two.ledger, &one.ledger).unwrap();
    assert_eq!(names(&two.ledger), ["d1"]);
}

#[test]
fn who_had_a_network_of_his_own_loses_only_what_he_makes_again() {
    let (right, own) = (master(), master());
    let table = json!({"table": {"name": "t", "dbms": "d", "create": "x"}});
    own.ledger.insert(Policy::from_value(table).unwrap(), Scope::Global).unwrap();
    follow(&own.ledger, &right.ledger).unwrap();
    assert_eq!(own.ledger.network(), right.ledger.network());
    let other = master();
    add(&other.ledger, &["mine"]);
    assert!(refusal(follow(&other.ledger, &right.ledger)).contains("device \"mine\""));
    assert_eq!(names(&other.ledger), ["mine"]);
}

#[test]
fn a_ledger_takes_so_much_and_a_node_its_share() {
    let folder = scratch::folder();
    let limits = Limits {
        policies_max: 6,
        bytes_max: 2000,
        node_policies_max: 2,
        node_bytes_max: 600,
        ..Limits::default()
    };
    let ledger = Ledger::open_with(folder.path(), limits.clone()).unwrap().0;
    let full = |result: Result<_, Error>| match result {
        Err(error @ Error::Quota { .. }) => {
            assert!(error.hint().unwrap().contains("edgemere ledger drop"));
            error.to_string()
        }
        other => panic!("{other:?}"),
    };
    let first = ledger.adopt(device("a1"), Some("a")).unwrap();
    ledger.adopt(device("a2"), Some("a")).unwrap();
    let said = full(ledger.adopt(device("a3"), Some("a")));
    assert_eq!(said, "what node \"a\" may add to the ledger is full: the limit is 2 policies");
    let large = json!({"device": {"name": "b1", "text": "x".repeat(600)}});
    let large = Policy::from_value(large).unwrap();
    assert!(full(ledger.adopt(large.clone(), Some("b"))).contains("600 bytes"));
    ledger.adopt(device("b1"), Some("b")).unwrap();
    // What is taken out makes room, also after a start.
    ledger.remove(&[first.id().unwrap().to_owned()]).unwrap();
    drop(ledger);
    let ledger = Ledger::open_with(folder.path(), limits).unwrap().0;
    ledger.adopt(device("a3"), Some("a")).unwrap();
    full(ledger.adopt(device("a4"), Some("a")));
    add(&ledger, &["c1", "c2", "c3"]);
    assert!(full(ledger.insert(device("c4"), Scope::Local)).contains("the limit is 6 policies"));
    let one = ledger.select(&Kinds::All, &Condition::equal("name", "c1"));
    let mut grown = json!({"device": {"name": "c1", "text": "x".repeat(2000)}});
    let id = one.first().unwrap().id().unwrap();
    let update = ledger.update(id, Policy::from_value(grown.take()).unwrap());
    assert!(full(update).contains("2000 bytes"));
    ledger.update(id, device("c1")).unwrap();
    ledger.verify().unwrap();
}
