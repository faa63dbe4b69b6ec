//! What the types of policies require, and what the ledger adds to a policy before it takes it.
//!
//! The rules see the policies that live, and those of the same batch that come before, through
//! `Seen`.

use std::collections::HashSet;
use std::sync::Arc;

use md5::{Digest, Md5};
use serde_json::Value;

use crate::view::View;
use crate::visible;
use crate::{Condition, Error, Kinds, Policy};

/// The highest member number of an operator in its cluster; the lowest is 1.
const MEMBER_MAX: u64 = 255;

/// The rules of one type.
struct Rules {
    kind: &'static str,
    required: &'static [(&'static str, Type)],
    optional: &'static [(&'static str, Type)],
    /// Attributes whose values together no two policies of the type share.
    unique: &'static [&'static [&'static str]],
}

#[derive(Clone, Copy)]
enum Type {
    Text,
    Port,
    Member,
    Tables,
}

const RULES: [Rules; 5] = [
    Rules {
        kind: "table",
        required: &[("name", Type::Text), ("dbms", Type::Text), ("create", Type::Text)],
        optional: &[],
        // A table is the same for every company: databases are shared.
        unique: &[&["dbms", "name"]],
    },
    Rules {
        kind: "operator",
        required: &[
            ("company", Type::Text),
            ("name", Type::Text),
            ("ip", Type::Text),
            ("port", Type::Port),
        ],
        optional: &[("rest_port", Type::Port), ("cluster", Type::Text), ("member", Type::Member)],
        unique: &[&["company", "name"], &["ip", "port"]],
    },
    Rules {
        kind: "cluster",
        required: &[("name", Type::Text), ("company", Type::Text)],
        optional: &[("table", Type::Tables), ("status", Type::Text)],
        unique: &[],
    },
    Rules { kind: "master", required: NODE, optional: &[("rest_port", Type::Port)], unique: &[] },
    Rules { kind: "query", required: NODE, optional: &[("rest_port", Type::Port)], unique: &[] },
];

const NODE: &[(&str, Type)] = &[("name", Type::Text), ("ip", Type::Text), ("port", Type::Port)];

/// What a policy may not collide with, and may refer to.
pub(crate) struct Seen<'a> {
    /// The policies that live.
    pub(crate) live: &'a View,
    /// The policies of the same batch that come before.
    pub(crate) batch: &'a View,
    /// The id of the policy that is replaced, which does not count.
    pub(crate) replaced: Option<&'a str>,
}

impl Seen<'_> {
    fn select(&self, kind: &str, condition: &Condition) -> impl Iterator<Item = Arc<Policy>> {
        let kinds = Kinds::one(kind);
        [self.live, self.batch]
            .into_iter()
            .flat_map(move |view| view.select(&kinds, condition))
            .filter(|policy| self.replaced.is_none() || policy.id() != self.replaced)
    }

    fn get(&self, id: &str) -> Option<&Arc<Policy>> {
        self.live.get(id).or_else(|| self.batch.get(id))
    }
}

/// Checks a policy against the rules of its type and completes it: id, date and what the type adds.
pub(crate) fn complete(policy: &mut Policy, seen: &Seen<'_>) -> Result<(), Error> {
    let rules = RULES.iter().find(|rules| policy.kind().eq_ignore_ascii_case(rules.kind));
    for (attribute, wanted) in [("id", Type::Text), ("date", Type::Text)] {
        check_optional(policy, attribute, wanted)?;
    }
    if let Some(rules) = rules {
        check_types(policy, rules)?;
    }
    visible::check(policy)?;
    policy.prepare();
    check_id(policy, seen)?;
    let Some(rules) = rules else { return Ok(()) };
    rules.unique.iter().try_for_each(|attributes| check_unique(policy, attributes, seen))?;
    match rules.kind {
        "cluster" => add_status(policy),
        "operator" => add_member(policy, seen)?,
        _ => {}
    }
    Ok(())
}

fn check_types(policy: &Policy, rules: &Rules) -> Result<(), Error> {
    for (attribute, wanted) in rules.required {
        if policy.attribute(attribute).is_none() {
            return Err(Error::MissingAttribute {
                kind: policy.kind().to_owned(),
                attribute: (*attribute).to_owned(),
            });
        }
        check_optional(policy, attribute, *wanted)?;
    }
    rules.optional.iter().try_for_each(|(name, wanted)| check_optional(policy, name, *wanted))
}

