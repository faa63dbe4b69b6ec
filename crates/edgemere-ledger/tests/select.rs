//! Lookups through the index, against a look at every policy.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod scratch;

use std::sync::Arc;

use edgemere_ledger::{Comparison, Condition, Kinds, Ledger, Path, Policy, Scope};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Values that are loosely equal to each other in all kinds of ways.
fn scalar() -> impl Strategy<Value = Value> {
    select(vec![
        json!(33148),
        json!("33148"),
        json!("33148.0"),
        json!(33148.0),
        json!("+33148"),
        json!("033148"),
        json!(0),
        json!(-0.0),
        json!("-0"),
        json!(""),
        json!("0"),
        json!(true),
        json!("true"),
        json!("True"),
        json!(false),
        json!("FALSE"),
        json!(null),
        json!("null"),
        json!("a"),
        json!("A"),
        json!("ab"),
        json!("nan"),
        json!("inf"),
        json!("1e3"),
        json!(1000),
        json!(9_007_199_254_740_993_u64),
        json!(9_007_199_254_740_992.0),
        json!("9007199254740993"),
        json!("operator"),
        json!("device"),
    ])
}

fn value() -> impl Strategy<Value = Value> {
    let list = || prop::collection::vec(scalar(), 0..3);
    prop_oneof![
        6 => scalar(),
        1 => list().prop_map(Value::from),
        1 => (name(), scalar()).prop_map(|(name, value)| json!({name: value})),
        1 => prop::collection::vec((name(), scalar()), 0..3)
            .prop_map(|list| list.into_iter().map(|(name, value)| json!({name: value})).collect()),
    ]
}

fn name() -> impl Strategy<Value = &'static str> {
    select(vec!["name", "port", "device", "gadget", "0"])
}

fn kind() -> impl Strategy<Value = &'static str> {
    select(vec!["device", "Device", "gadget", "name"])
}

fn policy() -> impl Strategy<Value = Value> {
    (kind(), prop::collection::vec((name(), value()), 0..5)).prop_map(|(kind, attributes)| {
        let attributes = attributes.into_iter().map(|(name, value)| (name.to_owned(), value));
        json!({kind: attributes.collect::<Map<_, _>>()})
    })
}

fn path() -> impl Strategy<Value = Path> {
    let key = prop_oneof![name(), Just("*"), Just("DEVICE")];
    prop::collection::vec(key.prop_map(str::to_owned), 0..4).prop_map(Path)
}

fn condition() -> impl Strategy<Value = Condition> {
    use Comparison::{
        Contains, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual, StartsWith,
    };
    let comparison = select(vec![
        Equal,
        Equal,
        Equal,
        Equal,
        NotEqual,
        Less,
        LessOrEqual,
        Greater,
        GreaterOrEqual,
        Contains,
        StartsWith,
    ]);
    let compare = (path(), comparison, value())
        .prop_map(|(path, comparison, value)| Condition::Compare { path, comparison, value });
    prop_oneof![9 => compare, 1 => Just(Condition::True)].prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 0..4).prop_map(Condition::All),
            1 => prop::collection::vec(inner, 0..4).prop_map(Condition::Any),
        ]
    })
}

fn kinds() -> impl Strategy<Value = Kinds> {
    let named = prop::collection::vec(kind().prop_map(str::to_owned), 0..3).prop_map(Kinds::Named);
    prop_oneof![Just(Kinds::All), named]
}

fn ledger(policies: Vec<Value>) -> (Ledger, tempfile::TempDir) {
    let folder = scratch::folder();
    let ledger = Ledger::open(folder.path()).unwrap().0;
    let numbered = policies.into_iter().enumerate().map(|(index, mut policy)| {
        for attributes in policy.as_object_mut().unwrap().values_mut() {
            attributes["id"] = json!(format!("id-{index}"));
        }
        Policy::from_value(policy).unwrap()
    });
    ledger.insert_all(numbered.collect(), Scope::Local).unwrap();
    (ledger, folder)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_index_finds_what_a_look_at_everything_finds(
        policies in prop::collection::vec(policy(), 0..30),
        lookups in prop::collection::vec((kinds(), condition()), 1..20),
        removed in any::<prop::sample::Index>(),
    ) {
        let count = policies.len();
        let (ledger, _folder) = ledger(policies);
        if count > 0 {
            ledger.remove(&[format!("id-{}", removed.index(count))]).unwrap();
        }
        let all = ledger.select(&Kinds::All, &Condition::True);
        for (kinds, condition) in lookups {
            let fits = |policy: &&Arc<Policy>| {
                kinds.contains(policy.kind()) && condition.matches(policy)
            };
            let expected: Vec<_> = all.iter().filter(fits).cloned().collect();
            prop_assert_eq!(ledger.select(&kinds, &condition), expected);
        }
    }
}

#[test]
fn not_equal_holds_where_the_attribute_is_absent() {
    let (ledger, _folder) = ledger(vec![
        json!({"device": {"a": 1}}),
        json!({"device": {}}),
        json!({"device": {"a": [1, 2]}}),
    ]);
    let lookup = |comparison, keys: &[&str], value| {
        let path = Path(keys.iter().map(|key| (*key).to_owned()).collect());
        let condition = Condition::Compare { path, comparison, value };
        let found = ledger.select(&Kinds::All, &condition);
        found.iter().map(|policy| policy.id().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(lookup(Comparison::NotEqual, &["a"], json!("1")), ["id-1", "id-2"]);
    assert_eq!(lookup(Comparison::Equal, &["device", "a"], json!("1.0")), ["id-0"]);
    assert_eq!(lookup(Comparison::Contains, &["a"], json!("2")), ["id-2"]);
    assert_eq!(lookup(Comparison::Equal, &["a", "1"], json!(2)), ["id-2"]);
    assert_eq!(lookup(Comparison::Equal, &[], json!("device")).len(), 3);
    assert_eq!(lookup(Comparison::Greater, &["a"], json!("")), ["id-0"]);
}
