//! A consistent copy of a storage in a new folder: its manifest and the rows of the memtable in a
//! new `fresh.redb`, and links to its Parquet files. Writers and queries go on meanwhile.
//!
//! It is the storage as it was after one transaction: a transaction that reads is begun and the files are
//! held while no other transaction runs. Opened, the copy is a storage.

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Database, ReadTransaction, ReadableDatabase};

use crate::private;
use crate::storage::Damage;
use crate::storage::DataFile;
use crate::storage::Error;
use crate::storage::Storage;
use crate::storage::handle::blocking;
use crate::storage::persist::folder::{Folder, create_durably, sync_folder};
use crate::storage::persist::keyspace::{Keyspace, Transaction, Value, get_json, read};
use crate::storage::persist::record::StoreHeader;
use crate::storage::persist::recovery;
use crate::storage::persist::strays::Strays;
use crate::storage::persist::witness::Witness;

/// What a copy of a storage has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// Which storage it is of.
    pub storage: Option<String>,
    /// Its last transaction.
    pub sequence: u64,
    /// How many tables there are.
    pub tables: usize,
    /// How many Parquet files.
    pub files: usize,
    /// How many rows they have.
    pub rows: u64,
    /// How many rows are in the memtable.
    pub memtable_rows: u64,
    /// The files that are damaged, and not in the copy: where they are in the folder, and why.
    pub damaged: Vec<Damage>,
}

impl Storage {
    /// Makes a copy in a folder that is not there yet, on the same disk.
    pub async fn back_up(&self, to: &Path) -> Result<Backup, Error> {
        let (inner, to) = (Arc::clone(&self.inner), to.to_owned());
        blocking(move || {
            let held = |marks: StoreHeader| {
                let tables = inner.catalog.all();
                let memtable_rows = tables.iter().map(|table| table.stats().memtable_rows).sum();
                let files = tables.iter().flat_map(|table| table.state().files.clone()).collect();
                Held { marks, tables: tables.len(), memtable_rows, files }
            };
            let folder = &inner.shared.folder;
            inner.shared.store.read(held, |transaction, held| write(folder, transaction, held, &to))
        })
        .await
    }
}

/// Makes a copy of a storage that nobody has open.
pub fn back_up_closed(folder: &Path, to: &Path) -> Result<Backup, Error> {
    let folder = Arc::new(Folder::open(folder)?);
    create_durably(to)?;
    // What a crash left unfinished is finished in a copy, so that nothing is changed.
    let copy = to.join("fresh.redb.copy");
    copy_privately(&folder.store(), &copy)?;
    let failed = |error: redb::Error| Error::store("read", &copy, error);
    let database = Database::open(&copy).map_err(|error| failed(error.into()))?;
    let transaction = database.begin_read().map_err(|error| failed(error.into()))?;
    let contents = recovery::load(&folder, &transaction)?;
    let marks: StoreHeader =
        get_json(&transaction, &copy, Keyspace::StoreHeader, (0, 0))?.unwrap_or_default();
    Strays::find(&folder, &contents.tables)?.check_age(marks)?;
    if let Some(id) = marks.storage {
        Witness::open(folder.path())?.check(&folder.store(), id, marks.sequence)?;
    }
    let held = Held {
        marks,
        tables: contents.tables.len(),
        memtable_rows: contents.tables.iter().map(|table| table.state.stats().memtable_rows).sum(),
        files: contents.tables.iter().flat_map(|table| table.state.files.clone()).collect(),
    };
    let backup = write(&folder, &transaction, held, to)?;
    drop((transaction, database));
    fs::remove_file(&copy).map_err(|error| Error::io("remove", &copy, error))?;
    Ok(backup)
}

/// What is of the same moment as a transaction.
struct Held {
    marks: StoreHeader,
    tables: usize,
    memtable_rows: u64,
    files: Vec<Arc<DataFile>>,
}

fn write(
    folder: &Folder,
    transaction: &ReadTransaction,
    held: Held,
    to: &Path,
) -> Result<Backup, Error> {
    create_durably(to)?;
    let (mut damaged, mut rows) = (Vec::new(), 0);
    for file in &held.files {
        let place = file.path.strip_prefix(folder.path()).unwrap_or(&file.path);
        if let Some(reason) = recovery::damage(file) {
            damaged.push(Damage { path: place.to_owned(), reason });
            continue;
        }
        link(&file.path, &to.join(place))?;
        rows += file.rows;
    }
    write_store(transaction, &folder.store(), &to.join("fresh.redb"))?;
    sync_folder(to)?;
    Ok(Backup {
        storage: held.marks.storage.map(String::from),
        sequence: held.marks.sequence,
        tables: held.tables,
        files: held.files.len() - damaged.len(),
        rows,
        memtable_rows: held.memtable_rows,
        damaged,
    })
}

/// Writes everything that a transaction reads to a new store. Every value is verified on the way.
fn write_store(transaction: &ReadTransaction, from: &Path, to: &Path) -> Result<(), Error> {
    let failed = |error: redb::Error| Error::store("write", to, error);
    private::create(to).map_err(|error| Error::io("create", to, error))?;
    let database = Database::create(to).map_err(|error| failed(error.into()))?;
    let written = database.begin_write().map_err(|error| failed(error.into()))?;
    // The marks are copied with the digest of the values that are copied with them.
    let writes = Transaction { transaction: &written, path: to, digests: Cell::default() };
    for shelf in Keyspace::ALL {
        read(transaction, from, shelf, |key, value| writes.put(shelf, [(key, Value::of(value))]))?;
    }
    written.commit().map_err(|error| failed(error.into()))
}

/// Gives a file a second name, or copies it where that cannot be.
fn link(from: &Path, to: &Path) -> Result<(), Error> {
    to.parent().map_or(Ok(()), create_durably)?;
    match fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Error::io("link", from, error))
        }
        Err(_) => copy_privately(from, to).map(drop),
    }
}

fn copy_privately(from: &Path, to: &Path) -> Result<PathBuf, Error> {
    let copied = fs::File::open(from).and_then(|mut from| {
        let mut file = private::create(to)?;
        io::copy(&mut from, &mut file)?;
        file.sync_all()
    });
    copied.map_err(|error| Error::io("copy", from, error))?;
    Ok(to.to_owned())
}
