//! The storage itself: opens a folder, keeps its tables, and closes it.
//!
//! Calls that wait for the disk do so on a thread of the runtime for that; the three threads of the
//! storage, committer, keeper and scrub, live until it is closed or its last clone is dropped.

use std::collections::HashSet;
use std::fmt;
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use redb::{Database, DatabaseError, StorageError};
use tokio::sync::{Semaphore, mpsc, watch};

use crate::private;
use crate::schema::{Column, Schema};
use crate::storage::Error;
use crate::storage::Options;
use crate::storage::Recovery;
use crate::storage::Stats;
use crate::storage::Table;
use crate::storage::TableStats;
use crate::storage::View;
use crate::storage::maintenance::clock::ClockWatch;
use crate::storage::maintenance::compact;
use crate::storage::maintenance::compact::Eagerness;
use crate::storage::maintenance::flush;
use crate::storage::maintenance::scrub;
use crate::storage::maintenance::worker;
use crate::storage::options::{CACHE_BYTES, QUEUE_MAX, TABLES_MAX};
use crate::storage::parquet_files::damage;
use crate::storage::persist::epochs::Epochs;
use crate::storage::persist::folder::Folder;
use crate::storage::persist::free_space::Disk;
use crate::storage::persist::keyspace::{Keyspace, Transaction};
use crate::storage::persist::record::{Counters, TableRecord};
use crate::storage::persist::recovery;
use crate::storage::persist::store::{Apply, Opener, Store};
use crate::storage::shared::{Shared, Wakeup};
use crate::storage::tables::catalog::Catalog;
use crate::storage::tables::name;
use crate::storage::tables::widening::{self, Widening};
use crate::storage::write::budget::Budget;
use crate::storage::write::commit;
use crate::storage::write::commit::AppendRequest;
use crate::storage::write::idempotency;
use crate::storage::write::memtable::TableState;

