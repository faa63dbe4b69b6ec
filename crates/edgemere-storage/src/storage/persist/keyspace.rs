//! What a transaction of the key-value store reads and writes: sealed values on a few shelves, each
//! under a pair of numbers.
//!
//! A value begins with a checksum over its shelf, its key and itself, because redb checks its own
//! only after a crash. So that no value gets lost unseen either, the store has the sum of these
//! checksums, its digest, and another one for the keys of appends, which there was none for at first. It knows keys and bytes, not what they mean.

use std::cell::Cell;
use std::path::Path;

use redb::{ReadTransaction, ReadableTable, TableDefinition, WriteTransaction};
use serde::Serialize;
use serde::de::DeserializeOwned;
use twox_hash::XxHash64;

use crate::storage::Error;
use crate::storage::persist::record::StoreHeader;

/// A key: mostly a table's id, and the number of a thing of that table.
pub(crate) type Key = (u64, u64);

/// Values with their keys.
pub(crate) type Values = Vec<(Key, Vec<u8>)>;

/// How many bytes of a value are its seal.
pub(crate) const SEAL_BYTES: usize = 8;

/// Where values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyspace {
    /// What the whole storage counts, under (0, 0).
    StoreHeader,
    /// The catalog, under (table, 0).
    Tables,
    /// What each table counts, under (table, 0).
    Counters,
    /// Fresh rows, under (table, block).
    Blocks,
    /// The manifest, under (table, file).
    Files,
    /// The keys of appends, under (table, hash of the key).
    Keys,
    /// The hashes of those keys in the order of their appends, under (table, place).
    KeyPlaces,
    /// What was said of databases, under (database, 0).
    Databases,
    /// The views, under (view, 0).
    Views,
    /// How much of a table is kept, under (table, 0).
    Retention,
    /// The last time that was seen and trusted, under (0, 0).
    Clock,
    /// The epochs of the storage, under (number, 0).
    Epochs,
}

impl Keyspace {
    /// Every shelf.
    pub(crate) const ALL: [Self; 12] = [
        Self::StoreHeader,
        Self::Tables,
        Self::Counters,
        Self::Blocks,
        Self::Files,
        Self::Keys,
        Self::KeyPlaces,
        Self::Databases,
        Self::Views,
        Self::Retention,
        Self::Clock,
        Self::Epochs,
    ];

    fn definition(self) -> TableDefinition<'static, Key, &'static [u8]> {
        TableDefinition::new(match self {
            Self::StoreHeader => "marks",
            Self::Tables => "tables",
            Self::Counters => "counters",
            Self::Blocks => "blocks",
            Self::Files => "files",
            Self::Keys => "keys",
            Self::KeyPlaces => "key_places",
            Self::Databases => "databases",
            Self::Views => "views",
            Self::Retention => "retention",
            Self::Clock => "clock",
            Self::Epochs => "epochs",
        })
    }

    /// The shelves whose values are counted in the digest: all that are read when a storage is
    /// opened, but the one that the digest is on.
    const COUNTED: [Self; 8] = [
        Self::Tables,
        Self::Counters,
        Self::Blocks,
        Self::Files,
        Self::Databases,
        Self::Views,
        Self::Retention,
        Self::Epochs,
    ];

    /// The shelves whose values are counted in the digest of keys.
    const KEYS: [Self; 2] = [Self::Keys, Self::KeyPlaces];

    fn checksum(self, key: Key, value: &[u8]) -> u64 {
        let seed = key.0.rotate_left(32) ^ key.1 ^ ((self as u64) << 60);
        XxHash64::oneshot(seed, value)
    }
}

/// A value that is ready to be sealed: its first bytes are free for that.
pub(crate) struct Value(Vec<u8>);

impl Value {
    /// A value that holds what another one held.
    pub(crate) fn of(content: &[u8]) -> Self {
        let mut bytes = vec![0; SEAL_BYTES];
        bytes.extend_from_slice(content);
        Self(bytes)
    }

    /// A value of bytes whose first [`SEAL_BYTES`] mean nothing.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    #[cfg(test)]
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn seal(&mut self, shelf: Keyspace, key: Key) {
        if let Some((seal, value)) = self.0.split_first_chunk_mut::<SEAL_BYTES>() {
            *seal = shelf.checksum(key, value).to_le_bytes();
        }
    }
}

/// A record as a value.
pub(crate) fn json<T: Serialize>(path: &Path, record: &T) -> Result<Value, Error> {
    let mut bytes = vec![0; SEAL_BYTES];
    serde_json::to_writer(&mut bytes, record)
        .map_err(|error| Error::io("encode a record of", path, error.into()))?;
    Ok(Value(bytes))
}

