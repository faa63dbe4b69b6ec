//! The epochs of a storage: each start of its node begins one, under a random number, and says after which
//! transaction. By them a folder is distinguished from an older copy of itself, also when the copy has gone on
//! since: two that went different ways have different epochs.
//!
//! Who has seen the storage at a transaction of an epoch ([`Reached`]) asks whether that transaction is
//! still part of its [`History`]. What is in a transaction is not known here.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use crate::storage::Error;
use crate::storage::Storage;
use crate::storage::handle::blocking;
use crate::storage::persist::keyspace::Keyspace;

/// How many epochs a storage knows: those of so many starts.
pub const EPOCHS_MAX: usize = 1000;

/// An epoch: how many there were, and a random number. The default is the time before there were epochs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Epoch {
    number: u64,
    random: u64,
}

impl Epoch {
    fn after(number: u64) -> Self {
        Self { number: number + 1, random: uuid::Uuid::new_v4().as_u64_pair().1 }
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.number, self.random)
    }
}

/// A text that is not an epoch, or not a transaction of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not an epoch of a storage")]
pub struct NotAnEpoch(String);

impl FromStr for Epoch {
    type Err = NotAnEpoch;

    fn from_str(text: &str) -> Result<Self, NotAnEpoch> {
        let parts = text.split_once('-').and_then(|(number, random)| {
            Some(Self {
                number: number.parse().ok()?,
                random: u64::from_str_radix(random, 16).ok()?,
            })
        });
        parts.ok_or_else(|| NotAnEpoch(text.to_owned()))
    }
}

impl From<Epoch> for String {
    fn from(epoch: Epoch) -> Self {
        epoch.to_string()
    }
}

impl TryFrom<String> for Epoch {
    type Error = NotAnEpoch;

    fn try_from(text: String) -> Result<Self, NotAnEpoch> {
        text.parse()
    }
}

/// How far a storage was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reached {
    /// The epoch in which it was.
    pub epoch: Epoch,
    /// The number of its last transaction.
    pub position: u64,
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.position, self.epoch)
    }
}

impl FromStr for Reached {
    type Err = NotAnEpoch;

    fn from_str(text: &str) -> Result<Self, NotAnEpoch> {
        let wrong = || NotAnEpoch(text.to_owned());
        let (position, epoch) = text.split_once('@').ok_or_else(wrong)?;
        Ok(Self { epoch: epoch.parse()?, position: position.parse().map_err(|_| wrong())? })
    }
}

/// What is recorded of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EpochRecord {
    epoch: Epoch,
    /// The last transaction before it.
    begins: u64,
}

/// The epochs of a storage that is open, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Epochs(RwLock<Arc<[EpochRecord]>>);

impl Epochs {
    pub(crate) fn new(records: Vec<EpochRecord>) -> Self {
        Self(RwLock::new(records.into()))
    }

    fn get(&self) -> Arc<[EpochRecord]> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, records: Vec<EpochRecord>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = records.into();
    }
}

/// What a storage went through, up to now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    epochs: Arc<[EpochRecord]>,
    position: u64,
}

impl History {
    /// How far the storage is.
    #[must_use]
    pub fn reached(&self) -> Reached {
        let epoch = self.epochs.last().map(|last| last.epoch).unwrap_or_default();
        Reached { epoch, position: self.position }
    }

    /// Why the storage is not one that has been there, if it is not: transactions are lost.
    #[must_use]
    pub fn lacks(&self, known: Reached) -> Option<String> {
        let Reached { epoch, position } = known;
        let at = self.epochs.iter().position(|record| record.epoch == epoch);
        let oldest = self.epochs.first();
        // An epoch that was forgotten ended when the oldest one began, or before.
        let is_before = oldest.is_some_and(|oldest| epoch.number < oldest.epoch.number);
        let next = match at {
            Some(at) => self.epochs.get(at + 1),
            None if is_before || epoch == Epoch::default() => oldest,
            None => {
                return Some(format!(
                    "its data folder was at {position} before, in epoch {epoch}, of which it knows \
                     nothing now: rows are lost"
                ));
            }
        };
        match next {
            None if position > self.position => Some(format!(
                "its data folder was at {position} before and is at {} now: rows are lost",
                self.position
            )),
            Some(next) if position > next.begins => Some(format!(
                "its data folder was at {position} before, and was put back to {} since: rows are lost",
                next.begins
            )),
            _ => None,
        }
    }
}

