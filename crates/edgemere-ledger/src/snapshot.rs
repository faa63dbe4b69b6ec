//! Snapshots: what all entries come to, in place of them, so that a ledger does not grow with its
//! history.
//!
//! A compacted log begins with the parts of a snapshot, a line each, which are chained from the
//! same begin as every log. The last part says where in the history it stands: how many entries
//! there were, and the hash of the last. The entries after that are chained to this hash, as if
//! nothing had been taken away, so every position from there on is still one.
//!
//! The new log is written beside the old one, made durable, and put in its place in one step.

use std::io::{self, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::entry::{self, Change, GENESIS};
use crate::ledger::{Base, Ledger, State};
use crate::log::{End, Log};
use crate::network::Network;
use crate::{Error, Policy, Position, policy};

/// About how many bytes of policies a part has.
const PART_BYTES: usize = 512 * 1024;

/// How many ids of policies that are gone a part has.
const DROPPED_MAX: usize = 10_000;

/// A part of a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Part {
    /// Policies that live, in their order.
    pub(crate) policies: Vec<Arc<Policy>>,
    /// Which of them other nodes have made: the id of the policy, and the node.
    pub(crate) origins: Vec<(String, String)>,
    /// Which of them the master is to get, in the order in which it is.
    pub(crate) outbox: Vec<String>,
    /// The ids of policies that were taken out.
    pub(crate) dropped: Vec<String>,
    /// In the last part: everything else.
    pub(crate) rest: Option<Rest>,
}

/// What is in the last part alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rest {
    /// Where in the history the snapshot stands.
    pub(crate) end: Position,
    /// Where in its master's history a copy stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Position>,
    /// The network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) network: Option<Network>,
    /// Whether the master's next history is taken, whatever it drops.
    pub(crate) accepting: bool,
}

impl Ledger {
    /// Puts a snapshot in the place of the history. Lookups and those who follow go on meanwhile.
    pub fn compact(&self) -> Result<(), Error> {
        self.compact_in(&mut self.writer())
    }

    /// Puts a snapshot in the place of the history when that has become much longer than what it
    /// comes to. That it fails is no failure of the change that was made before.
    pub(crate) fn compact_when_due(&self, log: &mut Log) {
        let limits = self.limits();
        let is_due = {
            let state = self.state();
            let bytes = state.end.length.saturating_sub(state.base.length);
            let live = u64::try_from(state.view.bytes()).unwrap_or(u64::MAX);
            bytes >= limits.compact_bytes.max(live.saturating_mul(2))
                || state.starts.len() >= limits.compact_entries
        };
        if is_due && let Err(error) = self.compact_in(log) {
            let file = self.folder().log().display();
            tracing::warn!(%file, %error, "the ledger's history could not be compacted");
        }
    }

    fn compact_in(&self, log: &mut Log) -> Result<(), Error> {
        log.check()?;
        let parts = self.state().parts();
        // Positions inside of the snapshot must not reach those after it.
        let entries = self.end().entries;
        if u64::try_from(parts.len()).is_ok_and(|count| count >= entries) {
            return Ok(());
        }
        let mut base = Base { entries, head: self.end().head, ..Base::default() };
        let failed = |error| Error::io("write", self.folder().log(), error);
        let file = self.folder().replace_log(|to| write(&parts, &mut base, to))?;
        let reader = self.folder().log_reader()?;
        let end = End { entries, head: base.head.clone(), length: base.length };
        let before = self.state().end.length;
        log.restart(Box::new(file.try_clone().map_err(failed)?), end.clone());
        let mut state = self.state_mut();
        tracing::info!(entries, before, after = end.length, "the ledger's history is compacted");
        (state.end, state.base, state.reader) = (end, base, reader);
        state.starts = Vec::new();
        Ok(())
    }
}

/// Writes the parts, and notes where they are.
fn write(parts: &[Part], base: &mut Base, to: &mut dyn Write) -> io::Result<()> {
    let mut head = GENESIS.to_owned();
    for (number, part) in parts.iter().enumerate() {
        let change = Change::Snapshot(part.clone());
        let json = entry::encode(number as u64 + 1, &policy::now(), &change)?;
        head = entry::hash(&head, &json);
        let line = format!("{head} {json}\n");
        to.write_all(line.as_bytes())?;
        base.parts.push((base.length, head.clone()));
        base.length += line.len() as u64;
    }
    Ok(())
}

impl State {
    /// The snapshot of what is in memory. The last part is there, also of nothing.
    fn parts(&self) -> Vec<Part> {
        let view = &self.view;
        let mut parts = vec![Part::default()];
        let mut room = PART_BYTES;
        for policy in view.iter() {
            let bytes = policy.bytes();
            if bytes > room {
                parts.push(Part::default());
                room = PART_BYTES;
            }
            room = room.saturating_sub(bytes);
            let Some(part) = parts.last_mut() else { continue };
            let id = policy.id().unwrap_or_default();
            part.policies.push(Arc::clone(policy));
            part.origins.extend(view.origin(id).map(|by| (id.to_owned(), by.to_owned())));
        }
        let dropped: Vec<String> = view.dropped().map(str::to_owned).collect();
        let ids = dropped
            .chunks(DROPPED_MAX)
            .map(|ids| Part { dropped: ids.to_vec(), ..Part::default() });
        parts.extend(ids);
        parts.push(Part {
            outbox: view.outbox().iter().map(str::to_owned).collect(),
            rest: Some(Rest {
                end: self.end.position(),
                at: view.at().cloned(),
                network: view.network().cloned(),
                accepting: view.is_accepting(),
            }),
            ..Part::default()
        });
        parts
    }
}
