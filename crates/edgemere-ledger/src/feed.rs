//! The master's side of keeping in step: its history from a position on, in pages.
//!
//! A page is lines of the log as they stand there, so that whoever gets them can check that each
//! continues the one before. It is read from the file without holding up writers or readers.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use serde::{Deserialize, Serialize};

use crate::entry::{self, GENESIS};
use crate::ledger::Ledger;
use crate::{Error, Position};

/// What a ledger has after a position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Changes {
    /// The next entries.
    Page(Page),
    /// The position is not in this ledger's history, which has so many entries: it was another
    /// ledger's, or this one has lost entries since.
    Unfit {
        /// How many entries the history has.
        entries: u64,
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
}

impl Ledger {
    /// The entries after a position: as many as fit into so many bytes, and at least one.
    pub fn changes_after(&self, position: &Position, bytes_max: usize) -> Result<Changes, Error> {
        let failed = |error| Error::io("read", self.folder().log(), error);
        let Some((from, to, entries)) = self.range_after(position, bytes_max) else {
            return Ok(Changes::Unfit { entries: self.end().entries });
        };
        let mut file = File::open(self.folder().log()).map_err(failed)?;
        if self.head_at(&mut file, position.entries).map_err(failed)? != position.head {
            return Ok(Changes::Unfit { entries });
        }
        let lines = read_text(&mut file, from, to - from).map_err(failed)?;
        Ok(Changes::Page(Page { lines, entries }))
    }

    /// Where the lines of a page begin and end in the file, and how many entries there are. What
    /// lies before the end of the log never changes.
    fn range_after(&self, position: &Position, bytes_max: usize) -> Option<(u64, u64, u64)> {
        let state = self.state();
        let entries = state.end.entries;
        if position.entries > entries {
            return None;
        }
        let starts = state.starts.get(usize::try_from(position.entries).ok()?..)?;
        let Some(from) = starts.first().copied() else {
            return Some((state.end.length, state.end.length, entries));
        };
        let limit = from.saturating_add(bytes_max as u64);
        if state.end.length <= limit {
            return Some((from, state.end.length, entries));
        }
        // A start within the limit is the end of a line within the limit.
        let within = starts.partition_point(|start| *start <= limit);
        let to = starts.get(within.saturating_sub(1)).filter(|start| **start > from);
        let first_end = starts.get(1).copied().unwrap_or(state.end.length);
        Some((from, to.copied().unwrap_or(first_end), entries))
    }

    /// The hash of an entry, as it stands in the file.
    fn head_at(&self, file: &mut File, entry: u64) -> io::Result<String> {
        let start = {
            let state = self.state();
            let index = usize::try_from(entry).ok().and_then(|entry| entry.checked_sub(1));
            index.and_then(|index| state.starts.get(index).copied())
        };
        match start {
            None => Ok(entry::GENESIS.to_owned()),
            Some(start) => read_text(file, start, GENESIS.len() as u64),
        }
    }
}

fn read_text(file: &mut File, from: u64, length: u64) -> io::Result<String> {
    file.seek(SeekFrom::Start(from))?;
    let mut text = String::new();
    let read = file.take(length).read_to_string(&mut text)?;
    match read as u64 == length {
        true => Ok(text),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