/// What is inside a sealed value; `None` when the seal does not fit.
fn unseal(shelf: Keyspace, key: Key, bytes: &[u8]) -> Option<&[u8]> {
    let (seal, value) = bytes.split_first_chunk::<SEAL_BYTES>()?;
    (u64::from_le_bytes(*seal) == shelf.checksum(key, value)).then_some(value)
}

/// A transaction that is being put together.
pub(crate) struct Transaction<'a> {
    pub(crate) transaction: &'a WriteTransaction,
    pub(crate) path: &'a Path,
    /// The digests of the values as this transaction leaves them.
    pub(crate) digests: Cell<Digests>,
}

impl Transaction<'_> {
    /// Puts values, in place of those with the same keys.
    pub(crate) fn put(
        &self,
        shelf: Keyspace,
        values: impl IntoIterator<Item = (Key, Value)>,
    ) -> Result<(), Error> {
        let mut table = self.open(shelf)?;
        for (key, mut value) in values {
            value.seal(shelf, key);
            let old = table.insert(key, value.0.as_slice()).map_err(|error| self.failed(error))?;
            self.count(shelf, old.as_ref().map(|old| old.value()), Some(&value.0));
        }
        Ok(())
    }

    /// Puts one record.
    pub(crate) fn put_json<T: Serialize>(
        &self,
        shelf: Keyspace,
        key: Key,
        record: &T,
    ) -> Result<(), Error> {
        self.put(shelf, [(key, json(self.path, record)?)])
    }

    /// Removes values.
    pub(crate) fn remove(
        &self,
        shelf: Keyspace,
        keys: impl IntoIterator<Item = Key>,
    ) -> Result<(), Error> {
        let mut table = self.open(shelf)?;
        for key in keys {
            let old = table.remove(key).map_err(|error| self.failed(error))?;
            self.count(shelf, old.as_ref().map(|old| old.value()), None);
        }
        Ok(())
    }

    /// Removes all values of a table.
    pub(crate) fn remove_all(&self, which: Keyspace, table: u64) -> Result<(), Error> {
        let keys = (table, 0)..=(table, u64::MAX);
        let mut shelf = self.open(which)?;
        let drop_all = |_: Key, value: &[u8]| {
            self.count(which, Some(value), None);
            false
        };
        shelf.retain_in(keys, drop_all).map_err(|error| self.failed(error))
    }

    /// Reads one record, as this transaction leaves it.
    pub(crate) fn get_json<T: DeserializeOwned>(
        &self,
        shelf: Keyspace,
        key: Key,
    ) -> Result<Option<T>, Error> {
        let table = self.open(shelf)?;
        let Some(value) = table.get(key).map_err(|error| self.failed(error))? else {
            return Ok(None);
        };
        let value = unseal(shelf, key, value.value())
            .ok_or_else(|| not_as_written(self.path, shelf, key))?;
        parse(self.path, value).map(Some)
    }

    /// Counts a value that went and one that came.
    fn count(&self, shelf: Keyspace, old: Option<&[u8]>, new: Option<&[u8]>) {
        let mut digests = self.digests.get();
        if let Some(digest) = digests.of(shelf) {
            *digest = digest.wrapping_sub(seal_of(old)).wrapping_add(seal_of(new));
        }
        self.digests.set(digests);
    }

    fn open(&self, shelf: Keyspace) -> Result<redb::Table<'_, Key, &'static [u8]>, Error> {
        self.transaction.open_table(shelf.definition()).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: impl Into<redb::Error>) -> Error {
        Error::store("write", self.path, error.into())
    }
}

/// The seal of a value as a number; zero of none.
fn seal_of(value: Option<&[u8]>) -> u64 {
    let seal = value.and_then(|value| value.first_chunk::<SEAL_BYTES>());
    seal.map_or(0, |seal| u64::from_le_bytes(*seal))
}

/// Sums of the seals of values, so that none gets lost unseen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digests {
    /// Of everything that is read when a storage is opened.
    pub(crate) values: u64,
    /// Of the keys of appends.
    pub(crate) keys: u64,
}

impl Digests {
    /// The digest that a shelf counts in.
    fn of(&mut self, shelf: Keyspace) -> Option<&mut u64> {
        if Keyspace::COUNTED.contains(&shelf) {
            Some(&mut self.values)
        } else {
            Keyspace::KEYS.contains(&shelf).then_some(&mut self.keys)
        }
    }

