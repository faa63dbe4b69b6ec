//! Which files and rows a rebuilt manifest has: each row once.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::PathBuf;

use arrow::array::RecordBatch;

use crate::storage::Error;
use crate::storage::parquet_files::footer::Footer;
use crate::storage::persist::folder::{Folder, is_unfinished};
use crate::storage::persist::keyspace::{Key, Keyspace};
use crate::storage::persist::record::{FileRecord, StorageId, TableRecord};
use crate::storage::persist::witness::Witness;
use crate::storage::repair::Repair;
use crate::storage::repair::old::Old;
use crate::storage::write::block;

/// What the new store is to hold.
pub(super) struct Plan {
    pub(super) tables: Vec<Chosen>,
    pub(super) kept: Vec<(Keyspace, Key, Vec<u8>)>,
    pub(super) storage: Option<StorageId>,
    pub(super) sequence: u64,
    pub(super) next_table: u64,
    pub(super) next_file: u64,
    /// Files that hold nothing that can be read.
    pub(super) unreadable: Vec<PathBuf>,
}

/// A table of the new store.
pub(super) struct Chosen {
    pub(super) id: u64,
    pub(super) record: TableRecord,
    pub(super) files: Vec<ChosenFile>,
    /// Rows of the memtable.
    pub(super) memtable: Vec<RecordBatch>,
    pub(super) next_row: u64,
    pub(super) next_block: u64,
}

/// A file of the new store.
#[derive(Clone)]
pub(super) struct ChosenFile {
    pub(super) number: u64,
    pub(super) record: FileRecord,
}

/// A file that was found.
struct Found {
    table_id: u64,
    table: TableRecord,
    sequence: u64,
    storage: Option<StorageId>,
    replaces: Vec<u64>,
    file: ChosenFile,
}

impl Chosen {
    pub(super) fn memtable_rows(&self) -> u64 {
        self.memtable.iter().map(|batch| batch.num_rows() as u64).sum()
    }

    pub(super) fn take(&mut self, number: u64, record: FileRecord) {
        self.next_row = self.next_row.max(record.row_ids.1 + 1);
        self.files.push(ChosenFile { number, record });
    }

    /// Whether a file has one of the rows between two ids.
    fn overlaps(&self, (first, last): (u64, u64)) -> bool {
        self.files
            .iter()
            .any(|file| file.record.row_ids.0 <= last && first <= file.record.row_ids.1)
    }
}

impl Plan {
    pub(super) fn new(folder: &Folder, old: Old, report: &mut Repair) -> Result<Self, Error> {
        let mut unreadable = Vec::new();
        let found = find(folder, &old, report, &mut unreadable)?;
        let is_older = is_older(&old, &found);
        if is_older {
            report.needed = true;
            report.found.push("fresh.redb is older than the Parquet files".to_owned());
        }
        let mut plan = Self {
            tables: Vec::new(),
            kept: Vec::new(),
            storage: newest(&found).or(old.marks.and_then(|marks| marks.storage)),
            // The transaction that named a file came after the last one before it was written.
            sequence: found.iter().map(|file| file.sequence + 1).max().unwrap_or(0),
            next_table: 1,
            next_file: found.iter().map(|file| file.file.number + 1).max().unwrap_or(1),
            unreadable,
        };
        if let Some(marks) = old.marks {
            plan.sequence = plan.sequence.max(marks.sequence);
            plan.next_table = plan.next_table.max(marks.next_table);
            plan.next_file = plan.next_file.max(marks.next_file);
        }
        let is_named = |file: &Found| old.files.contains_key(&(file.table_id, file.file.number));
        let trusts_list = old.is_whole && !is_older;
        let candidates = found.into_iter().filter(|file| !trusts_list || is_named(file)).collect();
        plan.take_tables(&old, candidates, report);
        plan.take_blocks(folder, &old, report);
        plan.take_witness(folder, report)?;
        // A folder that has lost something is not what it was: without its epochs everybody knows.
        let is_same = trusts_list && report.missing.is_empty();
        plan.keep_others(old, is_same);
        Ok(plan)
    }

    /// Takes the newest of the files that have the same rows.
    fn take_tables(&mut self, old: &Old, mut found: Vec<Found>, report: &mut Repair) {
        let mut tables: BTreeMap<u64, TableRecord> = old.tables.clone();
        found.sort_by_key(|file| file.sequence);
        for file in &found {
            let known = tables.entry(file.table_id).or_insert_with(|| file.table.clone());
            *known = known.clone().joined(&file.table);
        }
        // A table that was made again under its name is another one.
        let mut latest = BTreeMap::new();
        for (id, record) in &tables {
            latest.insert((record.dbms.clone(), record.name.clone()), *id);
        }
        let latest: HashSet<u64> = latest.into_values().collect();
        for (id, record) in tables.into_iter().filter(|(id, _)| latest.contains(id)) {
            let counters = old.counters.get(&id).copied().unwrap_or_default();
            let (next_row, next_block) = (counters.next_row, counters.next_block);
            let (files, memtable) = (Vec::new(), Vec::new());
            self.tables.push(Chosen { id, record, files, memtable, next_row, next_block });
            self.next_table = self.next_table.max(id + 1);
        }
        found.sort_by_key(|file| std::cmp::Reverse(file.file.number));
        for file in found {
            let table = self.tables.iter_mut().find(|table| table.id == file.table_id);
            let (name, rows) = (file.file.record.name.clone(), file.file.record.rows);
            match table {
                Some(table) if table.overlaps(file.file.record.row_ids) => {
                    report.found.push(format!("\"{name}\" is left out: a newer file has its rows"));
                }
                Some(table) if !table.record.begins_with(&file.table) => report
                    .missing
                    .push(format!("\"{name}\" with {rows} rows has other columns than its table")),
                Some(table) => table.take(file.file.number, file.file.record),
                None => report.missing.push(format!(
                    "\"{name}\" with {rows} rows is of an earlier table of its name"
                )),
            }
        }
        for table in &mut self.tables {
            // Each block has a row at least: so many numbers are used at most.
            table.next_block = table.next_block.max(table.next_row);
        }
    }

