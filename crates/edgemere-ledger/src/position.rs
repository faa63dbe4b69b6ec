//! A place in the history of a ledger: how many entries there are up to it, and the hash of the
//! last, which stands for all of them.

use serde::{Deserialize, Serialize};

use crate::entry::GENESIS;

/// A place in the history of a ledger. Two ledgers with the same position have the same history up
/// to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// How many entries there are up to it.
    pub entries: u64,
    /// The hash of the last of them.
    pub head: String,
}

/// How many digits of a hash are a version: as many as an id has.
const VERSION_LENGTH: usize = 32;

impl Position {
    /// Before the first entry.
    #[must_use]
    pub fn start() -> Self {
        Self { entries: 0, head: GENESIS.to_owned() }
    }

    /// The position as a version: 32 hex digits.
    #[must_use]
    pub fn version(&self) -> String {
        self.head.chars().take(VERSION_LENGTH).collect()
    }
}