/// The tables of an operator. Clones are the same storage.
#[derive(Clone)]
pub struct Storage {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) shared: Arc<Shared>,
    pub(super) catalog: Arc<Catalog>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Storage {
    /// Opens the storage in a folder, and makes both when they are missing.
    ///
    /// This waits for the disk. What a crash left unfinished is removed and reported. The folder is
    /// in use until the last clone, table and snapshot is dropped.
    pub fn open(folder: &Path, options: Options) -> Result<(Self, Recovery), Error> {
        let was_open = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&was_open);
        let opener: Opener = Box::new(move |path| {
            let noted = Arc::clone(&noted);
            // A file that is made by the library may be read by whom the umask lets.
            let made = private::options().create(true).append(true).open(path);
            made.map_err(|error| DatabaseError::Storage(StorageError::Io(error)))?;
            Database::builder()
                .set_cache_size(CACHE_BYTES)
                .set_repair_callback(move |_| noted.store(true, Ordering::Relaxed))
                .create(path)
        });
        let (storage, mut recovery) = Self::open_with(folder, options, opener)?;
        recovery.was_open = was_open.load(Ordering::Relaxed);
        Ok((storage, recovery))
    }

    pub(crate) fn open_with(
        folder: &Path,
        options: Options,
        opener: Opener,
    ) -> Result<(Self, Recovery), Error> {
        let folder = Arc::new(Folder::open(folder)?);
        recovery::check_store(&folder)?;
        let load = |transaction: &_| recovery::load(&folder, transaction);
        let (store, loaded) = Store::open(&folder.store(), opener, load)?;
        let recovery = recovery::sweep(&folder, &loaded.tables, &store)?;
        let (queue, jobs) = mpsc::channel(QUEUE_MAX);
        let shared = Arc::new(Shared {
            budget: Arc::new(Budget::new(options.memtable_bytes_max)),
            clock: ClockWatch::new(options.clock.clone(), loaded.clock),
            disk: Disk::new(folder.path(), options.disk.clone(), options.disk_reserve),
            held: Mutex::default(),
            epochs: Epochs::new(loaded.epochs),
            folder,
            options,
            store,
            queue,
            wakeup: Wakeup::default(),
            scrub_wakeup: Wakeup::default(),
            flush_error: Mutex::new(None),
            closed: AtomicBool::new(false),
            decoders: Semaphore::new(thread::available_parallelism().map_or(1, NonZero::get)),
        });
        let catalog = Arc::new(Catalog::default());
        for table in loaded.tables {
            shared.budget.force(table.state.stats().memtable_bytes).keep();
            let (dbms, name) = (&table.record.dbms, &table.record.name);
            catalog.insert(Table::new(table.id, dbms, name, &shared, table.state));
        }
        for (id, record) in loaded.views {
            catalog.insert_view(View::new(id, record));
        }
        for (id, record) in loaded.databases {
            catalog.set_record(id, record);
        }
        let inner = Inner { shared, catalog, threads: Mutex::default() };
        inner.start(jobs)?;
        Ok((Self { inner: Arc::new(inner) }, recovery))
    }

    /// The databases that answer, sorted.
    #[must_use]
    pub fn databases(&self) -> Vec<String> {
        self.inner.catalog.databases()
    }

    /// The tables of a database, sorted by name.
    #[must_use]
    pub fn tables(&self, dbms: &str) -> Vec<Arc<Table>> {
        self.inner.catalog.tables(dbms)
    }

    /// A table.
    #[must_use]
    pub fn table(&self, dbms: &str, name: &str) -> Option<Arc<Table>> {
        self.inner.catalog.get(dbms, name)
    }

    /// The folder that it is in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.inner.shared.folder.path()
    }

    /// How far the storage is: every transaction that is durable counts, and none is ever uncounted.
    /// A folder that is not so far as it was is an older copy of itself.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.inner.shared.store.sequence()
    }

    /// A version of the catalog's tables and columns, which the announcer watches. A change counts
    /// once it is durable, whether or not its request still waits.
    #[must_use]
    pub fn layout(&self) -> watch::Receiver<u64> {
        self.inner.catalog.layout()
    }

    /// Makes a table, durable when this returns. One that exists with the same columns is returned
    /// as it is.
    pub async fn create_table(
        &self,
        dbms: &str,
        name: &str,
        schema: Schema,
    ) -> Result<Arc<Table>, Error> {
        name::check("database", dbms)?;
        name::check("table", name)?;
        name::check_columns(&[], &schema.columns)?;
        let (inner, dbms, name) = (Arc::clone(&self.inner), dbms.to_owned(), name.to_owned());
        blocking(move || inner.create_table(&dbms, &name, &schema)).await
    }

    /// Adds columns to a table, durable when this returns. Older rows have nulls in them.
    pub async fn add_columns(&self, table: &Arc<Table>, columns: Vec<Column>) -> Result<(), Error> {
        self.change_columns(table, columns, vec![]).await
    }

    /// Adds columns to a table and makes others wider, both or neither, durable when this returns. No
    /// row is written again.
    ///
    /// A column that is of the wider type already stays as it is. One that is of a third type is a
    /// conflict, and one with values that would change is [`Error::Unfit`].
    pub async fn change_columns(
        &self,
        table: &Arc<Table>,
        added: Vec<Column>,
        wider: Vec<Widening>,
    ) -> Result<(), Error> {
        let (inner, table) = (Arc::clone(&self.inner), Arc::clone(table));
        blocking(move || inner.change_columns(&table, &added, wider)).await
    }

    /// Drops a table with all its rows, durable when this returns. Snapshots keep what they hold.
    pub async fn drop_table(&self, dbms: &str, name: &str) -> Result<(), Error> {
        let table = self
            .table(dbms, name)
            .ok_or_else(|| Error::NotFound { dbms: dbms.to_owned(), table: name.to_owned() })?;
        let inner = Arc::clone(&self.inner);
        blocking(move || inner.drop_table(&table)).await
    }

    /// Refuses rows while too little is free on the disk.
    pub fn check_room(&self) -> Result<(), Error> {
        self.inner.shared.disk.check_append()
    }

    /// Settles the rows of a table now, and returns how many.
    pub async fn flush(&self, table: &Arc<Table>) -> Result<u64, Error> {
        let table = Arc::clone(table);
        blocking(move || flush::flush(&table)).await
    }

    /// Settles the rows of all tables now, and returns how many.
    pub async fn flush_all(&self) -> Result<u64, Error> {
        let tables = self.inner.catalog.all();
        blocking(move || tables.iter().map(flush::flush).sum()).await
    }

    /// Merges the small files of a table now, and returns how many were merged.
    pub async fn compact(&self, table: &Arc<Table>) -> Result<usize, Error> {
        let table = Arc::clone(table);
        blocking(move || compact::compact(&table, Eagerness::Eager)).await
    }

    /// How much the storage holds.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut total = TableStats::default();
        let tables = self.inner.catalog.all();
        tables.iter().for_each(|table| total.add(table.stats()));
        Stats {
            databases: self.databases().len(),
            tables: tables.len(),
            total,
            store_bytes: self.inner.shared.store.bytes(),
        }
    }

    /// Closes the storage: what was appended is stored, later appends fail, snapshots go on. Fresh
    /// rows stay fresh and are there after the next open.
    pub async fn close(&self) -> Result<(), Error> {
        let inner = Arc::clone(&self.inner);
        blocking(move || {
            inner.stop();
            Ok(())
        })
        .await
    }
}

