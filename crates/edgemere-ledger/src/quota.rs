//! How much a ledger takes: every node has all of it in memory, so nobody may fill it without bound.

use crate::Error;
use crate::policy::POLICY_BYTES_MAX;
use crate::view::View;

/// The limits of a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most policies.
    pub policies_max: usize,
    /// The most bytes of all policies, as JSON.
    pub bytes_max: usize,
    /// The most policies that one other node may add.
    pub node_policies_max: usize,
    /// The most bytes of those.
    pub node_bytes_max: usize,
    /// How long the history gets, in bytes, before it is compacted: at least, and in any case twice
    /// what lives.
    pub compact_bytes: u64,
    /// How many entries the history has before it is compacted.
    pub compact_entries: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            policies_max: 200_000,
            bytes_max: 128 * POLICY_BYTES_MAX,
            node_policies_max: 50_000,
            node_bytes_max: 32 * POLICY_BYTES_MAX,
            compact_bytes: 8 << 20,
            compact_entries: 50_000,
        }
    }
}

/// How much there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) policies: usize,
    pub(crate) bytes: usize,
}

impl Used {
    pub(crate) fn add(&mut self, bytes: usize) {
        self.policies += 1;
        self.bytes += bytes;
    }

    pub(crate) fn take(&mut self, bytes: usize) {
        self.policies = self.policies.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

impl Limits {
    /// Refuses policies for which there is no room. `added` is what they take beside what they
    /// replace, and `by` the node that has made them, when that is another.
    pub(crate) fn check(&self, view: &View, added: Used, by: Option<&str>) -> Result<(), Error> {
        let full = |what: String, limit: String| Err(Error::Quota { what, limit });
        let of_ledger = || "the ledger".to_owned();
        if view.len() + added.policies > self.policies_max {
            return full(of_ledger(), format!("{} policies", self.policies_max));
        }
        if view.bytes() + added.bytes > self.bytes_max {
            return full(of_ledger(), format!("{} bytes", self.bytes_max));
        }
        let Some(by) = by else { return Ok(()) };
        let used = view.used_by(by);
        let of_node = || format!("what node \"{by}\" may add to the ledger");
        if used.policies + added.policies > self.node_policies_max {
            return full(of_node(), format!("{} policies", self.node_policies_max));
        }
        if used.bytes + added.bytes > self.node_bytes_max {
            return full(of_node(), format!("{} bytes", self.node_bytes_max));
        }
        Ok(())
    }
}
