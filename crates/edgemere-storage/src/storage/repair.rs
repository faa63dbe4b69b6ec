//! Rebuilds a manifest from the Parquet files, when `fresh.redb` is lost, damaged or older than they are.
//!
//! Each file says in its footer what it is (`footer`). Of files with the same rows the newest is taken: it
//! was made of the others. What the old `fresh.redb` still tells is taken from it: rows that have not
//! flushed, views, rules of retention, keys of appends. It is kept under another name.

mod choose;
mod old;

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::Database;

use self::choose::{Chosen, Plan};
use self::old::Old;
use crate::private;
use crate::storage::DataFile;
use crate::storage::Error;
use crate::storage::parquet_files::footer::Origin;
use crate::storage::persist::folder::{Folder, sync_folder};
use crate::storage::persist::keyspace::{Keyspace, Transaction, Value};
use crate::storage::persist::record::{Counters, FORMAT, StorageId, StoreHeader, TableRecord};

/// What a repair found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Whether there was anything to repair.
    pub needed: bool,
    /// How many tables there are now.
    pub tables: usize,
    /// How many Parquet files they have.
    pub files: usize,
    /// How many rows there are in all.
    pub rows: u64,
    /// How many of them were in the memtable, and were in the old `fresh.redb` alone.
    pub memtable_rows: u64,
    /// What was found, in words.
    pub found: Vec<String>,
    /// What cannot be recovered, in words.
    pub missing: Vec<String>,
    /// Where the old `fresh.redb` is now.
    pub saved: Option<PathBuf>,
}

/// Rebuilds the manifest of a storage that nobody has open. A dry run changes nothing.
pub fn repair(folder: &Path, dry_run: bool) -> Result<Repair, Error> {
    let folder = Arc::new(Folder::open(folder)?);
    let mut report = Repair::default();
    let old = Old::read(&folder, &mut report)?;
    let plan = Plan::new(&folder, old, &mut report)?;
    report.tables = plan.tables.len();
    report.files = plan.tables.iter().map(|table| table.files.len()).sum();
    report.memtable_rows = plan.tables.iter().map(|table| table.memtable_rows()).sum();
    let flushed = plan.tables.iter().flat_map(|table| &table.files).map(|file| file.record.rows);
    report.rows = flushed.sum::<u64>() + report.memtable_rows;
    if report.needed && !dry_run {
        write(&folder, plan, &mut report)?;
    }
    Ok(report)
}

/// Writes the new store beside the old one, and puts it in its place in one step.
fn write(folder: &Arc<Folder>, mut plan: Plan, report: &mut Repair) -> Result<(), Error> {
    let new = folder.path().join("fresh.redb.repaired");
    let storage = plan.storage.unwrap_or_else(StorageId::new);
    // Files that are written now are not newer than the manifest.
    let sequence = plan.sequence + 1;
    for table in &mut plan.tables {
        flush(folder, table, (storage, sequence), &mut plan.next_file)?;
    }
    let _ = fs::remove_file(&new);
    write_store(
        &new,
        &plan,
        StoreHeader {
            format: FORMAT,
            sequence: sequence + 1,
            next_table: plan.next_table,
            next_file: plan.next_file,
            digest: None,
            keys_digest: None,
            storage: Some(storage),
        },
    )?;
    let store = folder.store();
    if store.exists() {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ");
        let saved = folder.path().join(format!("fresh.redb.before-repair-{now}"));
        fs::hard_link(&store, &saved)
            .or_else(|_| fs::copy(&store, &saved).map(drop))
            .map_err(|error| Error::io("keep", &store, error))?;
        report.saved = Some(saved);
    }
    fs::rename(&new, &store).map_err(|error| Error::io("rename", &new, error))?;
    for path in &plan.unreadable {
        folder.lose(path)?;
    }
    sync_folder(folder.path())
}

/// Makes a file of the rows of the memtable.
fn flush(
    folder: &Arc<Folder>,
    table: &mut Chosen,
    (storage, sequence): (StorageId, u64),
    next_file: &mut u64,
) -> Result<(), Error> {
    let memtable = std::mem::take(&mut table.memtable);
    let TableRecord { dbms, name, .. } = &table.record;
    let Some(schema) = table.record.schema().filter(|_| !memtable.is_empty()) else {
        return Ok(());
    };
    let (at, number) = (folder.table(dbms, name), *next_file);
    *next_file += 1;
    let origin = Origin {
        storage,
        sequence,
        table_id: table.id,
        dbms: dbms.clone(),
        table: name.clone(),
        replaces: Vec::new(),
    };
    let arrow = schema.arrow_with_system();
    let file = DataFile::write(folder, &at, number, &schema, &arrow, memtable, &origin)?;
    file.adopt();
    table.take(number, file.record());
    Ok(())
}

fn write_store(path: &Path, plan: &Plan, marks: StoreHeader) -> Result<(), Error> {
    let failed = |error: redb::Error| Error::store("write", path, error);
    private::create(path).map_err(|error| Error::io("create", path, error))?;
    let database = Database::create(path).map_err(|error| failed(error.into()))?;
    let transaction = database.begin_write().map_err(|error| failed(error.into()))?;
    let writes = Transaction { transaction: &transaction, path, digests: Cell::default() };
    for table in &plan.tables {
        writes.put_json(Keyspace::Tables, (table.id, 0), &table.record)?;
        let counters = Counters { next_row: table.next_row, next_block: table.next_block };
        writes.put_json(Keyspace::Counters, (table.id, 0), &counters)?;
        for file in &table.files {
            writes.put_json(Keyspace::Files, (table.id, file.number), &file.record)?;
        }
    }
    for (shelf, key, value) in &plan.kept {
        writes.put(*shelf, [(*key, Value::of(value))])?;
    }
    let mut marks = marks;
    writes.digests.get().mark(&mut marks);
    writes.put_json(Keyspace::StoreHeader, (0, 0), &marks)?;
    transaction.commit().map_err(|error| failed(error.into()))
}