    /// Those of the values that are there.
    pub(crate) fn read(transaction: &ReadTransaction, path: &Path) -> Result<Self, Error> {
        let mut digests = Self::default();
        for shelf in Keyspace::COUNTED.into_iter().chain(Keyspace::KEYS) {
            let Some(digest) = digests.of(shelf) else { continue };
            each_sealed(transaction, path, shelf, |key, value| {
                // Keys are not read otherwise when a storage is opened.
                if Keyspace::KEYS.contains(&shelf) && unseal(shelf, key, value).is_none() {
                    return Err(not_as_written(path, shelf, key));
                }
                *digest = digest.wrapping_add(seal_of(Some(value)));
                Ok(())
            })?;
        }
        Ok(digests)
    }

    /// Whether these are the digests that a store says it has, as far as it says.
    pub(crate) fn fit(self, marks: &StoreHeader) -> bool {
        marks.digest.is_none_or(|expected| expected == self.values)
            && marks.keys_digest.is_none_or(|expected| expected == self.keys)
    }

    /// What a store says of these.
    pub(crate) fn mark(self, marks: &mut StoreHeader) {
        (marks.digest, marks.keys_digest) = (Some(self.values), Some(self.keys));
    }
}

/// Reads one record.
pub(crate) fn get_json<T: DeserializeOwned>(
    transaction: &ReadTransaction,
    path: &Path,
    shelf: Keyspace,
    key: Key,
) -> Result<Option<T>, Error> {
    let failed = |error: redb::Error| Error::store("read", path, error);
    let table = match transaction.open_table(shelf.definition()) {
        Ok(table) => table,
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
        Err(error) => return Err(failed(error.into())),
    };
    let Some(value) = table.get(key).map_err(|error| failed(error.into()))? else {
        return Ok(None);
    };
    let value =
        unseal(shelf, key, value.value()).ok_or_else(|| not_as_written(path, shelf, key))?;
    parse(path, value).map(Some)
}

/// Reads a shelf in the order of its keys. A value whose seal does not fit is an error.
pub(crate) fn read(
    transaction: &ReadTransaction,
    path: &Path,
    shelf: Keyspace,
    mut each: impl FnMut(Key, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    each_sealed(transaction, path, shelf, |key, value| {
        let value = unseal(shelf, key, value).ok_or_else(|| not_as_written(path, shelf, key))?;
        each(key, value)
    })
}

/// Reads a shelf in the order of its keys, with the seals of the values.
fn each_sealed(
    transaction: &ReadTransaction,
    path: &Path,
    shelf: Keyspace,
    mut each: impl FnMut(Key, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let failed = |error: redb::Error| Error::store("read", path, error);
    let table = match transaction.open_table(shelf.definition()) {
        Ok(table) => table,
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(()),
        Err(error) => return Err(failed(error.into())),
    };
    for entry in table.iter().map_err(|error| failed(error.into()))? {
        let (key, value) = entry.map_err(|error| failed(error.into()))?;
        each(key.value(), value.value())?;
    }
    Ok(())
}

/// Reads what can be read of a shelf, and says how many values are not as written.
pub(crate) fn read_some(
    transaction: &ReadTransaction,
    path: &Path,
    shelf: Keyspace,
) -> Result<(Values, usize), Error> {
    let failed = |error: redb::Error| Error::store("read", path, error);
    let table = match transaction.open_table(shelf.definition()) {
        Ok(table) => table,
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok((Vec::new(), 0)),
        Err(error) => return Err(failed(error.into())),
    };
    let (mut values, mut unreadable) = (Vec::new(), 0);
    for entry in table.iter().map_err(|error| failed(error.into()))? {
        let (key, value) = entry.map_err(|error| failed(error.into()))?;
        match unseal(shelf, key.value(), value.value()) {
            Some(value) => values.push((key.value(), value.to_vec())),
            None => unreadable += 1,
        }
    }
    Ok((values, unreadable))
}

fn not_as_written(path: &Path, shelf: Keyspace, key: Key) -> Error {
    Error::damaged(path, format!("the {shelf:?} value under {key:?} is not as written"))
}

/// Reads a record.
pub(crate) fn parse<T: DeserializeOwned>(path: &Path, value: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(value)
        .map_err(|error| Error::damaged(path, format!("a record cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_holds_value_key_and_shelf() {
        let sealed = |shelf, key| {
            let mut value = json(Path::new("x"), &"hello").unwrap();
            value.seal(shelf, key);
            value.0
        };
        let mut value = sealed(Keyspace::Files, (1, 2));
        assert_eq!(unseal(Keyspace::Files, (1, 2), &value), Some(b"\"hello\"".as_slice()));
        assert_eq!(unseal(Keyspace::Files, (2, 1), &value), None);
        assert_eq!(unseal(Keyspace::Blocks, (1, 2), &value), None);
        assert_eq!(unseal(Keyspace::Files, (1, 2), &value[..7]), None);
        *value.last_mut().unwrap() ^= 1;
        assert_eq!(unseal(Keyspace::Files, (1, 2), &value), None);
    }
}