impl Storage {
    /// What the storage went through.
    #[must_use]
    pub fn history(&self) -> History {
        let shared = &self.inner.shared;
        History { epochs: shared.epochs.get(), position: shared.store.sequence() }
    }

    /// Begins an epoch, durable when this returns: once for each start, before any node learns how far the
    /// storage is.
    pub async fn begin_epoch(&self) -> Result<(), Error> {
        let inner = Arc::clone(&self.inner);
        blocking(move || {
            let shared = Arc::clone(&inner.shared);
            inner.shared.store.commit(move |writes, marks| {
                let mut records = shared.epochs.get().to_vec();
                let newest = records.last().map_or(0, |last| last.epoch.number);
                let epoch = Epoch::after(newest);
                let new = EpochRecord { epoch, begins: marks.sequence.saturating_sub(1) };
                records.push(new);
                let forgotten = records.len().saturating_sub(EPOCHS_MAX);
                let forgotten: Vec<_> = records.drain(..forgotten).collect();
                let keys = forgotten.iter().map(|record| (record.epoch.number, 0));
                writes.remove(Keyspace::Epochs, keys)?;
                writes.put_json(Keyspace::Epochs, (epoch.number, 0), &new)?;
                Ok(((), Box::new(move || shared.epochs.set(records))))
            })
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64, random: u64, begins: u64) -> EpochRecord {
        EpochRecord { epoch: Epoch { number, random }, begins }
    }

    fn history(epochs: &[EpochRecord], position: u64) -> History {
        History { epochs: epochs.into(), position }
    }

    fn seen(number: u64, random: u64, position: u64) -> Reached {
        Reached { epoch: Epoch { number, random }, position }
    }

    #[test]
    fn what_was_seen_is_part_of_a_history_or_rows_are_lost() {
        let now = history(&[record(1, 7, 0), record(2, 8, 100), record(3, 9, 250)], 300);
        assert_eq!(now.reached(), seen(3, 9, 300));
        for part in [
            seen(0, 0, 0),
            seen(1, 7, 1),
            seen(1, 7, 100),
            seen(2, 8, 250),
            seen(3, 9, 251),
            seen(3, 9, 300),
        ] {
            assert_eq!(now.lacks(part), None, "{part}");
        }
        for lost in [
            // It was further than it is.
            seen(3, 9, 301),
            // It went on after what is known as the end of the epoch: this is a copy from before.
            seen(1, 7, 101),
            seen(2, 8, 251),
            // Another storage, or another copy, began that epoch.
            seen(3, 1, 260),
            seen(4, 1, 300),
            seen(0, 0, 1),
        ] {
            assert!(now.lacks(lost).unwrap().contains("rows are lost"), "{lost}");
        }
    }

    #[test]
    fn a_history_without_epochs_goes_by_its_position() {
        let old = history(&[], 10);
        assert_eq!(old.lacks(seen(0, 0, 10)), None);
        assert!(old.lacks(seen(0, 0, 11)).is_some());
        assert!(old.lacks(seen(1, 4, 1)).is_some(), "it has had an epoch, and has none now");
    }

    #[test]
    fn epochs_that_are_forgotten_ended_before_the_oldest_that_is_known() {
        let long = history(&[record(41, 1, 500), record(42, 2, 600)], 700);
        assert_eq!(long.lacks(seen(12, 77, 500)), None);
        assert!(long.lacks(seen(12, 77, 501)).is_some());
    }

    #[test]
    fn what_was_seen_has_a_text() {
        let seen = seen(3, 0xabc, 512);
        assert_eq!(seen.to_string(), "512@3-0000000000000abc");
        assert_eq!(seen.to_string().parse(), Ok(seen));
        for wrong in ["", "512", "512@", "x@3-0", "5@3", "5@3-xyz", "-1@3-0"] {
            assert!(wrong.parse::<Reached>().is_err(), "{wrong}");
        }
    }
}
