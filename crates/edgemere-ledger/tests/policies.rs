//! What the ledger takes, what it refuses and why, and what it adds.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod scratch;

use std::sync::Arc;

use edgemere_ledger::{
    Condition, DEPTH_MAX, Error, Kinds, Ledger, POLICY_BYTES_MAX, Policy, Scope,
};
use serde_json::{Value, json};
use tempfile::TempDir;

fn ledger() -> (Ledger, TempDir) {
    let folder = scratch::folder();
    let (ledger, _) = Ledger::open(folder.path()).unwrap();
    (ledger, folder)
}

fn policy(value: Value) -> Policy {
    Policy::from_value(value).unwrap()
}

fn insert(ledger: &Ledger, value: Value) -> Result<Arc<Policy>, Error> {
    ledger.insert(policy(value), Scope::Global)
}

fn keys(policy: &Policy) -> Vec<&str> {
    policy.attributes().keys().map(String::as_str).collect()
}

fn operator(name: &str, port: u16) -> Value {
    json!({"operator": {"company": "c", "name": name, "ip": "127.0.0.1", "port": port}})
}

#[test]
fn a_policy_has_one_root_key_that_holds_an_object() {
    for value in [
        json!(1),
        json!([]),
        json!({}),
        json!({"a": {}, "b": {}}),
        json!({"a": 1}),
        json!({"": {}}),
    ] {
        let error = Policy::from_value(value).unwrap_err();
        assert!(matches!(error, Error::Root { .. }), "{error}");
    }
    let error = Policy::from_value(json!({"a": {"b": [{"": 1}]}})).unwrap_err();
    assert!(matches!(error, Error::EmptyName { .. }), "{error}");
}

#[test]
fn depth_and_size_have_limits() {
    let nested = |depth| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    policy(json!({"a": {"b": nested(DEPTH_MAX - 2)}}));
    let deep = Policy::from_value(json!({"a": {"b": nested(DEPTH_MAX - 1)}})).unwrap_err();
    assert!(matches!(deep, Error::TooLarge { .. }), "{deep}");
    let (ledger, _folder) = ledger();
    let large = insert(&ledger, json!({"a": {"b": "x".repeat(POLICY_BYTES_MAX)}})).unwrap_err();
    assert!(matches!(large, Error::TooLarge { .. }), "{large}");
    insert(&ledger, json!({"a": {"b": "x".repeat(POLICY_BYTES_MAX - 1000)}})).unwrap();
    ledger.verify().unwrap();
}

#[test]
fn adds_id_date_and_ledger_at_the_end() {
    let (ledger, _folder) = ledger();
    let added = insert(&ledger, json!({"device": {"ledger": "x", "name": "dev-4"}})).unwrap();
    assert_eq!(keys(&added), ["name", "id", "date", "ledger"]);
    assert_eq!(added.id(), Some("c33ebea69bb20e2adcc181eb80a52bfd"));
    assert_eq!(added.scope(), Some(Scope::Global));
    let date = added.date().unwrap();
    assert!(date.len() == 27 && date.as_bytes()[10] == b'T' && date.ends_with('Z'), "{date}");
    let given = json!({"device": {"id": "me", "date": "then", "name": "x"}});
    let given = insert(&ledger, given).unwrap();
    assert_eq!(
        given.to_string(),
        r#"{"device":{"id":"me","date":"then","name":"x","ledger":"global"}}"#
    );
    assert_eq!(ledger.get("me"), Some(given));
}

#[test]
fn requires_what_the_type_requires() {
    let (ledger, _folder) = ledger();
    for (value, attribute) in [
        (json!({"table": {"dbms": "d", "create": "c"}}), "name"),
        (json!({"Table": {"name": "n", "create": "c"}}), "dbms"),
        (json!({"table": {"name": "n", "dbms": "d"}}), "create"),
        (json!({"operator": {"name": "n", "ip": "i", "port": 1}}), "company"),
        (json!({"operator": {"company": "c", "name": "n", "ip": "i"}}), "port"),
        (json!({"cluster": {"name": "n"}}), "company"),
        (json!({"master": {"name": "n", "port": 1}}), "ip"),
        (json!({"query": {"name": "n", "ip": "i"}}), "port"),
    ] {
        match insert(&ledger, value).unwrap_err() {
            Error::MissingAttribute { attribute: missing, .. } => assert_eq!(missing, attribute),
            error => panic!("{error}"),
        }
    }
    insert(&ledger, json!({"master": {"name": "n", "ip": "i", "port": 1}})).unwrap();
    insert(&ledger, json!({"anything": {"port": "COM1"}})).unwrap();
}

