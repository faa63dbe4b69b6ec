//! How far a policy reaches: the attribute `ledger`, and whether the master is still to get it.

use std::fmt;

use serde::{Serialize, Serializer};

/// Whether a policy is of this node alone or of the whole network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Known to this node alone.
    Local,
    /// Known to this node alone until the master has it. The attribute says `local` as long; that
    /// it is to be sent stands in the history.
    Pending,
    /// Shared with the network.
    Global,
}

impl Scope {
    /// The value of the attribute `ledger`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local | Self::Pending => "local",
            Self::Global => "global",
        }
    }

    /// Reads the value of the attribute `ledger`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "local" => Some(Self::Local),
            "global" => Some(Self::Global),
            _ => None,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
