//! From a folder to tables: reads what the store holds, and checks that it fits together. What is done
//! with files that the manifest does not name is in `strays`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::ReadTransaction;
use serde::de::DeserializeOwned;

use crate::storage::DataFile;
use crate::storage::Error;
use crate::storage::Retention;
use crate::storage::persist::epochs::EpochRecord;
use crate::storage::persist::folder::Folder;
use crate::storage::persist::keyspace::{Keyspace, get_json, parse, read};
use crate::storage::persist::record::{
    Counters, DatabaseRecord, FileRecord, TableRecord, ViewRecord,
};
use crate::storage::persist::store::Store;
use crate::storage::persist::strays::Strays;
use crate::storage::write::block;
use crate::storage::write::memtable::{MemtableChunk, TableState};

/// What opening a storage found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// How many tables there are.
    pub tables: usize,
    /// How many rows were in the memtable.
    pub memtable_rows: u64,
    /// How many Parquet files there are.
    pub files: usize,
    /// Whether the storage was not closed before: a crash, or a kill.
    pub was_open: bool,
    /// Files that were removed, because a crash left them unfinished or as a second copy of rows.
    pub removed: Vec<PathBuf>,
    /// Files that the manifest does not name, with rows that nothing else has, as far as is known. They
    /// were moved away.
    pub lost: Vec<Lost>,
    /// Files that are not as they should be. Reading their tables fails.
    pub damaged: Vec<Damage>,
}

/// A file that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub reason: String,
}

/// A file that was moved away, because the manifest does not name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Where it was.
    pub from: PathBuf,
    /// Where it is now.
    pub to: PathBuf,
    /// What is known of it.
    pub reason: String,
}

/// A table as it was read.
pub(crate) struct Loaded {
    pub(crate) id: u64,
    pub(crate) record: TableRecord,
    pub(crate) state: TableState,
}

/// Everything that was read.
pub(crate) struct Contents {
    pub(crate) tables: Vec<Loaded>,
    /// What is recorded of databases, by id.
    pub(crate) databases: Vec<(u64, DatabaseRecord)>,
    /// The views, by id.
    pub(crate) views: Vec<(u64, ViewRecord)>,
    /// The last time that was seen and trusted.
    pub(crate) clock: Option<i64>,
    /// The epochs, the oldest first.
    pub(crate) epochs: Vec<EpochRecord>,
}

/// Reads everything.
pub(crate) fn load(folder: &Arc<Folder>, transaction: &ReadTransaction) -> Result<Contents, Error> {
    Ok(Contents {
        tables: load_tables(folder, transaction)?,
        databases: load_records(folder, transaction, Keyspace::Databases)?,
        views: load_records(folder, transaction, Keyspace::Views)?,
        epochs: load_records(folder, transaction, Keyspace::Epochs)?
            .into_iter()
            .map(|(_, record)| record)
            .collect(),
        clock: get_json(transaction, &folder.store(), Keyspace::Clock, (0, 0))?,
    })
}

/// Reads the records of a shelf, with their ids.
fn load_records<T: DeserializeOwned>(
    folder: &Folder,
    transaction: &ReadTransaction,
    shelf: Keyspace,
) -> Result<Vec<(u64, T)>, Error> {
    let path = folder.store();
    let mut records = Vec::new();
    read(transaction, &path, shelf, |key, value| {
        records.push((key.0, parse(&path, value)?));
        Ok(())
    })?;
    Ok(records)
}

fn load_tables(folder: &Arc<Folder>, transaction: &ReadTransaction) -> Result<Vec<Loaded>, Error> {
    let path = folder.store();
    let mut loader = Loader { folder, path: &path, tables: BTreeMap::new() };
    let mut counters = BTreeMap::new();
    read(transaction, &path, Keyspace::Counters, |key, value| {
        counters.insert(key.0, parse::<Counters>(&path, value)?);
        Ok(())
    })?;
    read(transaction, &path, Keyspace::Tables, |key, value| {
        loader.table(key.0, counters.get(&key.0).copied().unwrap_or_default(), value)
    })?;
    for (id, retention) in load_records::<Retention>(folder, transaction, Keyspace::Retention)? {
        loader.find(id)?.state.retention = retention;
    }
    read(transaction, &path, Keyspace::Files, |key, value| loader.file(key, value))?;
    let mut ends = BTreeMap::new();
    read(transaction, &path, Keyspace::Blocks, |key, value| {
        ends.insert(key.0, loader.block(key, value, ends.get(&key.0).copied())?);
        Ok(())
    })?;
    for (id, end) in ends {
        if loader.find(id)?.state.counters != end {
            return Err(loader.unfit(id, "its last block is not the last"));
        }
    }
    Ok(loader.tables.into_values().collect())
}

