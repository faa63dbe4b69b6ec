//! A Parquet file of a table: how it is written, what is known of it, how it is read back, and when
//! it goes.

use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::compute::{max, min};
use arrow::datatypes::{Float64Type, Int64Type, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::schema::Schema;
use crate::storage::Error;
use crate::storage::options::{ROW_GROUP_ROWS, ROW_GROUP_ROWS_MIN, SLICE_ROWS};
use crate::storage::parquet_files::checksum::{Checksums, Summing};
use crate::storage::parquet_files::footer::{Footer, Origin};
use crate::storage::parquet_files::health::Health;
use crate::storage::parquet_files::sort::{Sorted, time_column, time_range};
use crate::storage::parquet_files::verified;
use crate::storage::persist::folder::{Folder, PARQUET, create_whole};
use crate::storage::persist::record::FileRecord;
use crate::storage::write::block;

/// A flushed file. It stays on disk for as long as a snapshot holds it, also when the table has
/// dropped it.
#[derive(Debug)]
pub struct DataFile {
    /// Where it is.
    pub path: PathBuf,
    /// How many rows it has.
    pub rows: u64,
    /// Its size on disk.
    pub bytes: u64,
    /// The size of its rows in memory, about.
    pub memory_bytes: u64,
    /// How many of the table's own columns it has: the first so many. The others are null in it.
    pub columns: usize,
    /// The first and the last row id.
    pub row_ids: (u64, u64),
    /// The earliest and the latest insert, in microseconds since 1970 in UTC.
    pub inserted: (i64, i64),
    /// The earliest and the latest value of the table's first timestamp column, which the rows are
    /// sorted by; none when there is no such column, or only nulls in it.
    pub times: Option<(i64, i64)>,
    /// The number that no other file of the storage has had.
    pub(crate) number: u64,
    /// What is known of its bytes.
    pub(crate) health: Health,
    /// Whether the manifest names the file. When it does not, the last holder deletes it.
    named: AtomicBool,
    /// Nobody else may open the folder while files in it are held.
    _folder: Arc<Folder>,
}

impl DataFile {
    /// Writes rows, whose ids rise, to a new file. It is deleted again unless it is adopted.
    pub(crate) fn write(
        folder: &Arc<Folder>,
        at: &Path,
        number: u64,
        schema: &Schema,
        arrow: &SchemaRef,
        batches: Vec<RecordBatch>,
        origin: &Origin,
    ) -> Result<Self, Error> {
        let unfit = |error| Error::parquet("write", at, ParquetError::from(error));
        let sorted = Sorted::new(schema, arrow, batches).map_err(unfit)?;
        let row_ids = row_ids(sorted.rows());
        let path = at.join(format!("{}-{number}{PARQUET}", row_ids.0));
        let rows = sorted.rows();
        let mut made = Self {
            path: path.clone(),
            rows: rows.num_rows() as u64,
            bytes: 0,
            memory_bytes: rows.get_array_memory_size() as u64,
            columns: schema.columns.len(),
            row_ids,
            inserted: rows.columns().get(1).and_then(time_range).unwrap_or_default(),
            times: time_column(schema).and_then(|at| rows.columns().get(at)).and_then(time_range),
            number,
            // The checksums come with the bytes.
            health: Health::new(None, None),
            // Until it is there, nobody is to delete it.
            named: AtomicBool::new(true),
            _folder: Arc::clone(folder),
        };
        let footer = Footer::new(origin, schema, &made).to_metadata(&path)?;
        let (bytes, checksums) =
            create_whole(&path, |path, file| write(path, file, schema, arrow, &sorted, footer))?;
        made.bytes = bytes;
        made.health = Health::new(Some(checksums), None);
        made.disown();
        Ok(made)
    }

    /// A file that the manifest names.
    pub(crate) fn known(folder: &Arc<Folder>, at: &Path, number: u64, record: FileRecord) -> Self {
        // Checksums of another length are of no use.
        let checksums = record.checksums.filter(|sums| sums.are_of(record.bytes));
        Self {
            path: at.join(record.name),
            rows: record.rows,
            bytes: record.bytes,
            memory_bytes: record.memory_bytes,
            columns: record.columns,
            row_ids: record.row_ids,
            inserted: record.inserted,
            times: record.times,
            number,
            health: Health::new(checksums, record.damage.as_deref()),
            named: AtomicBool::new(true),
            _folder: Arc::clone(folder),
        }
    }

    /// The file's name, without its folder.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// How many groups of rows it has, if it is not of a version that made larger ones.
    pub fn row_groups(&self) -> i64 {
        let rows = usize::try_from(self.rows).unwrap_or(usize::MAX);
        i64::try_from(rows.div_ceil(group_rows(rows))).unwrap_or(i64::MAX)
    }

    /// The file as the manifest names it.
    pub(crate) fn record(&self) -> FileRecord {
        FileRecord {
            name: self.name(),
            rows: self.rows,
            bytes: self.bytes,
            memory_bytes: self.memory_bytes,
            columns: self.columns,
            row_ids: self.row_ids,
            inserted: self.inserted,
            times: self.times,
            checksums: self.health.checksums().cloned(),
            damage: self.damage().map(|reason| reason.as_ref().to_owned()),
        }
    }

    /// The manifest names the file now.
    pub(crate) fn adopt(&self) {
        self.named.store(true, Ordering::Release);
    }

    /// The manifest does not name the file any more: it goes when nobody holds it.
    pub(crate) fn disown(&self) {
        self.named.store(false, Ordering::Release);
    }

    /// When the newest of its rows was measured or, without a timestamp column, inserted.
    pub(crate) fn newest(&self) -> i64 {
        self.times.unwrap_or(self.inserted).1
    }

    /// Why the file is damaged; none when it is not known to be.
    #[must_use]
    pub fn damage(&self) -> Option<Arc<str>> {
        self.health.damage()
    }

    /// How many of its bytes were read since it was opened, over and over.
    #[must_use]
    pub fn read_bytes(&self) -> u64 {
        self.health.read_bytes()
    }

    /// Reads all rows, with the columns of a schema: those that the file does not have are null. A
    /// file that is not as it was written is marked as damaged.
    ///
    /// This waits for the disk.
    pub fn read(&self, schema: &SchemaRef) -> Result<Vec<RecordBatch>, Error> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.bytes).unwrap_or_default());
        verified::read_whole(self, |piece| {
            bytes.extend_from_slice(piece);
            true
        })?;
        let batches = self.decode(bytes)?;
        batches.iter().map(|batch| block::pad(batch, schema)).collect()
    }

    /// Reads the whole file and compares it with its checksums. A file without checksums has its rows
    /// read, and has checksums when they are fit to be read. It is marked as damaged, or as whole.
    ///
    /// Returns whether it came to the end: it stops when `go_on`, which hears how many bytes were
    /// read, says so.
    pub(crate) fn verify(&self, mut go_on: impl FnMut(u64) -> bool) -> Result<bool, Error> {
        let is_covered = self.health.checksums().is_some();
        let mut bytes = Vec::new();
        let is_whole = verified::read_whole(self, |piece| {
            if !is_covered {
                bytes.extend_from_slice(piece);
            }
            go_on(piece.len() as u64)
        })?;
        if !is_whole {
            return Ok(false);
        }
        if !is_covered {
            let checksums = Checksums::of(&bytes);
            self.decode(bytes)?;
            self.health.set_checksums(checksums);
            self.health.set_unrecorded();
        }
        if self.health.set_damage(None) {
            let path = self.path.display();
            tracing::info!(%path, "a file that was damaged is whole again");
        }
        Ok(true)
    }

    /// The rows of the whole file.
    fn decode(&self, bytes: Vec<u8>) -> Result<Vec<RecordBatch>, Error> {
        // The library checks what it reads, but not everything, and a damaged file may lead it
        // astray.
        let batches = catch_unwind(AssertUnwindSafe(|| decode(bytes)))
            .unwrap_or_else(|_| Err("reading it went astray".to_owned()))
            .map_err(|reason| self.damaged(&reason))?;
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        match rows as u64 == self.rows {
            true => Ok(batches),
            false => {
                Err(self.damaged(&format!("it has {rows} rows, and {} were written", self.rows)))
            }
        }
    }

    /// Compares whole blocks of the file with their checksums.
    pub fn check(&self, start: u64, bytes: &[u8]) -> Result<(), Error> {
        let Some(checksums) = self.health.checksums() else { return Ok(()) };
        checksums.check(start, bytes).map_err(|at| {
            self.damaged(&format!("the checksum of the block at byte {at} does not fit"))
        })
    }

    /// Checks that the file is there and as long as it was written.
    pub fn check_length(&self) -> Result<(), Error> {
        let metadata = fs::metadata(&self.path).map_err(|error| self.unreadable("find", error))?;
        match metadata.len() == self.bytes {
            true => Ok(()),
            false => Err(self.wrong_length(metadata.len())),
        }
    }

    /// Marks the file as damaged.
    pub fn damaged(&self, reason: &str) -> Error {
        if self.health.set_damage(Some(reason)) {
            let (path, rows) = (self.path.display(), self.rows);
            tracing::error!(%path, reason, rows, "a file of a table is damaged");
        }
        Error::damaged(&self.path, reason)
    }

    /// Marks the file as damaged because it does not have the bytes that were written.
    pub fn wrong_length(&self, found: u64) -> Error {
        self.damaged(&format!("it has {found} bytes, and {} were written", self.bytes))
    }

    /// Marks the file as damaged when the error is about the file, and not about the moment.
    pub fn unreadable(&self, action: &'static str, error: io::Error) -> Error {
        use io::ErrorKind::{NotFound, PermissionDenied, UnexpectedEof};
        let is_lasting = matches!(error.kind(), NotFound | PermissionDenied | UnexpectedEof)
            || error.raw_os_error() == Some(EIO);
        match is_lasting {
            true if error.kind() == NotFound => {
                self.damaged(&format!("it is missing, with {} rows", self.rows))
            }
            true => self.damaged(&format!("cannot {action} it: {error}")),
            false => Error::io(action, &self.path, error),
        }
    }
}

