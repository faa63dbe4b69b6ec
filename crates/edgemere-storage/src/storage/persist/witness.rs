//! A witness of the last transaction: a small file beside `fresh.redb` with the number of the last
//! transaction that was acknowledged.
//!
//! After a crash redb takes back a last transaction that cannot be read: it was on its way. One that was
//! acknowledged, and whose bytes the disk has changed since, looks the same to it, and would be gone in
//! silence. The witness tells them apart, because it is written after the fsync of a transaction and before
//! its acknowledgement.
//!
//! It is not synced with each transaction, which would cost a second fsync: what the system has in memory
//! outlives a process that is killed, and the keeper has it written every second for a power cut.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use twox_hash::XxHash64;

use crate::private;
use crate::storage::Error;
use crate::storage::persist::record::StorageId;

/// A note: the storage, the number and a checksum of both.
const NOTE_BYTES: usize = 32;

/// Notes are written in turns to two places that no sector has both of, so that one is always whole.
const PLACES: [u64; 2] = [0, 4096];

/// The file that bears witness.
#[derive(Debug)]
pub(crate) struct Witness {
    path: PathBuf,
    file: File,
    /// Whether a note was written that is not synced.
    dirty: AtomicBool,
    /// Whether a failure was logged: one is enough.
    failed: AtomicBool,
}

impl Witness {
    /// Opens the witness of a storage's folder, and makes one when there is none.
    pub(crate) fn open(folder: &Path) -> Result<Self, Error> {
        let path = folder.join("fresh.last");
        let mut options = private::options();
        let file = options.create(true).truncate(false).read(true).write(true).open(&path);
        let file = file.map_err(|error| Error::io("open", &path, error))?;
        Ok(Self { path, file, dirty: AtomicBool::new(false), failed: AtomicBool::new(false) })
    }

    /// The last transaction of a storage that is known to have been acknowledged. What cannot be read says
    /// nothing.
    pub(crate) fn last(&self, storage: StorageId) -> Option<u64> {
        let notes = PLACES.into_iter().filter_map(|place| {
            let mut note = [0; NOTE_BYTES];
            self.file.read_exact_at(&mut note, place).ok()?;
            parse(&note, storage)
        });
        notes.max()
    }

    /// Refuses a store whose last transactions were acknowledged and are not there.
    pub(crate) fn check(&self, store: &Path, id: StorageId, sequence: u64) -> Result<(), Error> {
        match self.last(id) {
            Some(last) if last > sequence => Err(Error::Forgotten {
                path: store.to_owned(),
                found: sequence,
                acknowledged: last,
            }),
            _ => Ok(()),
        }
    }

    /// Notes that a transaction is durable. A failure is no failure of the transaction.
    pub(crate) fn note(&self, storage: StorageId, sequence: u64) {
        let place = if sequence.is_multiple_of(2) { PLACES[0] } else { PLACES[1] };
        match self.file.write_all_at(&note(storage, sequence), place) {
            Ok(()) => self.dirty.store(true, Ordering::Release),
            Err(error) => self.warn(&error),
        }
    }

    /// Makes the last note durable.
    pub(crate) fn sync(&self) {
        if self.dirty.swap(false, Ordering::AcqRel)
            && let Err(error) = self.file.sync_data()
        {
            self.warn(&error);
        }
    }

    fn warn(&self, error: &io::Error) {
        if !self.failed.swap(true, Ordering::Relaxed) {
            let path = self.path.display();
            tracing::warn!(%path, %error, "the last transaction is not witnessed");
        }
    }
}

fn note(storage: StorageId, sequence: u64) -> [u8; NOTE_BYTES] {
    let mut note = [0; NOTE_BYTES];
    let bytes = storage.bytes().into_iter().chain(sequence.to_le_bytes());
    note.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
    let sum = checksum(&note).to_le_bytes();
    note.iter_mut().rev().zip(sum.into_iter().rev()).for_each(|(to, byte)| *to = byte);
    note
}

/// The transaction of a note, if it is one and of this storage.
fn parse(bytes: &[u8; NOTE_BYTES], storage: StorageId) -> Option<u64> {
    let sequence = u64::from_le_bytes(*bytes.get(16..)?.first_chunk()?);
    (note(storage, sequence) == *bytes).then_some(sequence)
}

/// The checksum of all but the checksum.
fn checksum(note: &[u8; NOTE_BYTES]) -> u64 {
    XxHash64::oneshot(0, note.get(..NOTE_BYTES - 8).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_note_that_can_be_read_is_what_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let (own, other) = (StorageId::new(), StorageId::new());
        let witness = Witness::open(folder.path()).unwrap();
        assert_eq!(witness.last(own), None);
        (1..=9).for_each(|sequence| witness.note(own, sequence));
        witness.sync();
        assert_eq!((witness.last(own), witness.last(other)), (Some(9), None));
        assert!(witness.check(Path::new("x"), own, 9).is_ok());
        assert!(witness.check(Path::new("x"), own, 12).is_ok());
        let error = witness.check(Path::new("x"), own, 8).unwrap_err();
        assert!(matches!(error, Error::Forgotten { found: 8, acknowledged: 9, .. }), "{error}");
        // Each changed bit of a note makes it none.
        let whole = witness.file.metadata().unwrap().len();
        for at in 0..NOTE_BYTES as u64 {
            let mut byte = [0];
            witness.file.read_exact_at(&mut byte, PLACES[1] + at).unwrap();
            witness.file.write_all_at(&[byte[0] ^ 1], PLACES[1] + at).unwrap();
            assert_eq!(witness.last(own), Some(8), "byte {at}");
            witness.file.write_all_at(&byte, PLACES[1] + at).unwrap();
        }
        assert_eq!(witness.file.metadata().unwrap().len(), whole);
    }
}
