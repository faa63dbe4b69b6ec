//! What a Parquet file of a table says of itself, in the key-value metadata of its footer: enough to
//! tell whether the manifest beside it is older, and to rebuild a manifest that is lost.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use serde::{Deserialize, Serialize};

use crate::schema::Schema;
use crate::storage::DataFile;
use crate::storage::Error;
use crate::storage::persist::record::{FileRecord, StorageId, TableRecord};

/// Under which key of the metadata it stands.
const KEY: &str = "edgemere";

/// The version of what stands there.
const FORMAT: u32 = 1;

/// Where a file comes from: what is known of it before its rows are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) storage: StorageId,
    pub(crate) sequence: u64,
    pub(crate) table_id: u64,
    pub(crate) dbms: String,
    pub(crate) table: String,
    pub(crate) replaces: Vec<u64>,
}

/// What a file says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Footer {
    format: u32,
    /// The storage that wrote it.
    pub(crate) storage: StorageId,
    /// The storage's last transaction when it began to write the file: a manifest that names the file,
    /// or that could, is not older.
    pub(crate) sequence: u64,
    /// The file's number, which no other file of the storage has had.
    pub(crate) file: u64,
    pub(crate) table_id: u64,
    /// The table with its columns at that time, which are all that the file has.
    pub(crate) table: TableRecord,
    /// The files whose rows it has, which it was made to replace.
    pub(crate) replaces: Vec<u64>,
    pub(crate) rows: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) row_ids: (u64, u64),
    pub(crate) inserted: (i64, i64),
    pub(crate) times: Option<(i64, i64)>,
}

impl Footer {
    pub(crate) fn new(origin: &Origin, schema: &Schema, file: &DataFile) -> Self {
        Self {
            format: FORMAT,
            storage: origin.storage,
            sequence: origin.sequence,
            file: file.number,
            table_id: origin.table_id,
            table: TableRecord::new(&origin.dbms, &origin.table, schema),
            replaces: origin.replaces.clone(),
            rows: file.rows,
            memory_bytes: file.memory_bytes,
            row_ids: file.row_ids,
            inserted: file.inserted,
            times: file.times,
        }
    }

    /// As it stands in the file's metadata.
    pub(crate) fn to_metadata(&self, path: &Path) -> Result<KeyValue, Error> {
        let text = serde_json::to_string(self)
            .map_err(|error| Error::io("encode the footer of", path, error.into()))?;
        Ok(KeyValue::new(KEY.to_owned(), text))
    }

    /// Reads it from a file. A file that has none is of an earlier version, or not a storage's.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, Error> {
        let text = catch_unwind(AssertUnwindSafe(|| metadata(path)))
            .unwrap_or_else(|_| Err(Error::damaged(path, "reading it went astray")))?;
        let unfit = |error| Error::damaged(path, format!("its footer cannot be read: {error}"));
        let Some(text) = text else { return Ok(None) };
        let footer: Self = serde_json::from_str(&text).map_err(unfit)?;
        Ok((footer.format == FORMAT).then_some(footer))
    }

    /// Whether it has every row between its first and its last: then its rows are known by two numbers.
    pub(crate) fn is_gapless(&self) -> bool {
        is_gapless(self.row_ids, self.rows)
    }

    /// The file as a manifest names it.
    pub(crate) fn record(&self, name: String, bytes: u64) -> FileRecord {
        FileRecord {
            name,
            rows: self.rows,
            bytes,
            memory_bytes: self.memory_bytes,
            columns: self.table.columns_len(),
            row_ids: self.row_ids,
            inserted: self.inserted,
            times: self.times,
            // A checksum says what was written, which nobody knows any more: the first reading of
            // the file records them.
            checksums: None,
            damage: None,
        }
    }
}

/// Whether so many rows are all that there can be between two row ids.
pub(crate) fn is_gapless((first, last): (u64, u64), rows: u64) -> bool {
    last.checked_sub(first).is_some_and(|between| between + 1 == rows)
}

fn metadata(path: &Path) -> Result<Option<String>, Error> {
    let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|error| Error::parquet("read", path, error))?;
    let pairs = reader.metadata().file_metadata().key_value_metadata();
    let own = pairs.and_then(|pairs| pairs.iter().find(|pair| pair.key == KEY));
    Ok(own.and_then(|pair| pair.value.clone()))
}
