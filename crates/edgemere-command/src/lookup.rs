//! Lookups in the ledger that several commands need.

use std::sync::Arc;

use edgemere_ledger::{Condition, Kinds, Ledger, Policy};

/// All policies of a type.
pub(crate) fn of_kind(ledger: &Ledger, kind: &str) -> Vec<Arc<Policy>> {
    ledger.select(&Kinds::one(kind), &Condition::True)
}

/// The policies of a type that have these values.
pub(crate) fn with(ledger: &Ledger, kind: &str, values: &[(&str, &str)]) -> Vec<Arc<Policy>> {
    let equals = values.iter().map(|(attribute, value)| Condition::equal(attribute, *value));
    ledger.select(&Kinds::one(kind), &Condition::All(equals.collect()))
}
