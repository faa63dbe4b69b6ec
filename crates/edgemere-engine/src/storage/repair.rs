//! Rebuilds a manifest from the Parquet files, when `fresh.redb` is lost, damaged or older than they are.
//!
//! Each file says in its footer what it is (`footer`). Of files with the same rows the newest is taken: it
//! was made of the others. What the old `fresh.redb` still tells is taken from it: rows that have not
//! settled, views, rules of retention, keys of appends. It is kept under another name.

mod choose;
mod old;

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::Database;

use self::choose::{Chosen, Plan};
use self::old::Old;
use super::folder::{Folder, sync_folder};
use super::footer::Origin;
use super::record::{Counters, FORMAT, Marks, StorageId, TableRecord};
use super::writes::{Shelf, Value, Writes};
use super::{DataFile, Error};
use crate::private;

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
    /// How many of them had not settled, and were in the old `fresh.redb` alone.
    pub fresh_rows: u64,
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
    report.fresh_rows = plan.tables.iter().map(|table| table.fresh_rows()).sum();
    let settled = plan.tables.iter().flat_map(|table| &table.files).map(|file| file.record.rows);
    report.rows = settled.sum::<u64>() + report.fresh_rows;
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
        settle(folder, table, (storage, sequence), &mut plan.next_file)?;
    }
    let _ = fs::remove_file(&new);
    write_store(
        &new,
        &plan,
        Marks {
            format: FORMAT,
            sequence: sequence + 1,
            next_table: plan.next_table,
            next_file: plan.next_file,
            digest: None,
            keys_digest: None,
            storage: Some(storage),
        },
    )?;
    let fresh = folder.fresh();
    if fresh.exists() {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ");
        let saved = folder.path().join(format!("fresh.redb.before-repair-{now}"));
        fs::hard_link(&fresh, &saved)
            .or_else(|_| fs::copy(&fresh, &saved).map(drop))
            .map_err(|error| Error::io("keep", &fresh, error))?;
        report.saved = Some(saved);
    }
    fs::rename(&new, &fresh).map_err(|error| Error::io("rename", &new, error))?;
    for path in &plan.unreadable {
        folder.lose(path)?;
    }
    sync_folder(folder.path())
}

/// Makes a file of the rows that had not settled.
fn settle(
    folder: &Arc<Folder>,
    table: &mut Chosen,
    (storage, sequence): (StorageId, u64),
    next_file: &mut u64,
) -> Result<(), Error> {
    let fresh = std::mem::take(&mut table.fresh);
    let TableRecord { dbms, name, .. } = &table.record;
    let Some(schema) = table.record.schema().filter(|_| !fresh.is_empty()) else { return Ok(()) };
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
    let file = DataFile::write(folder, &at, number, &schema, &arrow, fresh, &origin)?;
    file.adopt();
    table.take(number, file.record());
    Ok(())
}

fn write_store(path: &Path, plan: &Plan, marks: Marks) -> Result<(), Error> {
    let failed = |error: redb::Error| Error::store("write", path, error);
    private::create(path).map_err(|error| Error::io("create", path, error))?;
    let database = Database::create(path).map_err(|error| failed(error.into()))?;
    let transaction = database.begin_write().map_err(|error| failed(error.into()))?;
    let writes = Writes { transaction: &transaction, path, digests: Cell::default() };
    for table in &plan.tables {
        writes.put_json(Shelf::Tables, (table.id, 0), &table.record)?;
        let counters = Counters { next_row: table.next_row, next_block: table.next_block };
        writes.put_json(Shelf::Counters, (table.id, 0), &counters)?;
        for file in &table.files {
            writes.put_json(Shelf::Files, (table.id, file.number), &file.record)?;
        }
    }
    for (shelf, key, value) in &plan.kept {
        writes.put(*shelf, [(*key, Value::of(value))])?;
    }
    let mut marks = marks;
    writes.digests.get().mark(&mut marks);
    writes.put_json(Shelf::Marks, (0, 0), &marks)?;
    transaction.commit().map_err(|error| failed(error.into()))
}