impl Drop for DataFile {
    fn drop(&mut self) {
        if !*self.named.get_mut()
            && let Err(error) = fs::remove_file(&self.path)
        {
            let path = self.path.display();
            tracing::warn!(%path, %error, "a file that is not needed stays until the next start");
        }
    }
}

/// What the system says when the disk does not give back what is on it.
const EIO: i32 = 5;

/// Writes the rows and returns when they are durable, with their bytes and checksums.
fn write(
    path: &Path,
    file: File,
    schema: &Schema,
    arrow: &SchemaRef,
    sorted: &Sorted,
    footer: KeyValue,
) -> Result<(u64, Checksums), Error> {
    let failed = |error| Error::parquet("write", path, error);
    let properties = Some(properties(schema, sorted.rows(), footer));
    let file = Summing::new(file);
    let mut writer = ArrowWriter::try_new(file, arrow.clone(), properties).map_err(failed)?;
    for slice in sorted.slices() {
        writer.write(&slice.map_err(|error| failed(error.into()))?).map_err(failed)?;
    }
    let (file, checksums) = writer.into_inner().map_err(failed)?.finish();
    file.sync_all().map_err(|error| Error::io("sync", path, error))?;
    let bytes = file.metadata().map_err(|error| Error::io("read", path, error))?.len();
    match checksums.are_of(bytes) {
        true => Ok((bytes, checksums)),
        false => Err(Error::damaged(path, "it has another length than what was written")),
    }
}

