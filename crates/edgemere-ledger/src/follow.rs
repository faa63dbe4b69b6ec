//! The other nodes' side of keeping in step: a copy of a master's global policies.
//!
//! 1. A page is checked: every line continues the one before, from where the copy stands.
//! 2. What its entries come to is computed, of the global policies only: a master's own are nobody
//!    else's business.
//! 3. That becomes one entry of this ledger, together with the new position: it is there whole or
//!    not at all, and a crash loses at most what is asked for again.
//!
//! When the histories do not fit, and the master may still be the right one (it was promoted, or it
//! has compacted what this copy has not read), its history is read from its beginning into memory,
//! and the difference is applied as one entry in the end; until then the old copy stays. A history of
//! another network, an older one, a forked one and one that has lost policies are refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::entry::{self, Change};
use crate::feed::{Changes, Page};
use crate::ledger::Ledger;
use crate::snapshot::Part;
use crate::view::View;
use crate::{Condition, Error, Kinds, Network, Policy, Position, Scope};

/// The types of policies that nodes make of themselves, and make again.
const OF_NODES: [&str; 5] = ["master", "operator", "query", "cluster", "table"];

/// How many of the policies that would be lost are named.
const NAMED_MAX: usize = 3;

/// Keeps a ledger in step with a master's.
#[derive(Debug)]
pub struct Follower {
    ledger: Ledger,
    rebuild: Option<Rebuild>,
    /// What was refused last, and why: it is not read again to come to the same.
    refused: Option<(Changes, String)>,
}

/// A master's history that is read from its beginning.
#[derive(Debug)]
struct Rebuild {
    at: Position,
    mirror: Net,
    /// What the master had answered to the position of the copy.
    because: Option<Changes>,
}

/// What a step changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// The types of the policies that were put or taken out.
    pub kinds: BTreeSet<String>,
    /// Whether the master has more.
    pub behind: bool,
    /// Whether the copy was compared with the whole of the master's history.
    pub resynchronised: bool,
}

impl Follower {
    /// Follows a master with this ledger. A ledger that has global policies of its own and was no
    /// copy so far is compared with the master's whole history first.
    #[must_use]
    pub fn new(ledger: Ledger) -> Self {
        let is_copy = ledger.position().is_some();
        let global = Condition::equal("ledger", Scope::Global.as_str());
        let has_own = || !ledger.select(&Kinds::All, &global).is_empty();
        let rebuild = (!is_copy && has_own()).then(Rebuild::default);
        Self { ledger, rebuild, refused: None }
    }

    /// The position after which to ask for changes.
    #[must_use]
    pub fn position(&self) -> Position {
        match &self.rebuild {
            Some(rebuild) => rebuild.at.clone(),
            None => self.ledger.position().unwrap_or_else(Position::start),
        }
    }

    /// Takes what the master has after [`Follower::position`]. What changes is durable when this
    /// returns; after an error nothing has changed. A history that is not the one of this copy, or
    /// that has lost policies, is refused until an admin accepts it ([`Ledger::accept`]).
    pub fn take(&mut self, changes: &Changes) -> Result<Followed, Error> {
        let taken = self.try_take(changes);
        match &taken {
            Err(Error::HistoryRefused { reason }) => {
                let because = self.rebuild.take().and_then(|rebuild| rebuild.because);
                self.refused = Some((because.unwrap_or_else(|| changes.clone()), reason.clone()));
                // A ledger that is no copy yet is compared anew.
                self.rebuild = Self::new(self.ledger.clone()).rebuild;
            }
            Err(_) => {}
            Ok(_) => self.refused = None,
        }
        taken
    }

    fn try_take(&mut self, changes: &Changes) -> Result<Followed, Error> {
        let (page, network) = match changes {
            Changes::Page(page) => (page, &page.network),
            Changes::Unfit { network, .. } => {
                self.check_network(network.as_ref())?;
                return self.begin_again(changes);
            }
        };
        self.check_network(network.as_ref())?;
        let start = self.position();
        let (entries, at) = read(page, &start)?;
        let behind = at.entries < page.entries;
        let Some(rebuild) = &mut self.rebuild else {
            let mut net = Net::default();
            entries.into_iter().for_each(|change| net.add(change));
            let is_same = at == start && !self.ledger.is_accepting() && self.knows(network);
            let kinds = match is_same {
                true => BTreeSet::new(),
                false => self.apply(net, at, network.clone())?,
            };
            return Ok(Followed { kinds, behind, resynchronised: false });
        };
        entries.into_iter().for_each(|change| rebuild.mirror.add(change));
        rebuild.at = at;
        if behind {
            return Ok(Followed { behind, ..Followed::default() });
        }
        self.finish(network.clone())
    }

    /// Whether the network is the one that the copy says it is of.
    fn knows(&self, network: &Option<Network>) -> bool {
        network.is_none() || *network == self.ledger.network()
    }