impl Inner {
    fn start(&self, jobs: mpsc::Receiver<Option<AppendRequest>>) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        self.spawn("storage-commit", move || commit::run(&shared, jobs))?;
        if self.shared.options.background {
            let (shared, catalog) = (Arc::clone(&self.shared), Arc::clone(&self.catalog));
            self.spawn("storage-keeper", move || worker::run(&shared, &catalog))?;
            let (shared, catalog) = (Arc::clone(&self.shared), Arc::clone(&self.catalog));
            self.spawn("storage-scrub", move || scrub::run(&shared, &catalog))?;
        }
        Ok(())
    }

    fn spawn(&self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run);
        let thread = thread
            .map_err(|error| Error::io("start a thread for", self.shared.store.path(), error))?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    fn create_table(&self, dbms: &str, name: &str, schema: &Schema) -> Result<Arc<Table>, Error> {
        self.shared.store.commit(|writes, marks| {
            self.check_free(dbms, name)?;
            if let Some(table) = self.catalog.get(dbms, name) {
                if *table.schema() != *schema {
                    return Err(Error::Conflict { dbms: dbms.into(), table: name.into() });
                }
                return Ok((table, Box::new(|| {})));
            }
            if self.catalog.len() >= TABLES_MAX {
                let limit = format!("{TABLES_MAX} tables");
                return Err(Error::TooLarge { what: "the storage", limit });
            }
            let id = marks.next_table;
            marks.next_table += 1;
            writes.put_json(Keyspace::Tables, (id, 0), &TableRecord::new(dbms, name, schema))?;
            let state = TableState::new(schema.clone(), Counters::default(), Vec::new());
            let table = Table::new(id, dbms, name, &self.shared, state);
            let (catalog, made) = (Arc::clone(&self.catalog), Arc::clone(&table));
            Ok((table, Box::new(move || catalog.insert(made))))
        })
    }

    fn change_columns(
        &self,
        table: &Arc<Table>,
        added: &[Column],
        wider: Vec<Widening>,
    ) -> Result<(), Error> {
        // Most files are looked at before anybody has to wait for it.
        let mut known = HashSet::new();
        if !wider.is_empty() {
            let files = table.state().files.clone();
            fit(widening::unfit_in_files(&files, &wider, &mut known))?;
        }
        self.shared.store.commit(|writes, _| {
            let state = table.state();
            if state.dropped {
                return Err(table.not_found());
            }
            let wider = outstanding(table, &state, wider)?;
            fit(widening::unfit_in_files(&state.files, &wider, &mut known))?;
            fit(widening::unfit_in_memtable(&state, &wider))?;
            name::check_columns(&state.schema.columns, added)?;
            let next = state.widened(added, &wider)?;
            let record = TableRecord::new(table.dbms(), table.name(), &next.schema);
            writes.put_json(Keyspace::Tables, (table.id, 0), &record)?;
            let (table, catalog) = (Arc::clone(table), Arc::clone(&self.catalog));
            let apply = move || {
                table.state_mut().widen(next);
                catalog.note_layout();
            };
            Ok(((), Box::new(apply)))
        })
    }

    fn drop_table(&self, table: &Arc<Table>) -> Result<(), Error> {
        let _upkeep = table.upkeep();
        self.shared.store.commit(|writes, _| {
            self.check_connected(table.dbms())?;
            Ok(((), self.remove_table(writes, table)?))
        })
    }

    /// Removes a table in a transaction. Its upkeep must be held.
    pub(super) fn remove_table(
        &self,
        writes: &Transaction<'_>,
        table: &Arc<Table>,
    ) -> Result<Apply, Error> {
        let state = table.state();
        if state.dropped {
            return Err(table.not_found());
        }
        let blocks = state.blocks().map_or(0..0, |(first, last)| first..last + 1);
        writes.remove(Keyspace::Blocks, blocks.map(|block| (table.id, block)))?;
        writes.remove(Keyspace::Files, state.files.iter().map(|file| (table.id, file.number)))?;
        for shelf in [Keyspace::Counters, Keyspace::Retention, Keyspace::Tables] {
            writes.remove(shelf, [(table.id, 0)])?;
        }
        idempotency::forget(writes, table.id)?;
        let (catalog, table) = (Arc::clone(&self.catalog), Arc::clone(table));
        Ok(Box::new(move || {
            catalog.remove(table.dbms(), table.name());
            let bytes = table.state_mut().drop_all();
            table.shared().budget.give(bytes);
        }))
    }

    /// Ends the threads, then closes the store.
    fn stop(&self) {
        self.shared.close();
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // One that panicked has nothing more to do either.
            let _ = thread.join();
        }
        for table in self.catalog.all() {
            if let Err(error) = damage::record(&table) {
                tracing::warn!(%error, "the manifest does not know of a damaged file");
            }
        }
        self.shared.store.close();
    }
}

/// Refuses columns that do not fit.
fn fit(columns: Vec<String>) -> Result<(), Error> {
    if columns.is_empty() { Ok(()) } else { Err(Error::Unfit { columns }) }
}

/// The columns that are not as wide as they are to be.
fn outstanding(
    table: &Table,
    state: &TableState,
    mut wider: Vec<Widening>,
) -> Result<Vec<Widening>, Error> {
    let kind = |name: &str| state.schema.columns.iter().find(|own| own.name == name);
    let kind = |name: &str| kind(name).map(|own| own.kind);
    wider.retain(|widening| kind(&widening.name) != Some(widening.to));
    match wider.iter().all(|widening| kind(&widening.name) == Some(widening.from)) {
        true => Ok(wider),
        false => Err(Error::Conflict { dbms: table.dbms().into(), table: table.name().into() }),
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.inner.shared.store.path();
        f.debug_struct("Storage").field("path", &path).finish_non_exhaustive()
    }
}

/// Runs what waits for the disk where waiting is allowed.
pub(super) async fn blocking<T: Send + 'static>(
    run: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(run).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Error::Closed),
        },
    }
}
