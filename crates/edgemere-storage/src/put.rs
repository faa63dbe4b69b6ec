//! Rows into a table: decodes them, makes the table or its columns where they are missing, and appends.
//!
//! 1. [`decode`] decodes the bytes against the columns that the table has.
//! 2. New columns, and columns that must be wider, change the table first.
//! 3. [`Table`] appends the batch, once for each idempotency key.
//!
//! When another writer changes the table between 1 and 3, the rows are decoded again.

use std::sync::Arc;
use std::time::Duration;

use twox_hash::XxHash3_64;

use crate::apart::apart;
use crate::decode::{self, Decoded, Input, LeftOut, Mixed, Note, Rejection};
use crate::schema::{Column, Kind, Schema};
use crate::storage::{self, Storage, Table, Widening};

/// How often rows are decoded again when the table was changed meanwhile.
const TRIES_MAX: usize = 8;

/// Why rows were not stored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input cannot be read.
    #[error(transparent)]
    Ingest(#[from] decode::Error),
    /// The storage refused.
    #[error(transparent)]
    Storage(#[from] storage::Error),
    /// The rows have no columns, so that no table can be made of them.
    #[error("the rows have no columns")]
    NoColumns,
    /// The table is changed by others again and again.
    #[error("the table \"{table}\" is being changed by others")]
    Contended {
        /// The table.
        table: String,
    },
}

impl Error {
    /// What to do next, where there is something.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Ingest(error) => error.hint().map(String::from),
            Self::Storage(error) => error.hint(),
            Self::NoColumns => Some("send objects with at least one key".into()),
            Self::Contended { .. } => Some("try again".into()),
        }
    }

    /// Whether the disk is full.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Storage(error) if error.is_full())
    }

    /// When to try again, of a storage that cannot take more for a while.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Storage(storage::Error::Busy { retry_after, .. }) => Some(*retry_after),
            _ => None,
        }
    }
}

/// What became of rows.
#[derive(Debug)]
pub struct Put {
    /// How many were stored.
    pub stored: usize,
    /// Those that were not, the first ones when there are many.
    pub rejected: Vec<Rejection>,
    /// How many were not.
    pub rejected_total: usize,
    /// The table's columns now, when they are new or have changed.
    pub changed: Option<Schema>,
    /// Whether the table was made for these rows.
    pub is_new: bool,
    /// The new columns that are text because of single values.
    pub notes: Vec<Note>,
    /// Whether the rows were stored before, under the same key, and not again now.
    pub repeated: bool,
    /// The columns that no table can hold, and that were left out.
    pub left_out: Vec<LeftOut>,
}

/// Rows that are to be stored.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The database of their table.
    pub dbms: &'a str,
    /// The table.
    pub table: &'a str,
    /// What the bytes are.
    pub input: Input,
    /// The rows.
    pub bytes: &'a [u8],
    /// Under which the same rows would be sent again by a client that did not hear that they are
    /// stored.
    pub key: Option<&'a str>,
    /// What becomes of a new column of a CSV with values of several sorts.
    pub mixed: Mixed,
    /// Whether a column that no table can hold refuses them all, and is not left out.
    pub strict: bool,
}

impl<'a> Rows<'a> {
    /// Rows without an idempotency key, with the default options.
    #[must_use]
    pub fn new(dbms: &'a str, table: &'a str, input: Input, bytes: &'a [u8]) -> Self {
        Self { dbms, table, input, bytes, key: None, mixed: Mixed::default(), strict: false }
    }
}

impl Storage {
    /// Stores rows: durable and visible when this returns. A table that is not there is made, columns that
    /// it does not have are added, and rows with a key are stored only once.
    pub async fn put(&self, rows: Rows<'_>) -> Result<Put, Error> {
        for _ in 0..TRIES_MAX {
            if let Some(put) = self.try_put(rows).await? {
                return Ok(put);
            }
        }
        Err(Error::Contended { table: format!("{}.{}", rows.dbms, rows.table) })
    }

