//! Which appends a table has had, by keys of their writers: a writer that did not hear the
//! acknowledgement sends the same again, and its rows are stored once. A key that comes with other
//! content is refused, because the rows would be lost: beside the key there is a hash of what was sent.
//!
//! A key is written in the transaction that writes its rows, so that there are both or neither. The
//! last [`Options::keys_max`](crate::storage::Options::keys_max) keys of a table are remembered, in a ring:
//! the shelf `Keys` finds them by their hash, the shelf `KeyPlaces` says which is the oldest.

use std::path::Path;

use redb::ReadTransaction;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

use crate::storage::Error;
use crate::storage::persist::keyspace::{Keyspace, Transaction, get_json};

/// Where a table's ring says how many keys it has had, which is no place in it.
const COUNT: u64 = u64::MAX;

/// What is known of an append by its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IdempotencyRecord {
    key: String,
    /// Its place in the ring.
    place: u64,
    /// How many rows it stored.
    pub(crate) rows: u64,
    /// The hash of what was sent with it; none of an earlier version.
    #[serde(default)]
    content: Option<u64>,
}

impl IdempotencyRecord {
    /// Whether what is sent now is what was sent then.
    pub(crate) fn is_same(&self, content: u64) -> bool {
        self.content.is_none_or(|then| then == content)
    }
}

/// A key, and the hash of what is sent with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) key: String,
    pub(crate) content: u64,
}

/// The append of a table that had this key.
pub(crate) fn find(
    writes: &Transaction<'_>,
    table: u64,
    key: &str,
) -> Result<Option<IdempotencyRecord>, Error> {
    let known: Option<IdempotencyRecord> = writes.get_json(Keyspace::Keys, (table, hash(key)))?;
    // Two keys may have one hash, about once in a lifetime: the older one is forgotten then.
    Ok(known.filter(|known| known.key == key))
}

/// The same, read outside of a transaction.
pub(crate) fn look_up(
    transaction: &ReadTransaction,
    path: &Path,
    table: u64,
    key: &str,
) -> Result<Option<IdempotencyRecord>, Error> {
    let known: Option<IdempotencyRecord> =
        get_json(transaction, path, Keyspace::Keys, (table, hash(key)))?;
    Ok(known.filter(|known| known.key == key))
}

/// Remembers that an append with this key stored rows, and forgets the oldest when there are too
/// many.
pub(crate) fn remember(
    writes: &Transaction<'_>,
    table: u64,
    sent: Sent,
    rows: u64,
    keys_max: u64,
) -> Result<(), Error> {
    let count: u64 = writes.get_json(Keyspace::KeyPlaces, (table, COUNT))?.unwrap_or(0);
    let place = count % keys_max.max(1);
    if let Some(oldest) = writes.get_json::<u64>(Keyspace::KeyPlaces, (table, place))? {
        let known: Option<IdempotencyRecord> = writes.get_json(Keyspace::Keys, (table, oldest))?;
        if known.is_some_and(|known| known.place == place) {
            writes.remove(Keyspace::Keys, [(table, oldest)])?;
        }
    }
    let hash = hash(&sent.key);
    let known = IdempotencyRecord { key: sent.key, place, rows, content: Some(sent.content) };
    writes.put_json(Keyspace::Keys, (table, hash), &known)?;
    writes.put_json(Keyspace::KeyPlaces, (table, place), &hash)?;
    writes.put_json(Keyspace::KeyPlaces, (table, COUNT), &(count + 1))
}

/// Forgets all keys of a table.
pub(crate) fn forget(writes: &Transaction<'_>, table: u64) -> Result<(), Error> {
    writes.remove_all(Keyspace::Keys, table)?;
    writes.remove_all(Keyspace::KeyPlaces, table)
}

fn hash(key: &str) -> u64 {
    XxHash64::oneshot(0, key.as_bytes())
}
