//! The view in memory: the policies in order, and the indexes that find them.
//!
//! It is what the entries of the log add up to. It knows no files, no rules and no locks.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::entry::Change;
use crate::index::{Index, Positions};
use crate::network::Network;
use crate::outbox::Outbox;
use crate::quota::Used;
use crate::snapshot::Part;
use crate::{Condition, Error, Kinds, Policy, Position, Scope};

/// The most ids that are offered for one that is not found.
const NEAR_MAX: usize = 3;

/// The most ids of policies that are gone which are kept, the latest: by them a copy knows that they
/// were taken out, and not lost.
const DROPPED_MAX: usize = 20_000;

/// The policies that live, in the order of their insertion.
#[derive(Debug, Default)]
pub(crate) struct View {
    policies: BTreeMap<u64, Arc<Policy>>,
    next: u64,
    by_id: HashMap<String, u64>,
    /// By the type's name in lower case.
    by_kind: HashMap<String, Positions>,
    index: Index,
    outbox: Outbox,
    at: Option<Position>,
    network: Option<Network>,
    accepting: bool,
    /// The ids of global policies that were taken out, the oldest first.
    dropped: Outbox,
    /// How many bytes each policy has, and all of them.
    sizes: HashMap<u64, usize>,
    bytes: usize,
    /// Which policies other nodes have made, and how much each node has.
    origins: HashMap<String, String>,
    used: HashMap<String, Used>,
}

