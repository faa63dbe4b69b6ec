//! A table: takes rows, and shows what it holds.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use arrow::array::RecordBatch;
use tokio::sync::oneshot;

use crate::apart::apart;
use crate::schema::Schema;
use crate::storage::DataFile;
use crate::storage::Error;
use crate::storage::Retention;
use crate::storage::Snapshot;
use crate::storage::TableStats;
use crate::storage::handle::blocking;
use crate::storage::options::KEY_BYTES_MAX;
use crate::storage::parquet_files::footer::Origin;
use crate::storage::shared::Shared;
use crate::storage::write::block::Prepared;
use crate::storage::write::commit::{AppendRequest, PreparedRows};
use crate::storage::write::idempotency::{self, Sent};
use crate::storage::write::memtable::TableState;

/// How long a writer has to wait when the storage is busy.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A table of a storage.
pub struct Table {
    pub(crate) id: u64,
    dbms: String,
    name: String,
    shared: Arc<Shared>,
    state: RwLock<TableState>,
    /// Held by the task that moves flushed rows: one at a time.
    upkeep: Mutex<()>,
}

/// What an append gets: its rows are durable and visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The id of the first row; the others follow without a gap.
    pub first_row_id: u64,
    /// How many rows there were.
    pub rows: u64,
    /// Whether they were stored by an earlier append with the same key. `first_row_id` is 0 then.
    pub repeated: bool,
}

impl Table {
    pub(crate) fn new(
        id: u64,
        dbms: &str,
        name: &str,
        shared: &Arc<Shared>,
        state: TableState,
    ) -> Arc<Self> {
        Arc::new(Self {
            id,
            dbms: dbms.to_owned(),
            name: name.to_owned(),
            shared: Arc::clone(shared),
            state: RwLock::new(state),
            upkeep: Mutex::new(()),
        })
    }

    /// The table's database.
    #[must_use]
    pub fn dbms(&self) -> &str {
        &self.dbms
    }

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The table's number: no other table of the storage ever has it, also none of the same name.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.id
    }

    /// The table's columns.
    #[must_use]
    pub fn schema(&self) -> Arc<Schema> {
        Arc::clone(&self.state().schema)
    }

    /// Appends rows: durable and visible when this returns, all or none.
    ///
    /// The batch has any of the table's own columns, by name; the others are null. A batch without
    /// rows is not stored and gets the id 0. An append that is dropped while it waits may be stored
    /// all the same.
    pub async fn append(self: &Arc<Self>, batch: RecordBatch) -> Result<Receipt, Error> {
        self.append_keyed(batch, None).await
    }

    /// Appends rows unless an append with the same key was stored before: who does not know whether
    /// an append came through can do it again. The key is durable with the rows, both or neither.
    ///
    /// `content` is a hash of what was sent. The same key with another is refused.
    pub async fn append_idempotent(
        self: &Arc<Self>,
        key: &str,
        content: u64,
        batch: RecordBatch,
    ) -> Result<Receipt, Error> {
        if key.len() > KEY_BYTES_MAX {
            return Err(Error::TooLarge {
                what: "the key",
                limit: format!("{KEY_BYTES_MAX} bytes"),
            });
        }
        self.append_keyed(batch, Some(Sent { key: key.to_owned(), content })).await
    }

    /// Refuses a key that was used with other content, before anything is changed for its rows.
    pub(crate) async fn check_key(self: &Arc<Self>, key: &str, content: u64) -> Result<(), Error> {
        let (table, key) = (Arc::clone(self), key.to_owned());
        blocking(move || {
            let store = &table.shared.store;
            let look = |transaction: &_, ()| {
                idempotency::look_up(transaction, store.path(), table.id, &key)
            };
            match store.read(|_| (), look)? {
                Some(known) if !known.is_same(content) => Err(table.key_reused(known.rows)),
                _ => Ok(()),
            }
        })
        .await
    }

    async fn append_keyed(
        self: &Arc<Self>,
        batch: RecordBatch,
        key: Option<Sent>,
    ) -> Result<Receipt, Error> {
        let bytes = batch.get_array_memory_size();
        let prepared = apart(bytes, || Prepared::new(&batch, &self.schema()))?;
        drop(batch);
        if prepared.rows() == 0 {
            return Ok(Receipt { first_row_id: 0, rows: 0, repeated: false });
        }
        self.shared.disk.check_append()?;
        let (reply, answer) = oneshot::channel();
        let enqueue = self.enqueue(prepared, key, reply);
        match tokio::time::timeout(self.shared.options.wait_max, enqueue).await {
            Ok(enqueued) => enqueued?,
            Err(_) => return Err(self.busy()),
        }
        answer.await.unwrap_or(Err(Error::Closed))
    }

    /// What the table holds now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.state().snapshot()
    }

    /// How much the table holds.
    #[must_use]
    pub fn stats(&self) -> TableStats {
        self.state().stats()
    }

    /// How much of the table is kept, where it says so itself.
    #[must_use]
    pub fn retention(&self) -> Retention {
        self.state().retention
    }

    /// Waits until the rows fit in memory and the committer takes them.
    async fn enqueue(
        self: &Arc<Self>,
        prepared: Prepared,
        key: Option<Sent>,
        reply: oneshot::Sender<Result<Receipt, Error>>,
    ) -> Result<(), Error> {
        let bytes = prepared.bytes();
        let room = match self.shared.options.background {
            true => self.shared.budget.take(bytes, || self.shared.wakeup.ring()).await,
            false => self.shared.budget.force(bytes),
        };
        let rows = PreparedRows { table: Arc::clone(self), prepared, room, key };
        let job = AppendRequest { rows, reply };
        self.shared.queue.send(Some(job)).await.map_err(|_| Error::Closed)
    }

    fn busy(&self) -> Error {
        let reason = match self.shared.flush_error() {
            Some(flush_error) => format!("rows cannot be flushed: {flush_error}"),
            None => "rows come faster than they are flushed".to_owned(),
        };
        Error::Busy { retry_after: RETRY_AFTER, reason }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Where the table's Parquet files are.
    pub(crate) fn folder(&self) -> PathBuf {
        self.shared.folder.table(&self.dbms, &self.name)
    }

    pub(crate) fn key_reused(&self, rows: u64) -> Error {
        Error::KeyReused { dbms: self.dbms.clone(), table: self.name.clone(), rows }
    }

    /// What a file of the table that is written now says of itself, in the place of others.
    pub(crate) fn origin(&self, replaced: &[Arc<DataFile>]) -> Origin {
        let (storage, sequence) = self.shared.store.position();
        Origin {
            storage,
            sequence,
            table_id: self.id,
            dbms: self.dbms.clone(),
            table: self.name.clone(),
            replaces: replaced.iter().map(|file| file.number).collect(),
        }
    }

    pub(crate) fn not_found(&self) -> Error {
        Error::NotFound { dbms: self.dbms.clone(), table: self.name.clone() }
    }

    pub(crate) fn state(&self) -> RwLockReadGuard<'_, TableState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state_mut(&self) -> RwLockWriteGuard<'_, TableState> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn upkeep(&self) -> MutexGuard<'_, ()> {
        self.upkeep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("dbms", &self.dbms)
            .field("name", &self.name)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
