//! What the key-value store holds besides rows, as JSON: the catalog, the counters, the manifest.

use serde::{Deserialize, Serialize};

use crate::schema::{Column, Kind, Schema};
use crate::storage::Retention;
use crate::storage::parquet_files::checksum::Checksums;

/// The format of the folder. Another one is not opened.
pub(crate) const FORMAT: u32 = 1;

/// Tells a storage from all others, also from one with the same tables: made once, at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct StorageId(u128);

impl StorageId {
    pub(crate) fn new() -> Self {
        Self(uuid::Uuid::new_v4().as_u128())
    }

    pub(crate) fn bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }
}

impl From<StorageId> for String {
    fn from(id: StorageId) -> Self {
        format!("{:032x}", id.0)
    }
}

impl TryFrom<String> for StorageId {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        u128::from_str_radix(&text, 16).map(Self)
    }
}

/// What the whole storage counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoreHeader {
    /// The format of everything else.
    pub(crate) format: u32,
    /// The number of the last transaction.
    pub(crate) sequence: u64,
    /// The next id of a table, a database or a view.
    pub(crate) next_table: u64,
    /// The next Parquet file's number.
    pub(crate) next_file: u64,
    /// The digest of all values that are counted. None in a store from before there was one.
    #[serde(default)]
    pub(crate) digest: Option<u64>,
    /// The digest of the keys of appends. None in a store from before there was one.
    #[serde(default)]
    pub(crate) keys_digest: Option<u64>,
    /// Which storage it is; none in one of an earlier version to which nothing was written since.
    #[serde(default)]
    pub(crate) storage: Option<StorageId>,
}

impl Default for StoreHeader {
    fn default() -> Self {
        Self {
            format: FORMAT,
            sequence: 0,
            next_table: 1,
            next_file: 1,
            digest: Some(0),
            keys_digest: Some(0),
            storage: None,
        }
    }
}

/// A table in the catalog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TableRecord {
    pub(crate) dbms: String,
    pub(crate) name: String,
    columns: Vec<ColumnRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ColumnRecord {
    name: String,
    kind: String,
    /// What it was called where it came from, where that is another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    original: Option<String>,
}

/// A database of which something was said: one that is not recorded is there while it has a table
/// or a view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DatabaseRecord {
    pub(crate) name: String,
    pub(crate) connected: bool,
    /// How much is kept of its tables that do not say it themselves.
    #[serde(default)]
    pub(crate) retention: Retention,
}

/// A view in the catalog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ViewRecord {
    pub(crate) dbms: String,
    pub(crate) name: String,
    pub(crate) sql: String,
}

/// What a table counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counters {
    pub(crate) next_row: u64,
    pub(crate) next_block: u64,
}

impl Default for Counters {
    fn default() -> Self {
        Self { next_row: 1, next_block: 1 }
    }
}

/// A Parquet file in the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileRecord {
    /// The file's name, without its folder.
    pub(crate) name: String,
    pub(crate) rows: u64,
    /// Its size on disk.
    pub(crate) bytes: u64,
    /// The size of its rows in memory.
    pub(crate) memory_bytes: u64,
    /// How many of the table's columns it has: the first so many, as new ones come last.
    pub(crate) columns: usize,
    /// The first and the last row id.
    pub(crate) row_ids: (u64, u64),
    /// The earliest and latest insert, in microseconds.
    pub(crate) inserted: (i64, i64),
    /// The earliest and latest value of the first timestamp column, in microseconds.
    pub(crate) times: Option<(i64, i64)>,
    /// The checksums of its blocks. A file from before there were any has none until it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) checksums: Option<Checksums>,
    /// Why it is damaged, if it was found to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) damage: Option<String>,
}

impl TableRecord {
    pub(crate) fn new(dbms: &str, name: &str, schema: &Schema) -> Self {
        let column = |column: &Column| ColumnRecord {
            name: column.name.clone(),
            kind: column.kind.sql(),
            original: column.original.clone(),
        };
        let columns = schema.columns.iter().map(column).collect();
        Self { dbms: dbms.to_owned(), name: name.to_owned(), columns }
    }