    /// Refuses the history of another network, and of a master that has been replaced.
    fn check_network(&self, theirs: Option<&Network>) -> Result<(), Error> {
        let is_copy = self.ledger.position().is_some();
        let Some(ours) = self.ledger.network().filter(|_| is_copy && !self.ledger.is_accepting())
        else {
            return Ok(());
        };
        match theirs {
            Some(theirs) if theirs.id == ours.id && theirs.term >= ours.term => Ok(()),
            Some(theirs) if theirs.id == ours.id => refuse(format!(
                "the master is one that was replaced: it has term {}, and the network term {}",
                theirs.term, ours.term
            )),
            Some(theirs) => refuse(format!(
                "it is the ledger of network {}, and this node is of network {}",
                theirs.id, ours.id
            )),
            None => refuse(format!("it is of no network, and this node is of network {}", ours.id)),
        }
    }

    /// Reads the whole of a history in which the copy's position is not, when that may be.
    fn begin_again(&mut self, changes: &Changes) -> Result<Followed, Error> {
        let Changes::Unfit { entries, compacted, network } = changes else {
            return Ok(Followed::default());
        };
        let is_accepting = self.ledger.is_accepting();
        if let Some((refused, reason)) = &self.refused
            && refused == changes
            && !is_accepting
        {
            return refuse(reason.clone());
        }
        let known = self.position().entries;
        let is_fork = network.is_some() && *network == self.ledger.network() && !compacted;
        if is_fork && !is_accepting && self.rebuild.is_none() {
            return refuse(format!(
                "its history of {entries} entries is not the one that this copy was made from, of \
                 {known}: it is older, or another one since"
            ));
        }
        tracing::warn!(
            known,
            entries,
            "the master's history is not the one that this copy was made from: all of it is read \
             again, and the copy stays as it is until then"
        );
        self.rebuild = Some(Rebuild { because: Some(changes.clone()), ..Rebuild::default() });
        Ok(Followed { behind: true, ..Followed::default() })
    }

    /// Makes the copy what the master's whole history comes to.
    fn finish(&mut self, network: Option<Network>) -> Result<Followed, Error> {
        let Some(Rebuild { mirror, at, because }) = &mut self.rebuild else {
            return Ok(Followed::default());
        };
        let (mut mirror, at) = (std::mem::take(mirror), at.clone());
        let because = because.clone();
        let global = Condition::equal("ledger", Scope::Global.as_str());
        let here = self.ledger.select(&Kinds::All, &global);
        let is_gone = |policy: &&Arc<Policy>| {
            let id = policy.id().unwrap_or_default();
            mirror.put.get(id).is_none()
        };
        let gone: Vec<_> = here.iter().filter(is_gone).map(Arc::clone).collect();
        let is_lost =
            |policy: &&Arc<Policy>| !mirror.dropped.contains(policy.id().unwrap_or_default());
        let lost: Vec<_> = gone.iter().filter(is_lost).map(Arc::clone).collect();
        let is_accepting = self.ledger.is_accepting();
        if !is_accepting {
            self.refuse_loss(&lost)?;
        }
        if is_accepting || !lost.is_empty() {
            let entries = self.ledger.end().entries;
            let saved = self.ledger.folder().keep_log(entries)?;
            tracing::warn!(saved = %saved.display(), "the ledger before is saved");
        }
        let gone = gone.iter().filter_map(|policy| policy.id().map(str::to_owned));
        mirror.dropped.extend(gone);
        // What was there under the same id before is replaced in its place.
        let Net { put, dropped } = &mut mirror;
        dropped.retain(|id| put.get(id).is_none());
        let kept = mirror.put.len();
        let entries = at.entries;
        self.rebuild = Some(Rebuild { because, ..Rebuild::default() });
        let kinds = self.apply(mirror, at, network)?;
        self.rebuild = None;
        tracing::info!(entries, policies = kept, "the copy is the master's ledger again");
        Ok(Followed { kinds, behind: false, resynchronised: true })
    }

    /// Refuses a history that has lost policies of this copy. A node that was no copy so far makes
    /// the policies of itself again, so only what others have made counts there.
    fn refuse_loss(&self, lost: &[Arc<Policy>]) -> Result<(), Error> {
        let is_copy = self.ledger.position().is_some();
        let counts = |policy: &&Arc<Policy>| {
            is_copy || !OF_NODES.iter().any(|kind| policy.kind().eq_ignore_ascii_case(kind))
        };
        let lost: Vec<_> = lost.iter().filter(counts).collect();
        if lost.is_empty() {
            return Ok(());
        }
        let named = lost.iter().take(NAMED_MAX).map(|policy| {
            let name = policy.name().or(policy.id()).unwrap_or_default();
            format!("{} \"{name}\"", policy.kind())
        });
        let named: Vec<_> = named.collect();
        let more = if lost.len() > named.len() { ", …" } else { "" };
        refuse(format!(
            "it does not have {} of the policies of this node, and does not say that they were \
             taken out: {}{more}",
            lost.len(),
            named.join(", ")
        ))
    }

