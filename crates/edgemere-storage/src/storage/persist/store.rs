//! The key-value store `fresh.redb`: one transaction at a time, each followed by the change of
//! memory that says the same.
//!
//! After a failed write redb takes no more until it is opened again, so it is opened again. Whether
//! the failed transaction came through, its number tells: when it did, memory follows it. The writer
//! has had its error by then: an error of the disk leaves open whether the rows are stored, but they
//! are stored all or not at all.
//!
//! After a failed fsync the system may take pages for written that never were, and a later fsync says
//! nothing of them. So the file is then copied before it is opened again.
//!
//! It knows transactions, and nothing of what is in them.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::{Database, DatabaseError, Durability, ReadTransaction, ReadableDatabase};

use crate::storage::Error;
use crate::storage::persist::folder;
use crate::storage::persist::keyspace::{self, Digests, Keyspace, Transaction};
use crate::storage::persist::record::{FORMAT, StorageId, StoreHeader};
use crate::storage::persist::witness::Witness;

/// Opens the database: a file, or in tests one that fails.
pub(crate) type Opener = Box<dyn Fn(&Path) -> Result<Database, DatabaseError> + Send + Sync>;

/// A change of memory that a transaction calls for.
pub(crate) type Apply = Box<dyn FnOnce() + Send>;

/// The store.
pub(crate) struct Store {
    path: PathBuf,
    opener: Opener,
    next_file: AtomicU64,
    /// What was read at the start.
    found: StoreHeader,
    /// The number of the last transaction that came through, for those who do not wait for others.
    sequence: AtomicU64,
    witness: Witness,
    slot: Mutex<Slot>,
}

/// The database and where it stands.
struct Slot {
    /// None after a failed write, until it is opened again.
    database: Option<Database>,
    marks: StoreHeader,
    /// A transaction whose end is not known.
    doubt: Option<Pending>,
    /// Whether the system may hold bytes of the file for written that are not.
    suspect: bool,
    closed: bool,
}

/// A transaction that may have come through, with what memory owes it.
struct Pending {
    marks: StoreHeader,
    apply: Option<Apply>,
}

impl Pending {
    /// It came through: memory follows.
    fn apply(&mut self) {
        if let Some(apply) = self.apply.take() {
            apply();
        }
    }

    /// It did not: a Parquet file that it was to add is deleted with this.
    fn undo(&mut self) {
        self.apply = None;
    }
}

impl Drop for Pending {
    /// While nobody knows, everything stays: the database may name the new Parquet file.
    fn drop(&mut self) {
        if let Some(apply) = self.apply.take() {
            std::mem::forget(apply);
        }
    }
}

impl Store {
    /// Opens the store and has everything in it read by `load`.
    pub(crate) fn open<T>(
        path: &Path,
        opener: Opener,
        load: impl FnOnce(&ReadTransaction) -> Result<T, Error>,
    ) -> Result<(Self, T), Error> {
        let ((database, mut marks), loaded) = guarded(path, || {
            let opened = open_database(path, &opener)?;
            let transaction = opened.0.begin_read().map_err(|error| failed(path, error))?;
            Ok((opened, load(&transaction)?))
        })?;
        let found = marks;
        let witness = Witness::open(path.parent().unwrap_or(Path::new(".")))?;
        // The next transaction writes it.
        marks.storage.get_or_insert_with(StorageId::new);
        let slot =
            Slot { database: Some(database), marks, doubt: None, suspect: false, closed: false };
        let next_file = AtomicU64::new(marks.next_file);
        let sequence = AtomicU64::new(marks.sequence);
        let (path, slot) = (path.to_owned(), Mutex::new(slot));
        let store = Self { path, opener, next_file, found, sequence, witness, slot };
        Ok((store, loaded))
    }

