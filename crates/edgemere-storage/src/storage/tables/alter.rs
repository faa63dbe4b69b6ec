//! Giving a column another type, which takes writing its table again: every value must be the same in
//! the new type, or nothing is changed.
//!
//! Flushed rows are written to new files first, while writers go on. Then one transaction decides
//! the rows that have come since, names the new files in the place of the old ones, and changes the
//! column. Queries that run keep what they read.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{Int64Type, SchemaRef};

use crate::decode::retyped;
use crate::schema::{Kind, SYSTEM_COLUMNS, Schema};
use crate::storage::DataFile;
use crate::storage::Error;
use crate::storage::Table;
use crate::storage::handle::{Inner, Storage, blocking};
use crate::storage::maintenance::flush;
use crate::storage::parquet_files::footer::Origin;
use crate::storage::persist::keyspace::{Keyspace, Transaction};
use crate::storage::persist::record::TableRecord;
use crate::storage::persist::store::Apply;

/// How often it begins again when others change the table's columns meanwhile.
const TRIES_MAX: usize = 4;

impl Storage {
    /// Gives a column another type, durable when this returns. Returns how many rows the table has.
    ///
    /// The first value that is none of the new type is [`Error::Value`].
    pub async fn alter_column(
        &self,
        table: &Arc<Table>,
        column: &str,
        kind: Kind,
    ) -> Result<u64, Error> {
        let (inner, table) = (Arc::clone(&self.inner), Arc::clone(table));
        let column = column.to_owned();
        blocking(move || {
            for _ in 1..TRIES_MAX {
                match inner.alter_column(&table, &column, kind) {
                    Err(Error::Conflict { .. }) => {}
                    altered => return altered,
                }
            }
            inner.alter_column(&table, &column, kind)
        })
        .await
    }
}

/// What is to become of a table.
struct Alteration {
    /// The table's columns before, and their Arrow types with those of the system columns.
    before: (Arc<Schema>, SchemaRef),
    /// The same after.
    after: (Schema, SchemaRef),
    /// Where the column is, the system columns counted.
    place: usize,
    from: Kind,
    to: Kind,
}

impl Inner {
    fn alter_column(&self, table: &Arc<Table>, column: &str, to: Kind) -> Result<u64, Error> {
        flush::flush(table)?;
        let _upkeep = table.upkeep();
        let (alteration, old) = {
            let state = table.state();
            let before = (Arc::clone(&state.schema), Arc::clone(&state.arrow));
            (Alteration::new(before, column, to)?, state.files.clone())
        };
        if alteration.from == to {
            return Ok(old.iter().map(|file| file.rows).sum());
        }
        let mut new = Vec::with_capacity(old.len());
        for file in &old {
            let batches = file.read(&alteration.before.1)?;
            let origin = table.origin(std::slice::from_ref(file));
            new.push(alteration.write(table, self.shared.store.next_file(), batches, &origin)?);
        }
        // Both wait for the store, which a transaction holds.
        let (number, origin) = (self.shared.store.next_file(), table.origin(&[]));
        self.shared.store.commit(|writes, _| {
            let fresh = alteration.fresh(table, number, &origin)?;
            new.extend(fresh);
            let rows = new.iter().map(|file| file.rows).sum();
            Ok((rows, self.replace_files(writes, table, alteration, old, new)?))
        })
    }

    /// Names the new files in the place of all that the table has.
    fn replace_files(
        &self,
        writes: &Transaction<'_>,
        table: &Arc<Table>,
        alteration: Alteration,
        old: Vec<Arc<DataFile>>,
        new: Vec<Arc<DataFile>>,
    ) -> Result<Apply, Error> {
        let (schema, arrow) = alteration.after;
        let blocks = table.state().blocks().map_or(0..0, |(first, last)| first..last + 1);
        writes.remove(Keyspace::Blocks, blocks.map(|block| (table.id, block)))?;
        writes.remove(Keyspace::Files, old.iter().map(|file| (table.id, file.number)))?;
        for file in &new {
            writes.put_json(Keyspace::Files, (table.id, file.number), &file.record())?;
        }
        let record = TableRecord::new(table.dbms(), table.name(), &schema);
        writes.put_json(Keyspace::Tables, (table.id, 0), &record)?;
        let (table, catalog) = (Arc::clone(table), Arc::clone(&self.catalog));
        Ok(Box::new(move || {
            new.iter().for_each(|file| file.adopt());
            let bytes = table.state_mut().rewrite(schema, arrow, new);
            old.iter().for_each(|file| file.disown());
            table.shared().budget.give(bytes);
            catalog.note_layout();
        }))
    }
}

impl Alteration {
    fn new(before: (Arc<Schema>, SchemaRef), column: &str, to: Kind) -> Result<Self, Error> {
        let mut schema = Schema::clone(&before.0);
        let own = schema
            .position(column)
            .ok_or_else(|| Error::columns(format!("the table has no column \"{column}\"")))?;
        let changed = schema.columns.get_mut(own);
        let from = changed.map_or(to, |changed| std::mem::replace(&mut changed.kind, to));
        let arrow = schema.arrow_with_system();
        let place = SYSTEM_COLUMNS.len() + own;
        Ok(Self { before, after: (schema, arrow), place, from, to })
    }

    /// A file of rows as they are to be.
    fn write(
        &self,
        table: &Arc<Table>,
        number: u64,
        batches: Vec<RecordBatch>,
        origin: &Origin,
    ) -> Result<Arc<DataFile>, Error> {
        let batches = batches.into_iter().map(|batch| self.converted(&batch));
        let batches = batches.collect::<Result<Vec<_>, Error>>()?;
        let (schema, arrow) = &self.after;
        let (folder, at) = (&table.shared().folder, table.folder());
        Ok(Arc::new(DataFile::write(folder, &at, number, schema, arrow, batches, origin)?))
    }

    /// A file of the rows of the memtable, if there are any.
    fn fresh(
        &self,
        table: &Arc<Table>,
        number: u64,
        origin: &Origin,
    ) -> Result<Option<Arc<DataFile>>, Error> {
        let state = table.state();
        if state.dropped {
            return Err(table.not_found());
        }
        if *state.schema != *self.before.0 {
            return Err(Error::Conflict { dbms: table.dbms().into(), table: table.name().into() });
        }
        let batches: Vec<_> = state.chunks().map(|chunk| chunk.batch.clone()).collect();
        drop(state);
        match batches.is_empty() {
            true => Ok(None),
            false => self.write(table, number, batches, origin).map(Some),
        }
    }

    fn converted(&self, batch: &RecordBatch) -> Result<RecordBatch, Error> {
        let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
        if let Some(column) = columns.get_mut(self.place) {
            *column = retyped(self.from, column, self.to).map_err(|(row, value, reason)| {
                let ids =
                    batch.columns().first().and_then(|ids| ids.as_primitive_opt::<Int64Type>());
                Error::Value {
                    column: self.after.1.field(self.place).name().clone(),
                    row_id: ids.map_or(0, |ids| ids.value(row)),
                    value,
                    reason,
                }
            })?;
        }
        RecordBatch::try_new(Arc::clone(&self.after.1), columns)
            .map_err(|error| Error::columns(error.to_string()))
    }
}