    /// Applies what a stretch of history comes to as one entry, and says which types it touched.
    fn apply(
        &self,
        net: Net,
        at: Position,
        network: Option<Network>,
    ) -> Result<BTreeSet<String>, Error> {
        let mut log = self.ledger.writer();
        let (drop, put, kinds) = {
            let state = self.ledger.state();
            let is_global = |id: &str| state.view.scope(id) == Some(Scope::Global);
            let mut drop = net.dropped;
            drop.retain(|id| is_global(id));
            let is_new = |policy: &&Arc<Policy>| {
                let id = policy.id().unwrap_or_default();
                let is_known = state.view.get(id) == Some(*policy) && is_global(id);
                !is_known || drop.contains(id)
            };
            let put: Vec<_> = net.put.iter().filter(is_new).map(Arc::clone).collect();
            let touched = drop.iter().filter_map(|id| state.view.get(id)).chain(&put);
            let kinds = touched.map(|policy| policy.kind().to_ascii_lowercase()).collect();
            (drop.into_iter().collect(), put, kinds)
        };
        let network = network.filter(|network| Some(network) != self.ledger.network().as_ref());
        self.ledger.commit(&mut log, Change::Follow { drop, put, at, network })?;
        Ok(kinds)
    }
}

impl Default for Rebuild {
    fn default() -> Self {
        Self { at: Position::start(), mirror: Net::default(), because: None }
    }
}

/// What entries come to, of global policies: which were taken out, and which are there since, in
/// their order. A policy that was taken out and put again is in both.
#[derive(Debug, Default)]
struct Net {
    dropped: BTreeSet<String>,
    put: View,
}

impl Net {
    fn add(&mut self, change: Change) {
        match change {
            Change::Put(policies) | Change::Send(policies) | Change::Adopt { policies, .. } => {
                policies.into_iter().for_each(|policy| self.put(policy));
            }
            Change::Snapshot(part) => {
                part.policies.into_iter().for_each(|policy| self.put(policy));
                self.dropped.extend(part.dropped);
            }
            Change::Network(_) | Change::Promote(_) | Change::Accept => {}
            Change::Drop(ids) => ids.into_iter().for_each(|id| self.drop(id)),
            Change::Follow { drop, put, .. } => {
                drop.into_iter().for_each(|id| self.drop(id));
                put.into_iter().for_each(|policy| self.put(policy));
            }
        }
    }

    /// A policy that is not global any more is gone for the others.
    fn put(&mut self, policy: Arc<Policy>) {
        match policy.scope() {
            Some(Scope::Global) => self.put.put(policy),
            _ => self.drop(policy.id().unwrap_or_default().to_owned()),
        }
    }

    fn drop(&mut self, id: String) {
        self.put.remove(&id);
        self.dropped.insert(id);
    }
}

fn refuse<T>(reason: String) -> Result<T, Error> {
    Err(Error::HistoryRefused { reason })
}

/// Reads a page that continues the history after a position: its changes, and where it ends.
fn read(page: &Page, after: &Position) -> Result<(Vec<Change>, Position), Error> {
    let mut at = after.clone();
    let mut changes = Vec::new();
    for line in page.lines.split_inclusive('\n') {
        let bad = |reason: &str| Error::BadPage { after: at.entries, reason: reason.to_owned() };
        let (hash, json) = entry::split(line.as_bytes())
            .ok_or_else(|| bad("a line is cut short or is not of the form HASH JSON"))?;
        if hash != entry::hash(&at.head, json) {
            return Err(bad("the hash does not fit the entry and the one before it"));
        }
        let (seq, change) = entry::decode(json).map_err(|reason| bad(&reason))?;
        let end = match &change {
            Change::Snapshot(part) => part.rest.as_ref().map(|rest| rest.end.clone()),
            _ => None,
        };
        if seq != at.entries + 1 {
            return Err(bad("the entry has another number"));
        }
        if has_no_id(&change) {
            return Err(bad("a policy has no id"));
        }
        changes.push(change);
        at = end.unwrap_or_else(|| Position { entries: seq, head: hash.to_owned() });
    }
    match at.entries > page.entries {
        false => Ok((changes, at)),
        true => {
            let reason = "it has more entries than it says".to_owned();
            Err(Error::BadPage { after: after.entries, reason })
        }
    }
}

fn has_no_id(change: &Change) -> bool {
    match change {
        Change::Put(policies)
        | Change::Send(policies)
        | Change::Adopt { policies, .. }
        | Change::Snapshot(Part { policies, .. })
        | Change::Follow { put: policies, .. } => {
            policies.iter().any(|policy| policy.id().is_none())
        }
        Change::Drop(_) | Change::Network(_) | Change::Promote(_) | Change::Accept => false,
    }
}