#[test]
fn refuses_values_of_the_wrong_type() {
    let (ledger, _folder) = ledger();
    for (value, attribute) in [
        (json!({"table": {"name": 1, "dbms": "d", "create": "c"}}), "name"),
        (json!({"table": {"name": "", "dbms": "d", "create": "c"}}), "name"),
        (json!({"query": {"name": "n", "ip": "i", "port": 0}}), "port"),
        (json!({"query": {"name": "n", "ip": "i", "port": 65536}}), "port"),
        (json!({"query": {"name": "n", "ip": "i", "port": "1"}}), "port"),
        (json!({"query": {"name": "n", "ip": "i", "port": 1, "rest_port": 1.5}}), "rest_port"),
        (json!({"cluster": {"name": "n", "company": "c", "table": {}}}), "table"),
        (json!({"cluster": {"name": "n", "company": "c", "table": [{"dbms": "d"}]}}), "table"),
        (json!({"device": {"id": 7}}), "id"),
        (json!({"device": {"date": null}}), "date"),
    ] {
        match insert(&ledger, value).unwrap_err() {
            Error::WrongType { attribute: wrong, .. } => assert_eq!(wrong, attribute),
            error => panic!("{error}"),
        }
    }
    assert!(ledger.is_empty());
}

#[test]
fn a_table_is_one_per_database_and_name() {
    let (ledger, _folder) = ledger();
    let table =
        |by: &str| json!({"table": {"company": by, "name": "t", "dbms": "d", "create": "c"}});
    let first = insert(&ledger, table("a")).unwrap();
    assert!(matches!(insert(&ledger, table("a")), Err(Error::DuplicateId { .. })));
    let error = insert(&ledger, table("b")).unwrap_err();
    assert!(
        matches!(&error, Error::NotUnique { attributes, existing, .. }
            if attributes == &["dbms", "name"] && Some(existing.as_str()) == first.id()),
        "{error}"
    );
    insert(&ledger, json!({"table": {"name": "1", "dbms": "d", "create": "c"}})).unwrap();
    insert(&ledger, json!({"table": {"name": "1.0", "dbms": "d", "create": "c"}})).unwrap();
}

#[test]
fn an_operator_has_a_name_and_an_address_of_its_own() {
    let (ledger, _folder) = ledger();
    insert(&ledger, operator("a", 1)).unwrap();
    let unique = |value| match insert(&ledger, value).unwrap_err() {
        Error::NotUnique { attributes, .. } => attributes,
        error => panic!("{error}"),
    };
    assert_eq!(unique(operator("a", 2)), ["company", "name"]);
    assert_eq!(unique(operator("b", 1)), ["ip", "port"]);
    insert(&ledger, operator("b", 2)).unwrap();
}

#[test]
fn an_operator_gets_a_member_number_in_a_cluster_that_exists() {
    let (ledger, _folder) = ledger();
    let mut first = operator("a", 1);
    first["operator"]["cluster"] = json!("nowhere");
    let error = insert(&ledger, first.clone()).unwrap_err();
    assert!(matches!(&error, Error::MissingCluster { id } if id == "nowhere"), "{error}");

    let cluster = insert(&ledger, json!({"cluster": {"name": "c1", "company": "c"}})).unwrap();
    assert_eq!(keys(&cluster), ["name", "company", "id", "date", "status", "ledger"]);
    let mut members = Vec::new();
    for port in 1..=255 {
        let mut value = operator(&format!("o{port}"), port);
        value["operator"]["cluster"] = json!(cluster.id());
        let added = insert(&ledger, value).unwrap();
        assert!(keys(&added).ends_with(&["id", "date", "member", "ledger"]));
        members.push(added.attribute("member").and_then(Value::as_u64).unwrap());
    }
    members.sort_unstable();
    assert_eq!(members, (1..=255).collect::<Vec<_>>());
    first["operator"]["cluster"] = json!(cluster.id());
    first["operator"]["port"] = json!(999);
    assert!(matches!(insert(&ledger, first), Err(Error::ClusterFull { .. })));
}

#[test]
fn a_cluster_and_its_tables_are_active() {
    let (ledger, _folder) = ledger();
    let value = json!({"cluster": {"parent": "dc8355cd35a0b0541ffc7e33c4584477", "name": "cluster1",
        "company": "New Company", "table": [{"dbms": "new_company", "name": "rand_data"}]}});
    let added = insert(&ledger, value).unwrap();
    assert_eq!(added.id(), Some("95913eac9e3a42527fb51f3c48315d27"));
    assert_eq!(added.text("status"), Some("active"));
    let table = json!([{"dbms": "new_company", "name": "rand_data", "status": "active"}]);
    assert_eq!(added.attribute("table"), Some(&table));
}