    /// A number that no Parquet file has had.
    pub(crate) fn next_file(&self) -> u64 {
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    /// What the storage counted when it was opened.
    pub(crate) fn found(&self) -> StoreHeader {
        self.found
    }

    /// Which storage it is, and its last transaction that is durable.
    pub(crate) fn position(&self) -> (StorageId, u64) {
        let mut slot = self.lock();
        let id = *slot.marks.storage.get_or_insert_with(StorageId::new);
        (id, slot.marks.sequence)
    }

    /// Reads what is durable, while transactions go on. What `also` gives is of the same moment: no
    /// transaction runs meanwhile.
    pub(crate) fn read<T, U>(
        &self,
        also: impl FnOnce(StoreHeader) -> U,
        look: impl FnOnce(&ReadTransaction, U) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut slot = self.lock();
        self.ready(&mut slot)?;
        let Some(database) = &slot.database else { return Err(Error::Closed) };
        let transaction = database.begin_read().map_err(|error| failed(&self.path, error))?;
        let same_moment = also(slot.marks);
        drop(slot);
        guarded(&self.path, || look(&transaction, same_moment))
    }

    /// Runs a transaction and, when it is durable, the change of memory that its body returns.
    ///
    /// No other transaction comes in between, so the body may rely on what it reads in memory. When
    /// the body fails, nothing is changed.
    pub(crate) fn commit<T>(
        &self,
        body: impl FnOnce(&Transaction<'_>, &mut StoreHeader) -> Result<(T, Apply), Error>,
    ) -> Result<T, Error> {
        let mut slot = self.lock();
        self.ready(&mut slot)?;
        let Some(database) = &slot.database else { return Err(Error::Closed) };
        let marks = StoreHeader { sequence: slot.marks.sequence + 1, ..slot.marks };
        let mut pending = None;
        match guarded(&self.path, || self.transact(database, marks, body, &mut pending)) {
            Ok(value) => {
                if let Some(mut done) = pending.take() {
                    slot.marks = done.marks;
                    self.witness(&done.marks);
                    self.sequence.store(done.marks.sequence, Ordering::Release);
                    done.apply();
                }
                Ok(value)
            }
            Err(error) => {
                self.recover(&mut slot, pending, &error);
                Err(error)
            }
        }
    }

    /// Refuses a store that has lost transactions which were acknowledged.
    pub(crate) fn check_witness(&self) -> Result<(), Error> {
        let Some(id) = self.found.storage else { return Ok(()) };
        self.witness.check(&self.path, id, self.found.sequence)
    }

    /// Makes durable which transaction was the last, a moment after it was.
    pub(crate) fn sync_witness(&self) {
        self.witness.sync();
    }

    fn witness(&self, marks: &StoreHeader) {
        if let Some(storage) = marks.storage {
            self.witness.note(storage, marks.sequence);
        }
    }

    /// Changes memory while no transaction is under way.
    pub(crate) fn alone(&self, change: impl FnOnce()) {
        let _slot = self.lock();
        change();
    }

    /// Closes the database. Nothing can be written any more.
    pub(crate) fn close(&self) {
        let mut slot = self.lock();
        slot.closed = true;
        self.witness.sync();
        if let Err(error) = self.shut(&mut slot) {
            let path = self.path.display();
            tracing::warn!(%path, %error, "the store was not closed cleanly");
        }
    }

    /// The bytes of the database's file.
    pub(crate) fn bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }

    /// The number of the last transaction that came through.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence.load(Ordering::Acquire)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts a transaction together and commits it. What it calls for is pending from when it may
    /// have come through.
    fn transact<T>(
        &self,
        database: &Database,
        mut marks: StoreHeader,
        body: impl FnOnce(&Transaction<'_>, &mut StoreHeader) -> Result<(T, Apply), Error>,
        pending: &mut Option<Pending>,
    ) -> Result<T, Error> {
        let mut transaction = database.begin_write().map_err(|error| failed(&self.path, error))?;
        transaction
            .set_durability(Durability::Immediate)
            .map_err(|error| failed(&self.path, error))?;
        let (values, keys) = (marks.digest, marks.keys_digest);
        let digests =
            Digests { values: values.unwrap_or_default(), keys: keys.unwrap_or_default() };
        let digests = Cell::new(digests);
        let writes = Transaction { transaction: &transaction, path: &self.path, digests };
        let (value, apply) = body(&writes, &mut marks)?;
        writes.digests.get().mark(&mut marks);
        marks.next_file = self.next_file.load(Ordering::Relaxed);
        writes.put_json(Keyspace::StoreHeader, (0, 0), &marks)?;
        *pending = Some(Pending { marks, apply: Some(apply) });
        transaction.commit().map_err(|error| failed(&self.path, error))?;
        Ok(value)
    }

    /// After a failure of the disk: opens the database again, now or, when that fails too, before
    /// the next transaction.
    fn recover(&self, slot: &mut Slot, doubt: Option<Pending>, error: &Error) {
        if !matches!(error, Error::Io { .. } | Error::Damaged { .. }) {
            return;
        }
        slot.doubt = doubt;
        slot.suspect |= !error.is_full();
        if let Err(error) = self.shut(slot).and_then(|()| self.ready(slot)) {
            let path = self.path.display();
            tracing::warn!(%path, %error, "the store cannot be written for now");
        }
    }

    /// Closes the database. That writes too, and what it cannot write the next open repairs.
    fn shut(&self, slot: &mut Slot) -> Result<(), Error> {
        let database = slot.database.take();
        guarded(&self.path, move || {
            drop(database);
            Ok(())
        })
    }

    /// Sees to it that the database is open, and decides what was in doubt.
    fn ready(&self, slot: &mut Slot) -> Result<(), Error> {
        if slot.closed {
            return Err(Error::Closed);
        }
        if slot.database.is_some() {
            return Ok(());
        }
        if slot.suspect {
            folder::renew(&self.path)?;
            slot.suspect = false;
        }
        let (database, marks) = guarded(&self.path, || open_database(&self.path, &self.opener))?;
        let came_through =
            slot.doubt.as_ref().is_some_and(|doubt| doubt.marks.sequence == marks.sequence);
        if !came_through && marks.sequence != slot.marks.sequence {
            let (found, expected) = (marks.sequence, slot.marks.sequence);
            let reason = format!("transaction {found} is its last, and {expected} was");
            return Err(Error::damaged(&self.path, reason));
        }
        slot.database = Some(database);
        slot.marks = StoreHeader { storage: marks.storage.or(slot.marks.storage), ..marks };
        self.sequence.store(marks.sequence, Ordering::Release);
        if let Some(mut doubt) = slot.doubt.take() {
            if came_through {
                doubt.apply()
            } else {
                doubt.undo()
            }
            self.witness(&slot.marks);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens the database and reads where it stands.
fn open_database(path: &Path, opener: &Opener) -> Result<(Database, StoreHeader), Error> {
    let database = opener(path).map_err(|error| match error {
        DatabaseError::Storage(redb::StorageError::Io(source))
            if source.kind() == std::io::ErrorKind::InvalidData =>
        {
            Error::damaged(path, source.to_string())
        }
        error => Error::store("open", path, error.into()),
    })?;
    let transaction = database.begin_read().map_err(|error| failed(path, error))?;
    let mut marks = StoreHeader::default();
    keyspace::read(&transaction, path, Keyspace::StoreHeader, |_, value| {
        marks = keyspace::parse(path, value)?;
        Ok(())
    })?;
    if marks.format != FORMAT {
        let reason = format!("its format is {}, and this version reads {FORMAT}", marks.format);
        return Err(Error::damaged(path, reason));
    }
    let digests = Digests::read(&transaction, path)?;
    if !digests.fit(&marks) {
        return Err(Error::damaged(path, "its values are not those that were written"));
    }
    digests.mark(&mut marks);
    Ok((database, marks))
}

fn failed(path: &Path, error: impl Into<redb::Error>) -> Error {
    Error::store("write", path, error.into())
}

/// Runs what may panic over a damaged file, and makes an error of that.
fn guarded<T>(path: &Path, run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Err(Error::damaged(path, "reading it went astray")))
}
