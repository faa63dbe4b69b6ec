//! The log's end, where entries are appended: one write and one fsync an entry. A write that fails is
//! undone; after an fsync that fails nothing is written any more until the log is opened again.
//!
//! It keeps the chain (number, hash, length), and knows nothing of what the entries mean.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::entry::{self, Change};
use crate::{Error, Position, policy};

/// The most bytes of one entry, a batch of policies included.
pub(crate) const ENTRY_BYTES_MAX: usize = 256 * 1024 * 1024;

/// What the log is written to: a file, or in tests one that fails.
pub(crate) trait Medium: Send {
    /// Writes at the end.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Returns when all that was written would outlive a power cut.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts the end off.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
}

/// A file that is open for appending.
impl Medium for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// The end of a log.
pub(crate) struct Log {
    medium: Box<dyn Medium>,
    file: PathBuf,
    end: End,
    /// Whether a write failed in a way that leaves in doubt what is on the disk.
    broken: bool,
    /// Called when that happens, so that the next open knows of it.
    on_broken: Box<dyn Fn() + Send>,
}

/// Where a log ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// The number of entries, which is the number of the last.
    pub(crate) entries: u64,
    /// The hash of the last.
    pub(crate) head: String,
    /// The bytes of all.
    pub(crate) length: u64,
}

impl End {
    /// The end as a place in the history.
    pub(crate) fn position(&self) -> Position {
        Position { entries: self.entries, head: self.head.clone() }
    }
}

impl Default for End {
    fn default() -> Self {
        Self { entries: 0, head: entry::GENESIS.to_owned(), length: 0 }
    }
}

impl Log {
    pub(crate) fn new(
        medium: Box<dyn Medium>,
        file: &Path,
        end: End,
        on_broken: Box<dyn Fn() + Send>,
    ) -> Self {
        Self { medium, file: file.to_owned(), end, broken: false, on_broken }
    }

    /// Refuses when nothing may be written any more.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.broken {
            true => Err(Error::ReadOnly { file: self.file.clone() }),
            false => Ok(()),
        }
    }

    /// Goes on with another file that has the same history.
    pub(crate) fn restart(&mut self, medium: Box<dyn Medium>, end: End) {
        (self.medium, self.end) = (medium, end);
    }

    pub(crate) fn end(&self) -> &End {
        &self.end
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Appends an entry, durable when this returns. After an error the log is as it was.
    pub(crate) fn append(&mut self, change: &Change) -> Result<(), Error> {
        self.check()?;
        let seq = self.end.entries + 1;
        let json = entry::encode(seq, &policy::now(), change)
            .map_err(|error| Error::io("encode an entry of", &self.file, error.into()))?;
        if json.len() > ENTRY_BYTES_MAX {
            let limit = format!("{ENTRY_BYTES_MAX} bytes");
            return Err(Error::TooLarge { what: "the batch", limit });
        }
        let head = entry::hash(&self.end.head, &json);
        let line = format!("{head} {json}\n");
        self.write(line.as_bytes())?;
        let length = self.end.length + line.len() as u64;
        self.end = End { entries: seq, head, length };
        Ok(())
    }

    fn write(&mut self, line: &[u8]) -> Result<(), Error> {
        if let Err(error) = self.medium.append(line) {
            self.undo();
            return Err(Error::io("write", &self.file, error));
        }
        self.medium.sync().map_err(|error| {
            // The system may have forgotten what it could not write, also of entries before this
            // one, and the next sync would succeed without them. So nothing is written after it.
            self.give_up(&error);
            Error::io("sync", &self.file, error)
        })
    }

    /// Cuts off what a failed write may have left. Without that, the next entry would follow
    /// garbage.
    fn undo(&mut self) {
        let undone = self.medium.truncate(self.end.length).and_then(|()| self.medium.sync());
        if let Err(error) = undone {
            self.give_up(&error);
        }
    }

    fn give_up(&mut self, error: &io::Error) {
        self.broken = true;
        (self.on_broken)();
        let file = self.file.display();
        tracing::error!(%file, %error, "the ledger takes no changes until the node is restarted");
    }
}
