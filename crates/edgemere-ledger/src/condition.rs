//! Which policies a lookup asks for: their types, and a condition on their attributes.
//!
//! This file says whether one policy fits. Finding those that fit without looking at all of them is
//! for `index`.

use serde_json::Value;

use crate::{Path, Policy, loose};

/// The types of policies to look at. Names compare without regard to case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// Every type.
    All,
    /// The types with these names.
    Named(Vec<String>),
}

impl Kinds {
    /// One type.
    #[must_use]
    pub fn one(name: &str) -> Self {
        Self::Named(vec![name.to_owned()])
    }

    /// Whether a type is among them.
    #[must_use]
    pub fn contains(&self, kind: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.iter().any(|name| name.eq_ignore_ascii_case(kind)),
        }
    }
}

/// How an attribute is compared with a value.
///
/// Numbers compare as numbers when both sides are numeric, and a text that is wholly a number is;
/// everything else compares as text. `true` and `false` equal the texts of that name in any case.
/// Lists and objects equal only lists and objects with the same content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Some value at the path equals.
    Equal,
    /// No value at the path equals: true when the attribute is absent.
    NotEqual,
    /// Some value at the path is less.
    Less,
    /// Some value at the path is less or equal.
    LessOrEqual,
    /// Some value at the path is greater.
    Greater,
    /// Some value at the path is greater or equal.
    GreaterOrEqual,
    /// Some value at the path is a text with the value inside, or a list with an element that
    /// equals it.
    Contains,
    /// Some value at the path is a text that begins with the value.
    StartsWith,
}

/// A condition on a policy.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// Holds for every policy.
    True,
    /// Holds when all of these hold; so it does when there are none.
    All(Vec<Condition>),
    /// Holds when any of these holds; so it does not when there are none.
    Any(Vec<Condition>),
    /// Compares what a path leads to with a value.
    Compare {
        /// Where to look in the policy.
        path: Path,
        /// How to compare.
        comparison: Comparison,
        /// What to compare with.
        value: Value,
    },
}

impl Condition {
    /// The condition that an attribute equals a value.
    #[must_use]
    pub fn equal(attribute: &str, value: impl Into<Value>) -> Self {
        Self::Compare {
            path: Path::attribute(attribute),
            comparison: Comparison::Equal,
            value: value.into(),
        }
    }

    /// Whether the condition holds for a policy.
    #[must_use]
    pub fn matches(&self, policy: &Policy) -> bool {
        match self {
            Self::True => true,
            Self::All(conditions) => conditions.iter().all(|condition| condition.matches(policy)),
            Self::Any(conditions) => conditions.iter().any(|condition| condition.matches(policy)),
            Self::Compare { path, comparison, value } => compare(policy, path, *comparison, value),
        }
    }
}

fn compare(policy: &Policy, path: &Path, comparison: Comparison, value: &Value) -> bool {
    let any = |test: &dyn Fn(&Value) -> bool| path.any(policy, &mut |found| test(found));
    match comparison {
        Comparison::Equal => any(&|found| loose::equal(found, value)),
        Comparison::NotEqual => !any(&|found| loose::equal(found, value)),
        Comparison::Less => any(&|found| loose::order(found, value).is_some_and(|o| o.is_lt())),
        Comparison::LessOrEqual => {
            any(&|found| loose::order(found, value).is_some_and(|o| o.is_le()))
        }
        Comparison::Greater => any(&|found| loose::order(found, value).is_some_and(|o| o.is_gt())),
        Comparison::GreaterOrEqual => {
            any(&|found| loose::order(found, value).is_some_and(|o| o.is_ge()))
        }
        Comparison::Contains => any(&|found| loose::contains(found, value)),
        Comparison::StartsWith => any(&|found| loose::starts_with(found, value)),
    }
}
