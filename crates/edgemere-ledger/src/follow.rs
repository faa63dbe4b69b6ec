//! The other nodes' side of keeping in step: a copy of a master's global policies.
//!
//! 1. A page is checked: every line continues the one before, from where the copy stands.
//! 2. What its entries come to is computed, of the global policies only: a master's own are nobody
//!    else's business.
//! 3. That becomes one entry of this ledger, together with the new position: it is there whole or
//!    not at all, and a crash loses at most what is asked for again.
//!
//! When the histories do not fit, the master's is read from its beginning into memory, and the
//! difference is applied as one entry in the end; until then the old copy stays.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::entry::{self, Change};
use crate::feed::{Changes, Page};
use crate::ledger::Ledger;
use crate::view::View;
use crate::{Condition, Error, Kinds, Policy, Position, Scope};

/// Keeps a ledger in step with a master's.
#[derive(Debug)]
pub struct Follower {
    ledger: Ledger,
    rebuild: Option<Rebuild>,
}

/// A master's history that is read from its beginning.
#[derive(Debug)]
struct Rebuild {
    at: Position,
    mirror: Net,
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
        Self { ledger, rebuild }
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
    /// returns; after an error nothing has changed.
    pub fn take(&mut self, changes: &Changes) -> Result<Followed, Error> {
        let page = match changes {
            Changes::Page(page) => page,
            Changes::Unfit { entries } => return Ok(self.begin_again(*entries)),
        };
        let start = self.position();
        let (entries, at) = read(page, &start)?;
        let behind = at.entries < page.entries;
        let Some(rebuild) = &mut self.rebuild else {
            let mut net = Net::default();
            entries.into_iter().for_each(|change| net.add(change));
            let kinds = if at == start { BTreeSet::new() } else { self.apply(net, at)? };
            return Ok(Followed { kinds, behind, resynchronised: false });
        };
        entries.into_iter().for_each(|change| rebuild.mirror.add(change));
        rebuild.at = at;
        if behind {
            return Ok(Followed { behind, ..Followed::default() });
        }
        self.finish()
    }

    fn begin_again(&mut self, entries: u64) -> Followed {
        let known = self.position().entries;
        tracing::warn!(
            known,
            entries,
            "the master's history is not the one that this copy was made from: all of it is read \
             again, and the copy stays as it is until then"
        );
        self.rebuild = Some(Rebuild::default());
        Followed { behind: true, ..Followed::default() }
    }

    /// Makes the copy what the master's whole history comes to.
    fn finish(&mut self) -> Result<Followed, Error> {
        let Some(Rebuild { mut mirror, at }) = self.rebuild.take() else {
            return Ok(Followed::default());
        };
        let global = Condition::equal("ledger", Scope::Global.as_str());
        for policy in self.ledger.select(&Kinds::All, &global) {
            let id = policy.id().unwrap_or_default();
            if mirror.put.get(id).is_none() {
                mirror.dropped.insert(id.to_owned());
            }
        }
        // What was there under the same id before is replaced in its place.
        let Net { put, dropped } = &mut mirror;
        dropped.retain(|id| put.get(id).is_none());
        let kept = mirror.put.len();
        let kinds = match self.apply(mirror, at.clone()) {
            Ok(kinds) => kinds,
            Err(error) => {
                self.rebuild = Some(Rebuild::default());
                return Err(error);
            }
        };
        tracing::info!(
            entries = at.entries,
            policies = kept,
            "the copy is the master's ledger again"
        );
        Ok(Followed { kinds, behind: false, resynchronised: true })
    }

    /// Applies what a stretch of history comes to as one entry, and says which types it touched.
    fn apply(&self, net: Net, at: Position) -> Result<BTreeSet<String>, Error> {
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
        self.ledger.commit(&mut log, Change::Follow { drop, put, at })?;
        Ok(kinds)
    }
}

impl Default for Rebuild {
    fn default() -> Self {
        Self { at: Position::start(), mirror: Net::default() }
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
            Change::Put(policies) | Change::Send(policies) => {
                policies.into_iter().for_each(|policy| self.put(policy));
            }
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
        if seq != at.entries + 1 {
            return Err(bad("the entry has another number"));
        }
        if has_no_id(&change) {
            return Err(bad("a policy has no id"));
        }
        changes.push(change);
        at = Position { entries: seq, head: hash.to_owned() };
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
        Change::Put(policies) | Change::Send(policies) | Change::Follow { put: policies, .. } => {
            policies.iter().any(|policy| policy.id().is_none())
        }
        Change::Drop(_) => false,
    }
}