fn check_optional(policy: &Policy, attribute: &str, wanted: Type) -> Result<(), Error> {
    match policy.attribute(attribute) {
        Some(value) if !wanted.holds(value) => Err(Error::WrongType {
            kind: policy.kind().to_owned(),
            attribute: attribute.to_owned(),
            expected: wanted.name(),
        }),
        _ => Ok(()),
    }
}

impl Type {
    fn holds(self, value: &Value) -> bool {
        let within = |max| value.as_u64().is_some_and(|number| (1..=max).contains(&number));
        match self {
            Self::Text => is_text(Some(value)),
            Self::Port => within(u64::from(u16::MAX)),
            Self::Member => within(MEMBER_MAX),
            Self::Tables => value.as_array().is_some_and(|list| {
                list.iter().all(|table| is_text(table.get("dbms")) && is_text(table.get("name")))
            }),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Text => "a text that is not empty",
            Self::Port => "a whole number from 1 to 65535",
            Self::Member => "a whole number from 1 to 255",
            Self::Tables => "a list of objects with the texts \"dbms\" and \"name\"",
        }
    }
}

fn is_text(value: Option<&Value>) -> bool {
    value.and_then(Value::as_str).is_some_and(|text| !text.is_empty())
}

fn check_id(policy: &Policy, seen: &Seen<'_>) -> Result<(), Error> {
    match policy.id() {
        Some(id) if seen.replaced != Some(id) && seen.get(id).is_some() => {
            Err(Error::DuplicateId { id: id.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Lookups are loose, so what they find is compared once more: "1" and "1.0" are two names.
fn check_unique(policy: &Policy, attributes: &[&str], seen: &Seen<'_>) -> Result<(), Error> {
    let equal = |name: &&str| Some(Condition::equal(name, policy.attribute(name)?.clone()));
    let condition = Condition::All(attributes.iter().filter_map(equal).collect());
    let same = |other: &Arc<Policy>| {
        attributes.iter().all(|name| other.attribute(name) == policy.attribute(name))
    };
    match seen.select(policy.kind(), &condition).find(same) {
        None => Ok(()),
        Some(other) => Err(Error::NotUnique {
            kind: policy.kind().to_owned(),
            attributes: attributes.iter().map(|name| (*name).to_owned()).collect(),
            existing: other.id().unwrap_or_default().to_owned(),
        }),
    }
}

/// A cluster and the tables it lists are active unless they say otherwise.
fn add_status(policy: &mut Policy) {
    let active = || Value::String("active".to_owned());
    if let Some(Value::Array(tables)) = policy.attribute_mut("table") {
        for table in tables.iter_mut().filter_map(Value::as_object_mut) {
            table.entry("status").or_insert_with(active);
        }
    }
    if policy.attribute("status").is_none() {
        policy.set("status", active());
    }
}

fn add_member(policy: &mut Policy, seen: &Seen<'_>) -> Result<(), Error> {
    let Some(cluster) = policy.text("cluster").map(str::to_owned) else { return Ok(()) };
    let is_cluster = |other: &Arc<Policy>| other.kind().eq_ignore_ascii_case("cluster");
    if !seen.get(&cluster).is_some_and(is_cluster) {
        return Err(Error::MissingCluster { id: cluster });
    }
    if policy.attribute("member").is_none() {
        let used = members(&cluster, seen);
        let member = free_member(policy.id().unwrap_or_default(), &used)
            .ok_or(Error::ClusterFull { id: cluster })?;
        policy.set("member", Value::from(member));
    }
    Ok(())
}

fn members(cluster: &str, seen: &Seen<'_>) -> HashSet<u64> {
    let condition = Condition::equal("cluster", cluster);
    let member = |other: Arc<Policy>| other.attribute("member").and_then(Value::as_u64);
    seen.select("operator", &condition).filter_map(member).collect()
}

/// Takes the member number off an operator's policy that another of its cluster has: two nodes
/// that did not know of each other may have given the same.
pub(crate) fn forget_taken_member(policy: &mut Policy, seen: &Seen<'_>) {
    let Some(cluster) = policy.text("cluster").filter(|_| policy.kind() == "operator") else {
        return;
    };
    let member = policy.attribute("member").and_then(Value::as_u64);
    if member.is_some_and(|member| members(cluster, seen).contains(&member)) {
        policy.remove("member");
    }
}

/// Takes the number from the id, so that two nodes give the same, and goes on to the next free one.
fn free_member(id: &str, used: &HashSet<u64>) -> Option<u64> {
    let start = Md5::digest(id).first().copied().map_or(0, u64::from);
    (0..MEMBER_MAX)
        .map(|step| (start + step) % MEMBER_MAX + 1)
        .find(|member| !used.contains(member))
}