fn properties(schema: &Schema, rows: &RecordBatch, footer: KeyValue) -> WriterProperties {
    let by = |column: usize| SortingColumn {
        column_idx: column as i32,
        descending: false,
        nulls_first: true,
    };
    let order = time_column(schema).into_iter().chain([0]).map(by).collect();
    let mut builder = WriterProperties::builder();
    // Statistics leave out what is not a number, which SQL takes for larger than all numbers.
    for (field, column) in rows.schema_ref().fields().iter().zip(rows.columns()) {
        if has_nan(column) {
            let path = ColumnPath::from(field.name().as_str());
            builder = builder.set_column_statistics_enabled(path, EnabledStatistics::None);
        }
    }
    builder
        .set_compression(Compression::LZ4_RAW)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_max_row_group_row_count(Some(group_rows(rows.num_rows())))
        .set_sorting_columns(Some(order))
        .set_key_value_metadata(Some(vec![footer]))
        .set_created_by(concat!("edgemere version ", env!("CARGO_PKG_VERSION")).to_owned())
        .build()
}

fn has_nan(column: &ArrayRef) -> bool {
    let floats = column.as_primitive_opt::<Float64Type>();
    floats.is_some_and(|floats| floats.values().iter().any(|float| float.is_nan()))
}

/// How many rows a group has in a file of so many. A thread reads whole groups: also a file that is not
/// large has several, all alike, so that several threads have something to do.
fn group_rows(rows: usize) -> usize {
    let groups = match rows / ROW_GROUP_ROWS_MIN {
        0 | 1 => 1,
        2 | 3 => 2,
        _ => 4,
    };
    rows.div_ceil(groups).clamp(1, ROW_GROUP_ROWS)
}

fn decode(bytes: Vec<u8>) -> Result<Vec<RecordBatch>, String> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes))
        .and_then(|builder| builder.with_batch_size(SLICE_ROWS).build())
        .map_err(|error| error.to_string())?;
    reader.map(|batch| batch.map_err(|error| error.to_string())).collect()
}

fn row_ids(rows: &RecordBatch) -> (u64, u64) {
    let ids = rows.column(0).as_primitive_opt::<Int64Type>();
    let number = |id: Option<i64>| id.unwrap_or_default().unsigned_abs();
    (number(ids.and_then(min)), number(ids.and_then(max)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_groups_are_alike_and_never_too_large() {
        let cases = [0, 1, 32_767, 65_535, 65_536, 100_000, 131_072, 200_000, 1 << 20, 5_000_001];
        let groups = cases.map(|rows: usize| rows.div_ceil(group_rows(rows)));
        assert_eq!(groups, [0, 1, 1, 1, 2, 2, 4, 4, 4, 20]);
        for rows in cases {
            let (each, groups) = (group_rows(rows), rows.div_ceil(group_rows(rows)));
            assert!(each <= ROW_GROUP_ROWS);
            assert!(groups <= 1 || each >= ROW_GROUP_ROWS_MIN, "{rows} rows in groups of {each}");
        }
    }
}
