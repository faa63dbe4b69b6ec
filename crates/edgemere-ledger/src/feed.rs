//! The master's side of keeping in step: its history from a position on, in pages.
//!
//! A page is lines of the log as they stand there, so that whoever gets them can check that each
//! continues the one before. It is read from the file without holding up writers or readers. A log
//! that was compacted begins with a snapshot, whose parts are such lines, too.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::entry::GENESIS;
use crate::ledger::{Ledger, State};
use crate::{Error, Network, Position};

/// What a ledger has after a position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Changes {
    /// The next entries.
    Page(Page),
    /// The position is not in this ledger's history, which has so many entries: it was another
    /// ledger's, or this one has lost entries since, or has compacted them.
    Unfit {
        /// How many entries the history has.
        entries: u64,
        /// Whether it may be one of those that were compacted.
        #[serde(default)]
        compacted: bool,
        /// The network that the history is of.
        #[serde(default)]
        network: Option<Network>,
    },
}

/// A stretch of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Whole lines of the log; empty when nothing follows.
    pub lines: String,
    /// How many entries the whole history has.
    pub entries: u64,
    /// The network that the history is of.
    #[serde(default)]
    pub network: Option<Network>,
}

/// Where lines stand that follow a position.
struct Lines {
    from: u64,
    to: u64,
    /// Where the line stands whose hash the position must have; none when that is known to be so.
    after: Option<u64>,
    reader: Arc<File>,
}

impl Ledger {
    /// The entries after a position: as many as fit into so many bytes, and at least one.
    pub fn changes_after(&self, position: &Position, bytes_max: usize) -> Result<Changes, Error> {
        let failed = |error| Error::io("read", self.folder().log(), error);
        let (found, entries, compacted, network) = {
            let state = self.state();
            let compacted = position.entries < state.base.entries;
            let network = state.view.network().cloned();
            (state.lines_after(position, bytes_max), state.end.entries, compacted, network)
        };
        let unfit = Changes::Unfit { entries, compacted, network: network.clone() };
        let Some(Lines { from, to, after, reader }) = found else { return Ok(unfit) };
        if let Some(after) = after {
            let head = read_text(&reader, after, GENESIS.len() as u64).map_err(failed)?;
            if head != position.head {
                return Ok(unfit);
            }
        }
        let lines = read_text(&reader, from, to - from).map_err(failed)?;
        Ok(Changes::Page(Page { lines, entries, network }))
    }
}

impl State {
    /// Where the lines of a page begin and end in the file. What lies before the end of the log never
    /// changes.
    fn lines_after(&self, position: &Position, bytes_max: usize) -> Option<Lines> {
        let reader = Arc::clone(&self.reader);
        let Some(number) = position.entries.checked_sub(self.base.entries) else {
            return self.parts_after(position, bytes_max);
        };
        if number == 0 && position.head != self.base.head {
            // Of a snapshot's part, when there are as many parts as entries before.
            return self.parts_after(position, bytes_max);
        }
        let number = usize::try_from(number).ok()?;
        let starts = self.starts.get(number..)?;
        let before = number.checked_sub(1).and_then(|before| self.starts.get(before).copied());
        let (from, to) = range(starts, self.end.length, bytes_max);
        Some(Lines { from, to, after: before, reader })
    }

    /// The parts of the snapshot after a position that is one of them, or the begin.
    fn parts_after(&self, position: &Position, bytes_max: usize) -> Option<Lines> {
        let parts = &self.base.parts;
        let number = usize::try_from(position.entries).ok()?;
        let is_part = match number.checked_sub(1) {
            None => position.head == GENESIS,
            Some(before) => parts.get(before).is_some_and(|(_, head)| *head == position.head),
        };
        let rest: Vec<u64> = parts.get(number..)?.iter().map(|(start, _)| *start).collect();
        if !is_part || rest.is_empty() {
            return None;
        }
        let (from, to) = range(&rest, self.base.length, bytes_max);
        Some(Lines { from, to, after: None, reader: Arc::clone(&self.reader) })
    }
}

/// Where lines begin and end of which so many bytes are wanted, and at least one, by where each begins
/// and where the last ends.
fn range(starts: &[u64], end: u64, bytes_max: usize) -> (u64, u64) {
    let Some(from) = starts.first().copied() else { return (end, end) };
    let limit = from.saturating_add(bytes_max as u64);
    if end <= limit {
        return (from, end);
    }
    // A start within the limit is the end of a line within the limit.
    let within = starts.partition_point(|start| *start <= limit);
    let to = starts.get(within.saturating_sub(1)).filter(|start| **start > from);
    let first_end = starts.get(1).copied().unwrap_or(end);
    (from, to.copied().unwrap_or(first_end))
}

fn read_text(file: &File, from: u64, length: u64) -> io::Result<String> {
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, from)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}
