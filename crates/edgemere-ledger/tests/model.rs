//! Any sequence of changes, against a plain list that is changed alike.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::panic, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

mod scratch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use edgemere_ledger::{Condition, Error, Kinds, Ledger, Policy, Scope};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

#[derive(Clone, Debug)]
enum Step {
    Insert(Value),
    InsertAll(Vec<Value>),
    Update(Index, Value),
    Remove(Vec<Index>),
    SetScope(Index, bool),
    Reopen,
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".+", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Few names, so that policies collide.
fn policy() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..8, value()).prop_map(|(name, any)| json!({"device": {"name": name, "any": any}})),
        select(vec!["a", "b", "c"])
            .prop_map(|name| json!({"table": {"name": name, "dbms": "d", "create": "c"}})),
        (select(vec!["a", "b", "c"]), 1..4).prop_map(|(name, port)| {
            json!({"operator": {"company": "c", "name": name, "ip": "::1", "port": port}})
        }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => policy().prop_map(Step::Insert),
        1 => prop::collection::vec(policy(), 0..4).prop_map(Step::InsertAll),
        2 => (any::<Index>(), policy()).prop_map(|(which, policy)| Step::Update(which, policy)),
        2 => prop::collection::vec(any::<Index>(), 0..3).prop_map(Step::Remove),
        1 => (any::<Index>(), any::<bool>()).prop_map(|(which, far)| Step::SetScope(which, far)),
        1 => Just(Step::Reopen),
    ]
}

/// Takes the step in both, the list only when the ledger did. Only some errors may come.
fn apply(ledger: &Ledger, model: &mut Vec<Arc<Policy>>, step: Step) {
    let read = |value| Policy::from_value(value).unwrap();
    let id = |model: &[Arc<Policy>], which: Index| match model {
        [] => "unknown".to_owned(),
        _ => model[which.index(model.len())].id().unwrap().to_owned(),
    };
    let result = match step {
        Step::Insert(value) => {
            ledger.insert(read(value), Scope::Local).map(|policy| model.push(policy))
        }
        Step::InsertAll(values) => ledger
            .insert_all(values.into_iter().map(read).collect(), Scope::Global)
            .map(|policies| model.extend(policies)),
        Step::Update(which, value) => {
            ledger.update(&id(model, which), read(value)).map(|policy| replace(model, policy))
        }
        Step::Remove(which) => {
            let ids: Vec<_> = which.into_iter().map(|which| id(model, which)).collect();
            ledger.remove(&ids).map(|removed| model.retain(|policy| !removed.contains(policy)))
        }
        Step::SetScope(which, far) => {
            let scope = if far { Scope::Global } else { Scope::Local };
            ledger.set_scope(&id(model, which), scope).map(|policy| replace(model, policy))
        }
        Step::Reopen => Ok(()),
    };
    match result {
        Ok(())
        | Err(
            Error::DuplicateId { .. }
            | Error::NotUnique { .. }
            | Error::NotFound { .. }
            | Error::KindMismatch { .. },
        ) => {}
        Err(error) => panic!("{error}"),
    }
}

fn replace(model: &mut [Arc<Policy>], policy: Arc<Policy>) {
    let place = model.iter().position(|other| other.id() == policy.id()).unwrap();
    model[place] = policy;
}

/// Policies are equal in any order of their attributes; their texts are not.
fn texts(policies: &[Arc<Policy>]) -> Vec<String> {
    policies.iter().map(ToString::to_string).collect()
}

fn all(ledger: &Ledger) -> Vec<Arc<Policy>> {
    ledger.select(&Kinds::All, &Condition::True)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_history_reads_back_as_it_was(steps in prop::collection::vec(step(), 0..40)) {
        let folder = scratch::folder();
        let mut ledger = Ledger::open(folder.path()).unwrap().0;
        let mut model = Vec::new();
        for step in steps.into_iter().chain([Step::Reopen]) {
            if matches!(step, Step::Reopen) {
                let (version, kinds) = (ledger.version(), ledger.kinds());
                drop(ledger);
                let (again, recovery) = Ledger::open(folder.path()).unwrap();
                prop_assert_eq!(recovery.cut, None);
                prop_assert_eq!((again.version(), again.kinds()), (version, kinds));
                ledger = again;
            }
            let version = ledger.version();
            let before = model.clone();
            apply(&ledger, &mut model, step);
            prop_assert_eq!(texts(&all(&ledger)), texts(&model));
            prop_assert!(before == model || ledger.version() != version);
        }
        let verified = ledger.verify().unwrap();
        prop_assert_eq!(verified.policies, model.len());
        for policy in model {
            prop_assert_eq!(ledger.get(policy.id().unwrap()), Some(policy));
        }
    }
}

#[test]
fn readers_see_every_change_whole_and_in_order() {
    const BATCHES: usize = 60;
    const BATCH: usize = 5;
    let folder = scratch::folder();
    let ledger = Ledger::open(folder.path()).unwrap().0;
    let done = AtomicBool::new(false);
    let reader = || {
        let mut last = 0;
        while !done.load(Ordering::SeqCst) {
            let found = ledger.select(&Kinds::one("device"), &Condition::equal("state", "on"));
            assert!(
                found.len() >= last && found.len().is_multiple_of(BATCH),
                "{} after {last}",
                found.len()
            );
            let in_order = |(index, policy): (usize, &Arc<Policy>)| {
                policy.attribute("n") == Some(&json!(index))
            };
            assert!(found.iter().enumerate().all(in_order));
            last = found.len();
        }
    };
    std::thread::scope(|scope| {
        let readers = [scope.spawn(reader), scope.spawn(reader)];
        for batch in 0..BATCHES {
            let device = |n| json!({"device": {"n": batch * BATCH + n, "state": "on"}});
            let policies = (0..BATCH).map(|n| Policy::from_value(device(n)).unwrap()).collect();
            ledger.insert_all(policies, Scope::Local).unwrap();
        }
        done.store(true, Ordering::SeqCst);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
    assert_eq!(ledger.verify().unwrap().policies, BATCHES * BATCH);
}