    /// Takes the rows of the memtable, unless they have since.
    fn take_blocks(&mut self, folder: &Folder, old: &Old, report: &mut Repair) {
        for ((id, number), value) in &old.blocks {
            let table = self.tables.iter_mut().find(|table| table.id == *id);
            let schema = table.as_ref().and_then(|table| table.record.schema());
            let (Some(table), Some(schema)) = (table, schema) else { continue };
            let arrow = schema.arrow_with_system();
            match block::restore(&folder.store(), value, *number, &arrow) {
                Ok((head, batch, _)) => {
                    let rows = (head.first_row, head.first_row + head.rows.max(1) - 1);
                    if !table.overlaps(rows) {
                        table.memtable.push(batch);
                        table.next_row = table.next_row.max(rows.1 + 1);
                        table.next_block = table.next_block.max(number + 1);
                    }
                }
                Err(error) => report.missing.push(format!("rows of the memtable: {error}")),
            }
        }
    }

    /// Says which transactions were acknowledged and are in no file, and counts on after them.
    fn take_witness(&mut self, folder: &Folder, report: &mut Repair) -> Result<(), Error> {
        let Some(storage) = self.storage else { return Ok(()) };
        let last = Witness::open(folder.path())?.last(storage).unwrap_or(0);
        if last > self.sequence {
            report.needed = true;
            let (from, to) = (self.sequence + 1, last);
            report
                .missing
                .push(format!("the transactions {from} to {to}, as far as no file has them"));
            self.sequence = last;
        }
        Ok(())
    }

    /// Keeps what is said of databases, views and tables that are there.
    fn keep_others(&mut self, old: Old, is_same: bool) {
        let ids: HashSet<u64> = self.tables.iter().map(|table| table.id).collect();
        let is_of_table =
            |shelf| matches!(shelf, Keyspace::Retention | Keyspace::Keys | Keyspace::KeyPlaces);
        let others = old.others.into_iter();
        self.kept =
            others.filter(|(shelf, key, _)| !is_of_table(*shelf) || ids.contains(&key.0)).collect();
        self.kept.retain(|(shelf, ..)| is_same || *shelf != Keyspace::Epochs);
        for (shelf, key, _) in &self.kept {
            if matches!(shelf, Keyspace::Databases | Keyspace::Views) {
                self.next_table = self.next_table.max(key.0 + 1);
            }
        }
    }
}

/// The files that are there, with what is known of each.
fn find(
    folder: &Folder,
    old: &Old,
    report: &mut Repair,
    unreadable: &mut Vec<PathBuf>,
) -> Result<Vec<Found>, Error> {
    let mut named = BTreeMap::new();
    for ((id, number), record) in &old.files {
        let Some(table) = old.tables.get(id) else { continue };
        let path = folder.table(&table.dbms, &table.name).join(&record.name);
        named.insert(path, (*id, *number, table, record));
    }
    let mut found = Vec::new();
    for path in folder.parquet_files()?.into_iter().filter(|path| !is_unfinished(path)) {
        let bytes = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        let known = named.remove(&path).filter(|(.., record)| record.bytes == bytes);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match (Footer::read(&path), known) {
            (Ok(Some(footer)), known) => {
                let record = known.map(|(.., record)| record.clone());
                let record = record.unwrap_or_else(|| footer.record(name, bytes));
                found.push(Found {
                    table_id: footer.table_id,
                    sequence: footer.sequence,
                    storage: Some(footer.storage),
                    replaces: footer.replaces,
                    file: ChosenFile { number: footer.file, record },
                    table: footer.table,
                });
            }
            (Ok(None), Some((table_id, number, table, record))) => found.push(Found {
                table_id,
                sequence: 0,
                storage: None,
                replaces: Vec::new(),
                file: ChosenFile { number, record: record.clone() },
                table: table.first_columns(record.columns),
            }),
            (footer, _) => {
                let why = footer.map_or_else(
                    |error| error.to_string(),
                    |_| "it does not say what it is".into(),
                );
                report.needed = true;
                report.missing.push(format!("\"{}\" cannot be used: {why}", path.display()));
                unreadable.push(path);
            }
        }
    }
    let is_replaced = |id: u64, number: u64| {
        found.iter().any(|file| file.table_id == id && file.replaces.contains(&number))
    };
    for (path, (id, number, _, record)) in named {
        report.needed = true;
        if !is_replaced(id, number) {
            let (path, rows) = (path.display(), record.rows);
            report.missing.push(format!("\"{path}\" with {rows} rows is not there"));
        }
    }
    Ok(found)
}

/// Whether a file was written, or has replaced others, after the last transaction of the store.
fn is_older(old: &Old, found: &[Found]) -> bool {
    let last = old.marks.map_or(0, |marks| marks.sequence);
    let there: HashSet<_> = found.iter().map(|file| (file.table_id, file.file.number)).collect();
    found.iter().any(|file| {
        let gone = |number: &u64| {
            let key = (file.table_id, *number);
            old.files.contains_key(&key) && !there.contains(&key)
        };
        file.sequence > last || file.replaces.iter().any(gone)
    })
}

/// The storage that wrote the newest file.
fn newest(found: &[Found]) -> Option<StorageId> {
    found.iter().filter(|file| file.storage.is_some()).max_by_key(|file| file.sequence)?.storage
}