#[test]
fn an_update_keeps_id_place_scope_and_member() {
    let (ledger, _folder) = ledger();
    let cluster = insert(&ledger, json!({"cluster": {"name": "c1", "company": "c"}})).unwrap();
    let mut value = operator("a", 1);
    value["operator"]["cluster"] = json!(cluster.id());
    value["operator"]["date"] = json!("2020-01-01T00:00:00.000000Z");
    let old = ledger.insert(policy(value.clone()), Scope::Local).unwrap();
    insert(&ledger, operator("b", 2)).unwrap();
    value["operator"]["port"] = json!(3);
    let new = ledger.update(old.id().unwrap(), policy(value)).unwrap();
    assert_eq!((new.id(), new.scope()), (old.id(), Some(Scope::Local)));
    assert_eq!(new.attribute("member"), old.attribute("member"));
    assert_ne!(new.date(), old.date());
    let all = ledger.select(&Kinds::one("operator"), &Condition::True);
    assert_eq!(all.first(), Some(&new));
    assert!(ledger.select(&Kinds::All, &Condition::equal("port", 1)).is_empty());
    ledger.verify().unwrap();
}

#[test]
fn an_update_of_something_else_is_refused() {
    let (ledger, _folder) = ledger();
    let old = insert(&ledger, operator("a", 1)).unwrap();
    insert(&ledger, operator("b", 2)).unwrap();
    let id = old.id().unwrap();
    let mut other = operator("a", 1);
    other["operator"]["id"] = json!("other");
    assert!(matches!(ledger.update(id, policy(other)), Err(Error::IdMismatch { .. })));
    let device = policy(json!({"device": {}}));
    assert!(matches!(ledger.update(id, device), Err(Error::KindMismatch { .. })));
    let taken = ledger.update(id, policy(operator("b", 1)));
    assert!(matches!(taken, Err(Error::NotUnique { .. })));
    match ledger.update(&id[..8], policy(operator("a", 1))).unwrap_err() {
        Error::NotFound { near, .. } => assert_eq!(near, [id]),
        error => panic!("{error}"),
    }
    assert_eq!(ledger.get(id), Some(old));
}

#[test]
fn a_batch_is_all_or_nothing() {
    let (ledger, _folder) = ledger();
    let version = ledger.version();
    let batch = vec![policy(operator("a", 1)), policy(operator("b", 1))];
    assert!(matches!(ledger.insert_all(batch, Scope::Local), Err(Error::NotUnique { .. })));
    let twice = vec![policy(json!({"x": {}})), policy(json!({"x": {}}))];
    assert!(matches!(ledger.insert_all(twice, Scope::Local), Err(Error::DuplicateId { .. })));
    assert!(ledger.insert_all(Vec::new(), Scope::Local).unwrap().is_empty());
    assert_eq!((ledger.len(), ledger.version()), (0, version));

    let cluster = policy(json!({"cluster": {"name": "c1", "company": "c"}}));
    let mut member = operator("a", 1);
    member["operator"]["cluster"] = json!(cluster.content_id());
    let added = ledger.insert_all(vec![cluster, policy(member)], Scope::Local).unwrap();
    assert_eq!(added.len(), 2);
    let ids: Vec<_> = added.iter().map(|policy| policy.id().unwrap().to_owned()).collect();
    let unknown = [ids[0].clone(), "unknown".to_owned()];
    assert!(matches!(ledger.remove(&unknown), Err(Error::NotFound { .. })));
    assert_eq!(ledger.len(), 2);
    assert_eq!(ledger.verify().unwrap().entries, 1);
    let twice = [ids[1].clone(), ids[0].clone(), ids[1].clone()];
    let removed = ledger.remove(&twice).unwrap();
    assert_eq!(removed.len(), 2);
    assert_eq!((ledger.len(), ledger.verify().unwrap().entries), (0, 2));
}

#[test]
fn a_scope_changes_alone() {
    let (ledger, _folder) = ledger();
    let old = insert(&ledger, json!({"device": {"name": "a"}})).unwrap();
    let id = old.id().unwrap();
    let version = ledger.version();
    assert_eq!(ledger.set_scope(id, Scope::Global).unwrap(), old);
    assert_eq!(ledger.version(), version);
    let new = ledger.set_scope(id, Scope::Local).unwrap();
    assert_ne!(ledger.version(), version);
    assert_eq!((new.scope(), new.date()), (Some(Scope::Local), old.date()));
    assert!(matches!(ledger.set_scope("none", Scope::Local), Err(Error::NotFound { .. })));
}

#[test]
fn a_folder_is_open_once() {
    let (ledger, folder) = ledger();
    assert!(matches!(Ledger::open(folder.path()), Err(Error::Locked { .. })));
    assert!(matches!(edgemere_ledger::repair(folder.path()), Err(Error::Locked { .. })));
    let clone = ledger.clone();
    drop(ledger);
    assert!(matches!(Ledger::open(folder.path()), Err(Error::Locked { .. })));
    drop(clone);
    Ledger::open(folder.path()).unwrap();
}