    /// The table with its first columns alone.
    pub(crate) fn first_columns(&self, count: usize) -> Self {
        let columns = self.columns.iter().take(count).cloned().collect();
        Self { dbms: self.dbms.clone(), name: self.name.clone(), columns }
    }

    /// Whether the first columns are those of another, which had fewer, or narrower ones.
    pub(crate) fn begins_with(&self, other: &Self) -> bool {
        let is_same = |(own, other): (&ColumnRecord, &ColumnRecord)| {
            own.name == other.name && (own.kind == other.kind || own.has_widened_from(other))
        };
        self.columns.len() >= other.columns.len()
            && self.columns.iter().zip(&other.columns).all(is_same)
    }

    /// The columns after a later record of the same table: those of both, and each as the later one
    /// has it, unless it is wider here.
    pub(crate) fn joined(mut self, later: &Self) -> Self {
        for (column, later) in self.columns.iter_mut().zip(&later.columns) {
            if later.name == column.name && !column.has_widened_from(later) {
                column.kind.clone_from(&later.kind);
            }
            if later.name == column.name && column.original.is_none() {
                column.original.clone_from(&later.original);
            }
        }
        self.columns.extend(later.columns.iter().skip(self.columns.len()).cloned());
        self
    }

    pub(crate) fn columns_len(&self) -> usize {
        self.columns.len()
    }

    /// The table's columns; `None` when one is of a type that is not known.
    pub(crate) fn schema(&self) -> Option<Schema> {
        let column = |column: &ColumnRecord| {
            let (name, original) = (column.name.clone(), column.original.clone());
            Some(Column { name, kind: kind(&column.kind)?, original })
        };
        Some(Schema { columns: self.columns.iter().map(column).collect::<Option<_>>()? })
    }
}

impl ColumnRecord {
    /// Whether the column can have become what it is by widening.
    fn has_widened_from(&self, other: &Self) -> bool {
        match (kind(&self.kind), kind(&other.kind)) {
            (Some(own), Some(other)) => own.has_widened_from(other),
            _ => false,
        }
    }
}

/// The inverse of [`Kind::sql`].
fn kind(text: &str) -> Option<Kind> {
    const PLAIN: [Kind; 13] = [
        Kind::Int,
        Kind::BigInt,
        Kind::Decimal,
        Kind::Boolean,
        Kind::Date,
        Kind::Time,
        Kind::Timestamp,
        Kind::TimestampNs,
        Kind::TimestampTz,
        Kind::TimestampTzNs,
        Kind::Varchar,
        Kind::Binary,
        Kind::Interval,
    ];
    if let Some(length) = text.strip_prefix("char(").and_then(|rest| rest.strip_suffix(')')) {
        return length.parse().ok().map(Kind::Char);
    }
    if let Some(size) = text.strip_prefix("numeric(").and_then(|rest| rest.strip_suffix(')')) {
        let (digits, scale) = size.split_once(',')?;
        return Some(Kind::Numeric(digits.parse().ok()?, scale.parse().ok()?));
    }
    PLAIN.into_iter().find(|kind| kind.sql() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_comes_back_as_it_was() {
        let kinds = [
            Kind::Int,
            Kind::BigInt,
            Kind::HUGE,
            Kind::Numeric(17, 2),
            Kind::Decimal,
            Kind::Boolean,
            Kind::Date,
            Kind::Time,
            Kind::Timestamp,
            Kind::TimestampNs,
            Kind::TimestampTz,
            Kind::TimestampTzNs,
            Kind::Char(0),
            Kind::Char(u32::MAX),
            Kind::Varchar,
            Kind::Binary,
            Kind::Interval,
        ];
        let column = |kind: Kind| Column {
            original: (kind == Kind::Int).then(|| "C (°C)".to_owned()),
            ..Column::new(format!("c \"{}\" é", kind.sql()), kind)
        };
        let schema = Schema { columns: kinds.into_iter().map(column).collect() };
        let json = serde_json::to_vec(&TableRecord::new("d", "t", &schema)).unwrap();
        let record: TableRecord = serde_json::from_slice(&json).unwrap();
        assert_eq!(record.schema(), Some(schema));
        assert_eq!(kind("char(x)"), None);
        assert_eq!(kind("blob"), None);
    }
}