    /// Stores rows, or gives none when the table has been changed since they were read.
    async fn try_put(&self, rows: Rows<'_>) -> Result<Option<Put>, Error> {
        let Rows { dbms, table: name, input, bytes, key, mixed, strict } = rows;
        let known = self.table(dbms, name);
        let is_new = known.is_none();
        let held = known.as_ref().map(|table| table.schema());
        let mut schema = held.as_deref().cloned();
        let mut limits = decode::Limits { strict, ..decode::Limits::default() };
        let (decoded, table) = loop {
            let decoded = {
                let _turn = self.inner.shared.decoders.acquire().await;
                let known = schema.as_ref();
                apart(bytes.len(), || decode::decode_mixed(input, bytes, known, &limits, mixed))?
            };
            if decoded.accepted == 0 {
                return Ok(Some(put_of(decoded, None)));
            }
            let wider = widenings(held.as_deref(), &decoded.schema);
            if let (Some(key), Some(table)) = (key, &known)
                && !(decoded.added.is_empty() && wider.is_empty())
            {
                // Rows that will be refused are not to change the table's columns either.
                table.check_key(key, content(input, bytes)).await?;
            }
            self.check_room()?;
            if decoded.schema.columns.is_empty() {
                return Err(Error::NoColumns);
            }
            match self.prepare(dbms, name, known.clone(), &decoded, wider).await? {
                Prepared::Table(table) => break (decoded, table),
                Prepared::Changed => return Ok(None),
                Prepared::Unfit(columns) => keep_exact(&columns, &mut schema, &mut limits),
            }
        };
        let batch = decoded.batch.clone();
        let appended = match key {
            Some(key) => table.append_idempotent(key, content(input, bytes), batch).await,
            None => table.append(batch).await,
        };
        let receipt = match appended {
            // Another writer has changed the columns, so that the rows do not fit any more.
            Err(storage::Error::Columns { .. }) if *table.schema() != decoded.schema => {
                return Ok(None);
            }
            appended => appended?,
        };
        let is_changed = held.is_none_or(|held| *held != decoded.schema);
        let changed = is_changed.then(|| decoded.schema.clone());
        let stored = usize::try_from(receipt.rows).unwrap_or(usize::MAX);
        let repeated = receipt.repeated;
        Ok(Some(Put { stored, repeated, is_new, ..put_of(decoded, changed) }))
    }

    /// The table with the columns that the rows need.
    async fn prepare(
        &self,
        dbms: &str,
        name: &str,
        known: Option<Arc<Table>>,
        decoded: &Decoded,
        wider: Vec<Widening>,
    ) -> Result<Prepared, Error> {
        let Some(table) = known else {
            let created = self.create_table(dbms, name, decoded.schema.clone()).await;
            return match created {
                Ok(table) => Ok(Prepared::Table(table)),
                Err(storage::Error::Conflict { .. }) => Ok(Prepared::Changed),
                Err(error) => Err(error.into()),
            };
        };
        if decoded.added.is_empty() && wider.is_empty() {
            return Ok(Prepared::Table(table));
        }
        let is_wider = !wider.is_empty();
        match self.change_columns(&table, decoded.added.clone(), wider).await {
            Ok(()) => Ok(Prepared::Table(table)),
            Err(storage::Error::Unfit { columns }) => Ok(Prepared::Unfit(columns)),
            Err(storage::Error::Columns { .. } | storage::Error::Conflict { .. })
                if is_wider || has_all(&table, &decoded.added) =>
            {
                Ok(Prepared::Changed)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// What became of a table for which rows have come.
enum Prepared {
    /// It has the columns that they need.
    Table(Arc<Table>),
    /// Another writer was faster.
    Changed,
    /// These columns cannot become as wide as the rows need them.
    Unfit(Vec<String>),
}

/// The columns that are to be wider than the table has them.
fn widenings(held: Option<&Schema>, wanted: &Schema) -> Vec<Widening> {
    let pairs = held.into_iter().flat_map(|held| held.columns.iter().zip(&wanted.columns));
    let wider = pairs.filter(|(held, wanted)| held.kind != wanted.kind);
    let widening = |(held, wanted): (&Column, &Column)| (held.name.clone(), held.kind, wanted.kind);
    wider.map(widening).map(|(name, from, to)| Widening { name, from, to }).collect()
}

/// Has the rows read again, with columns that hold what is stored exactly, or that stay as they are:
/// of times, digits are cut off then.
fn keep_exact(columns: &[String], schema: &mut Option<Schema>, limits: &mut decode::Limits) {
    for column in schema.iter_mut().flat_map(|schema| &mut schema.columns) {
        if columns.contains(&column.name) {
            if matches!(column.kind, Kind::Int | Kind::BigInt) {
                column.kind = Kind::EXACT;
            }
            limits.fixed.push(column.name.clone());
        }
    }
}

/// The hash of rows as they were sent: who sends the same again sends the same bytes, whatever has become
/// of the table's columns since.
fn content(input: Input, bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(input as u64, bytes)
}

/// Whether the table has columns of these names, which another writer has added then.
fn has_all(table: &Table, columns: &[Column]) -> bool {
    let schema = table.schema();
    columns.iter().all(|column| schema.position(&column.name).is_some())
}

fn put_of(decoded: Decoded, changed: Option<Schema>) -> Put {
    Put {
        stored: decoded.accepted,
        rejected: decoded.rejected,
        rejected_total: decoded.rejected_total,
        changed,
        is_new: false,
        notes: decoded.notes,
        repeated: false,
        left_out: decoded.left_out,
    }
}