impl View {
    pub(crate) fn len(&self) -> usize {
        self.policies.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Policy>> {
        self.policies.values()
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Arc<Policy>> {
        self.by_id.get(id).and_then(|position| self.policies.get(position))
    }

    /// How far the policy with an id reaches.
    pub(crate) fn scope(&self, id: &str) -> Option<Scope> {
        match self.outbox.contains(id) {
            true => Some(Scope::Pending),
            false => self.get(id)?.scope(),
        }
    }

    /// The policies that the master is still to get.
    pub(crate) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Where in the master's history a copy stands; `None` when it follows no master.
    pub(crate) fn at(&self) -> Option<&Position> {
        self.at.as_ref()
    }

    /// The network that this is the ledger of.
    pub(crate) fn network(&self) -> Option<&Network> {
        self.network.as_ref()
    }

    /// Whether the master's next history is taken, whatever it drops.
    pub(crate) fn is_accepting(&self) -> bool {
        self.accepting
    }

    /// The ids of global policies that were taken out, the oldest first.
    pub(crate) fn dropped(&self) -> impl Iterator<Item = &str> {
        self.dropped.iter()
    }

    /// How many bytes all policies have.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many bytes a policy has.
    pub(crate) fn size(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).and_then(|position| self.sizes.get(position)).copied()
    }

    /// The other node that has made a policy.
    pub(crate) fn origin(&self, id: &str) -> Option<&str> {
        self.origins.get(id).map(String::as_str)
    }

    /// How much a node has added.
    pub(crate) fn used_by(&self, node: &str) -> Used {
        self.used.get(node).copied().unwrap_or_default()
    }

    /// The policy with an id, or the error that says which ids are near.
    pub(crate) fn find(&self, id: &str) -> Result<&Arc<Policy>, Error> {
        self.get(id).ok_or_else(|| Error::NotFound { id: id.to_owned(), near: self.near(id) })
    }

    /// The policies of some types that fit a condition, in order.
    pub(crate) fn select(&self, kinds: &Kinds, condition: &Condition) -> Vec<Arc<Policy>> {
        let mut found = Vec::new();
        for (kind, all) in self.groups(kinds) {
            let positions = self.index.narrow(kind, condition).unwrap_or(all);
            found.extend(positions.iter().filter_map(|position| {
                let policy = self.policies.get(&position)?;
                (policy_is(policy, kind) && condition.matches(policy)).then_some((position, policy))
            }));
        }
        found.sort_unstable_by_key(|(position, _)| *position);
        found.into_iter().map(|(_, policy)| Arc::clone(policy)).collect()
    }

    /// The types with their counts, in the order of their first policies.
    pub(crate) fn kinds(&self) -> Vec<(String, usize)> {
        let mut kinds: Vec<_> = self
            .by_kind
            .values()
            .filter_map(|positions| positions.iter().next().map(|first| (first, positions.len())))
            .collect();
        kinds.sort_unstable();
        let name = |first| self.policies.get(&first).map(|policy| policy.kind().to_owned());
        kinds.into_iter().filter_map(|(first, count)| Some((name(first)?, count))).collect()
    }

    /// Applies one entry that fits: its policies have ids, and the ids it drops are here.
    pub(crate) fn apply(&mut self, change: Change) {
        match change {
            Change::Put(policies) => policies.into_iter().for_each(|policy| self.put(policy)),
            Change::Send(policies) => policies.into_iter().for_each(|policy| self.send(policy)),
            Change::Drop(ids) => ids.iter().for_each(|id| self.remove(id)),
            Change::Follow { drop, put, at, network } => {
                drop.iter().for_each(|id| self.remove(id));
                put.into_iter().for_each(|policy| self.put(policy));
                self.at = Some(at);
                self.network = network.or(self.network.take());
                self.accepting = false;
            }
            Change::Adopt { policies, by } => {
                policies.into_iter().for_each(|policy| self.adopt(policy, &by));
            }
            Change::Network(network) => self.network = Some(network),
            Change::Promote(network) => {
                self.network = Some(network);
                (self.at, self.accepting) = (None, false);
            }
            Change::Accept => self.accepting = true,
            Change::Snapshot(part) => self.restore(part),
        }
    }

    fn restore(&mut self, part: Part) {
        part.policies.into_iter().for_each(|policy| self.put(policy));
        part.origins.into_iter().for_each(|(id, by)| self.set_origin(&id, by));
        part.dropped.iter().for_each(|id| self.dropped.add(id));
        part.outbox.iter().for_each(|id| self.outbox.add(id));
        if let Some(rest) = part.rest {
            (self.at, self.network, self.accepting) = (rest.at, rest.network, rest.accepting);
        }
    }

    /// Puts a policy that another node has made.
    fn adopt(&mut self, policy: Arc<Policy>, by: &str) {
        let id = policy.id().unwrap_or_default().to_owned();
        self.put(policy);
        self.set_origin(&id, by.to_owned());
    }

    fn set_origin(&mut self, id: &str, by: String) {
        self.forget_origin(id);
        let Some(bytes) = self.size(id) else { return };
        self.used.entry(by.clone()).or_default().add(bytes);
        self.origins.insert(id.to_owned(), by);
    }

    fn forget_origin(&mut self, id: &str) {
        let Some(by) = self.origins.remove(id) else { return };
        let bytes = self.size(id).unwrap_or_default();
        if let Some(used) = self.used.get_mut(&by) {
            used.take(bytes);
            if used.policies == 0 {
                self.used.remove(&by);
            }
        }
    }

    /// Puts a policy that the master is to get.
    fn send(&mut self, policy: Arc<Policy>) {
        policy.id().iter().for_each(|id| self.outbox.add(id));
        self.place(policy);
    }

    /// Puts a policy in the place of the one with its id, or at the end. It waits for nobody.
    pub(crate) fn put(&mut self, policy: Arc<Policy>) {
        policy.id().iter().for_each(|id| self.outbox.remove(id));
        self.place(policy);
    }

    fn place(&mut self, policy: Arc<Policy>) {
        let Some(id) = policy.id() else { return };
        self.forget_origin(id);
        self.dropped.remove(id);
        let position = match self.by_id.get(id).copied() {
            Some(position) => {
                self.unlink(position);
                position
            }
            None => {
                self.by_id.insert(id.to_owned(), self.next);
                self.next += 1;
                self.next - 1
            }
        };
        self.link(position, policy);
    }

    pub(crate) fn remove(&mut self, id: &str) {
        self.outbox.remove(id);
        self.forget_origin(id);
        if self.get(id).is_some_and(|policy| policy.scope() == Some(Scope::Global)) {
            self.dropped.add(id);
            self.dropped.keep_latest(DROPPED_MAX);
        }
        if let Some(position) = self.by_id.remove(id) {
            self.unlink(position);
        }
    }

    fn link(&mut self, position: u64, policy: Arc<Policy>) {
        let kind = policy.kind().to_ascii_lowercase();
        self.index.add(&kind, position, &policy);
        self.by_kind
            .entry(kind)
            .and_modify(|positions| positions.add(position))
            .or_insert(Positions::One(position));
        let bytes = policy.bytes();
        self.bytes += bytes;
        self.sizes.insert(position, bytes);
        self.policies.insert(position, policy);
    }

    fn unlink(&mut self, position: u64) {
        let Some(policy) = self.policies.remove(&position) else { return };
        self.bytes = self.bytes.saturating_sub(self.sizes.remove(&position).unwrap_or_default());
        let kind = policy.kind().to_ascii_lowercase();
        self.index.remove(&kind, position, &policy);
        if self.by_kind.get_mut(&kind).is_some_and(|positions| positions.remove(position)) {
            self.by_kind.remove(&kind);
        }
    }

    /// The types to look at, each once, with all their positions.
    fn groups(&self, kinds: &Kinds) -> Vec<(&str, &Positions)> {
        let group = |(kind, positions): (_, _)| (String::as_str(kind), positions);
        match kinds {
            Kinds::All => self.by_kind.iter().map(group).collect(),
            Kinds::Named(names) => names
                .iter()
                .map(|name| name.to_ascii_lowercase())
                .collect::<BTreeSet<_>>()
                .iter()
                .filter_map(|name| self.by_kind.get_key_value(name).map(group))
                .collect(),
        }
    }

    /// Ids that begin with the given one or differ in a few characters.
    ///
    /// Only ids that begin or end alike are measured, so that an error stays cheap in a ledger of
    /// many policies.
    fn near(&self, id: &str) -> Vec<String> {
        const ALIKE: usize = 4;
        const DISTANCE_MAX: usize = 3;
        let (Some(begin), Some(end)) = (id.get(..ALIKE), id.get(id.len().saturating_sub(ALIKE)..))
        else {
            return Vec::new();
        };
        let mut near: Vec<_> = self
            .by_id
            .keys()
            .filter(|other| other.starts_with(begin) || other.ends_with(end))
            .map(|other| match other.starts_with(id) {
                true => (0, other),
                false => (strsim::levenshtein(other, id), other),
            })
            .filter(|(distance, _)| *distance <= DISTANCE_MAX)
            .collect();
        near.sort_unstable();
        near.into_iter().take(NEAR_MAX).map(|(_, other)| other.clone()).collect()
    }
}

/// The index may name a policy of another type, since hashes collide.
fn policy_is(policy: &Policy, kind: &str) -> bool {
    policy.kind().eq_ignore_ascii_case(kind)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn view(policies: &[Value]) -> View {
        let mut view = View::default();
        for policy in policies {
            view.put(Arc::new(Policy::from_value(policy.clone()).unwrap()));
        }
        view
    }

    fn ids(policies: &[Arc<Policy>]) -> Vec<&str> {
        policies.iter().filter_map(|policy| policy.id()).collect()
    }

    fn sample() -> View {
        view(&[
            json!({"operator": {"id": "a1a1a1", "name": "x", "port": 33148}}),
            json!({"Device": {"id": "b2b2b2", "name": "x"}}),
            json!({"operator": {"id": "c3c3c3", "name": "y", "port": "33148.0"}}),
            json!({"device": {"id": "d4d4d4", "name": "z"}}),
        ])
    }

    #[test]
    fn selects_in_order_over_types_in_any_case() {
        let view = sample();
        let all = view.select(&Kinds::All, &Condition::True);
        assert_eq!(ids(&all), ["a1a1a1", "b2b2b2", "c3c3c3", "d4d4d4"]);
        let kinds = Kinds::Named(vec!["DEVICE".into(), "device".into(), "none".into()]);
        assert_eq!(ids(&view.select(&kinds, &Condition::True)), ["b2b2b2", "d4d4d4"]);
        assert_eq!(
            ids(&view.select(&Kinds::All, &Condition::equal("name", "x"))),
            ["a1a1a1", "b2b2b2"]
        );
        let port = Condition::equal("port", "33148");
        assert_eq!(ids(&view.select(&Kinds::one("operator"), &port)), ["a1a1a1", "c3c3c3"]);
    }

    #[test]
    fn counts_types_in_order_of_appearance() {
        assert_eq!(sample().kinds(), [("operator".to_owned(), 2), ("Device".to_owned(), 2)]);
    }

    #[test]
    fn a_put_keeps_the_place_and_a_drop_leaves_nothing_behind() {
        let mut view = sample();
        let changed = json!({"operator": {"id": "a1a1a1", "name": "w"}});
        view.put(Arc::new(Policy::from_value(changed).unwrap()));
        assert_eq!(ids(&view.select(&Kinds::All, &Condition::True))[0], "a1a1a1");
        assert!(view.select(&Kinds::one("operator"), &Condition::equal("name", "x")).is_empty());
        view.apply(Change::Drop(vec!["a1a1a1".into(), "c3c3c3".into()]));
        assert_eq!(view.kinds(), [("Device".to_owned(), 2)]);
        assert!(view.get("a1a1a1").is_none());
        assert_eq!(view.len(), 2);
    }

    #[test]
    fn offers_ids_that_are_near() {
        let view = sample();
        assert_eq!(view.near("a1a1"), ["a1a1a1"]);
        assert_eq!(view.near("b3b2b2"), ["b2b2b2"]);
        assert!(view.near("zzzzzz").is_empty());
        assert!(view.near("é").is_empty());
    }
}
