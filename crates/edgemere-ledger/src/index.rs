//! The index of the view: which policies of a type have a value in an attribute, by one hash of the
//! three.
//!
//! It may name policies too many, as hashes collide and `loose::key` is wider than equality, but
//! never one too few. So it narrows a lookup, and the condition is checked on what is left.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};

use serde_json::Value;

use crate::path::Start;
use crate::{Comparison, Condition, Path, Policy, loose};

/// Where policies stand in the order of the ledger.
///
/// Most values are of one policy alone, and a number costs less than a set with one.
#[derive(Debug)]
pub(crate) enum Positions {
    None,
    One(u64),
    Many(BTreeSet<u64>),
}

static NOWHERE: Positions = Positions::None;

impl Positions {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(_) => 1,
            Self::Many(set) => set.len(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> {
        let (one, many) = match self {
            Self::None => (None, None),
            Self::One(position) => (Some(*position), None),
            Self::Many(set) => (None, Some(set)),
        };
        one.into_iter().chain(many.into_iter().flat_map(|set| set.iter().copied()))
    }

    pub(crate) fn add(&mut self, position: u64) {
        match self {
            Self::None => *self = Self::One(position),
            Self::One(only) => *self = Self::Many(BTreeSet::from([*only, position])),
            Self::Many(set) => {
                set.insert(position);
            }
        }
    }

    /// Takes a position out, and says whether none is left.
    pub(crate) fn remove(&mut self, position: u64) -> bool {
        match self {
            Self::None => true,
            Self::One(only) => *only == position,
            Self::Many(set) => {
                set.remove(&position);
                set.is_empty()
            }
        }
    }
}

/// The index over the attributes that hold one value: everything but lists and objects.
#[derive(Debug, Default)]
pub(crate) struct Index {
    hasher: RandomState,
    positions: HashMap<u64, Positions>,
}

impl Index {
    pub(crate) fn add(&mut self, kind: &str, position: u64, policy: &Policy) {
        for (attribute, value) in policy.attributes() {
            if let Some(hash) = self.hash(kind, attribute, value) {
                self.positions
                    .entry(hash)
                    .and_modify(|positions| positions.add(position))
                    .or_insert(Positions::One(position));
            }
        }
    }

    pub(crate) fn remove(&mut self, kind: &str, position: u64, policy: &Policy) {
        for (attribute, value) in policy.attributes() {
            if let Some(hash) = self.hash(kind, attribute, value)
                && self.positions.get_mut(&hash).is_some_and(|found| found.remove(position))
            {
                self.positions.remove(&hash);
            }
        }
    }

    /// The fewest positions among which are all policies of a type that fit; `None` when the index
    /// cannot tell.
    pub(crate) fn narrow(&self, kind: &str, condition: &Condition) -> Option<&Positions> {
        match condition {
            Condition::All(conditions) => conditions
                .iter()
                .filter_map(|condition| self.narrow(kind, condition))
                .min_by_key(|positions| positions.len()),
            Condition::Compare { path, comparison: Comparison::Equal, value } => {
                let hash = self.hash(kind, attribute_of(path, kind)?, value)?;
                Some(self.positions.get(&hash).unwrap_or(&NOWHERE))
            }
            _ => None,
        }
    }

    fn hash(&self, kind: &str, attribute: &str, value: &Value) -> Option<u64> {
        loose::key(value).map(|key| self.hasher.hash_one((kind, attribute, key)))
    }
}

/// The one attribute that a path names in policies of a type, when it names nothing else.
fn attribute_of<'a>(path: &'a Path, kind: &str) -> Option<&'a str> {
    match path.start(kind) {
        Start::Attributes([attribute]) => Some(attribute),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_removed_policy_leaves_nothing_behind() {
        let policy = |name| {
            let policy = json!({"device": {"name": name, "rate": 5, "on": true, "list": [1]}});
            Policy::from_value(policy).unwrap()
        };
        let mut index = Index::default();
        for (position, name) in ["a", "b", "c"].into_iter().enumerate() {
            index.add("device", position as u64, &policy(name));
        }
        assert_eq!(index.positions.len(), 5);
        let rate = Condition::equal("rate", "5.0");
        let both = Condition::All(vec![rate.clone(), Condition::equal("name", "b")]);
        assert!(index.narrow("device", &rate).unwrap().iter().eq([0, 1, 2]));
        assert!(index.narrow("device", &both).unwrap().iter().eq([1]));
        assert_eq!(index.narrow("device", &Condition::equal("name", "d")).unwrap().len(), 0);
        assert!(index.narrow("device", &Condition::equal("list", json!([1]))).is_none());
        for (position, name) in ["a", "b", "c"].into_iter().enumerate() {
            index.remove("device", position as u64, &policy(name));
        }
        assert!(index.positions.is_empty());
    }
}