struct Loader<'a> {
    folder: &'a Arc<Folder>,
    path: &'a Path,
    tables: BTreeMap<u64, Loaded>,
}

impl Loader<'_> {
    fn table(&mut self, id: u64, counters: Counters, value: &[u8]) -> Result<(), Error> {
        let record: TableRecord = parse(self.path, value)?;
        let schema = record.schema().ok_or_else(|| self.unfit(id, "a column has no known type"))?;
        let state = TableState::new(schema, counters, Vec::new());
        self.tables.insert(id, Loaded { id, record, state });
        Ok(())
    }

    fn file(&mut self, (id, number): (u64, u64), value: &[u8]) -> Result<(), Error> {
        let record: FileRecord = parse(self.path, value)?;
        let folder = Arc::clone(self.folder);
        let table = self.find(id)?;
        let at = folder.table(&table.record.dbms, &table.record.name);
        let file = DataFile::known(&folder, &at, number, record);
        table.state.replace(&[], Some(Arc::new(file)));
        Ok(())
    }

    /// Adds the rows of a block, which must follow those of the one before, and returns what comes
    /// after it.
    fn block(
        &mut self,
        (id, number): (u64, u64),
        value: &[u8],
        expected: Option<Counters>,
    ) -> Result<Counters, Error> {
        let path = self.path;
        let state = &mut self.find(id)?.state;
        let (head, batch, bytes) = block::restore(path, value, number, &state.arrow)?;
        let found = Counters { next_row: head.first_row, next_block: number };
        if expected.is_some_and(|expected| expected != found) {
            return Err(self.unfit(id, "a block is missing"));
        }
        state.push(MemtableChunk {
            blocks: (number, number),
            inserted: head.inserted,
            bytes,
            batch,
        });
        Ok(Counters { next_row: head.first_row + head.rows, next_block: number + 1 })
    }

    fn find(&mut self, id: u64) -> Result<&mut Loaded, Error> {
        let path = self.path;
        self.tables
            .get_mut(&id)
            .ok_or_else(|| Error::damaged(path, format!("it has rows of an unknown table {id}")))
    }

    fn unfit(&self, id: u64, reason: &str) -> Error {
        Error::damaged(self.path, format!("table {id}: {reason}"))
    }
}

/// Refuses a folder that has Parquet files and no store: they would all look like garbage.
pub(crate) fn check_store(folder: &Folder) -> Result<(), Error> {
    let path = folder.store();
    let is_new = fs::metadata(&path).map_or(true, |metadata| metadata.len() == 0);
    if is_new && !folder.parquet_files()?.is_empty() {
        return Err(Error::damaged(&path, "it is missing, but there are Parquet files"));
    }
    Ok(())
}

/// Compares the files that are there with those that should be, and puts away what should not.
pub(crate) fn sweep(folder: &Folder, tables: &[Loaded], store: &Store) -> Result<Recovery, Error> {
    let marks = store.found();
    let files = || tables.iter().flat_map(|table| &table.state.files);
    let mut recovery = Recovery {
        tables: tables.len(),
        memtable_rows: tables.iter().map(|table| table.state.stats().memtable_rows).sum(),
        files: files().count(),
        ..Recovery::default()
    };
    let strays = Strays::find(folder, tables)?;
    strays.check_age(marks)?;
    store.check_witness()?;
    strays.put_away(folder, marks, &mut recovery)?;
    folder.remove_empty_folders()?;
    for file in files() {
        if let Some(reason) = damage(file) {
            recovery.damaged.push(Damage { path: file.path.clone(), reason });
        }
    }
    Ok(recovery)
}

/// What is wrong with a file, as far as can be seen from outside. One that was damaged before is read
/// again: it may have been put back.
pub(crate) fn damage(file: &DataFile) -> Option<String> {
    let error = match file.damage() {
        Some(_) => file.verify(|_| true).err(),
        None => file.check_length().err(),
    };
    match error? {
        Error::Damaged { reason, .. } => Some(reason),
        error => Some(error.to_string()),
    }
}
