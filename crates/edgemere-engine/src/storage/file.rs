//! A Parquet file of a table: how it is written, what is known of it, how it is read back, and when
//! it goes.

use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::compute::{max, min};
use arrow::datatypes::{Int64Type, SchemaRef, TimestampMicrosecondType};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use super::folder::{Folder, PARQUET, create_whole};
use super::options::{ROW_GROUP_ROWS, ROW_GROUP_ROWS_MIN, SLICE_ROWS};
use super::record::FileRecord;
use super::sort::{Sorted, time_column};
use super::{Error, block};
use crate::schema::Schema;

/// A settled file. It stays on disk for as long as a snapshot holds it, also when the table has
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
    ) -> Result<Self, Error> {
        let unfit = |error| Error::parquet("write", at, ParquetError::from(error));
        let sorted = Sorted::new(schema, arrow, batches).map_err(unfit)?;
        let row_ids = row_ids(sorted.rows());
        let path = at.join(format!("{}-{number}{PARQUET}", row_ids.0));
        let bytes = create_whole(&path, |path, file| write(path, file, schema, arrow, &sorted))?;
        let rows = sorted.rows();
        Ok(Self {
            path,
            rows: rows.num_rows() as u64,
            bytes,
            memory_bytes: rows.get_array_memory_size() as u64,
            columns: schema.columns.len(),
            row_ids,
            inserted: rows.columns().get(1).and_then(times).unwrap_or_default(),
            times: time_column(schema).and_then(|at| rows.columns().get(at)).and_then(times),
            number,
            named: AtomicBool::new(false),
            _folder: Arc::clone(folder),
        })
    }

    /// A file that the manifest names.
    pub(crate) fn known(folder: &Arc<Folder>, at: &Path, number: u64, record: FileRecord) -> Self {
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
    pub(crate) fn row_groups(&self) -> i64 {
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

    /// Reads all rows, with the columns of a schema: those that the file does not have are null.
    ///
    /// This waits for the disk.
    pub fn read(&self, schema: &SchemaRef) -> Result<Vec<RecordBatch>, Error> {
        // The library checks what it reads, but not everything, and a damaged file may lead it
        // astray.
        let batches = catch_unwind(AssertUnwindSafe(|| read(&self.path)))
            .unwrap_or_else(|_| Err(Error::damaged(&self.path, "reading it went astray")))?;
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        if rows as u64 != self.rows {
            let reason = format!("it has {rows} rows, and {} were written", self.rows);
            return Err(Error::damaged(&self.path, reason));
        }
        batches.iter().map(|batch| block::pad(batch, schema)).collect()
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

/// Writes the rows and returns when they are durable, with their bytes.
fn write(
    path: &Path,
    file: File,
    schema: &Schema,
    arrow: &SchemaRef,
    sorted: &Sorted,
) -> Result<u64, Error> {
    let failed = |error| Error::parquet("write", path, error);
    let properties = Some(properties(schema, sorted.rows().num_rows()));
    let mut writer = ArrowWriter::try_new(file, arrow.clone(), properties).map_err(failed)?;
    for slice in sorted.slices() {
        writer.write(&slice.map_err(|error| failed(error.into()))?).map_err(failed)?;
    }
    let file = writer.into_inner().map_err(failed)?;
    file.sync_all().map_err(|error| Error::io("sync", path, error))?;
    Ok(file.metadata().map_err(|error| Error::io("read", path, error))?.len())
}

fn properties(schema: &Schema, rows: usize) -> WriterProperties {
    let by = |column: usize| SortingColumn {
        column_idx: column as i32,
        descending: false,
        nulls_first: true,
    };
    let order = time_column(schema).into_iter().chain([0]).map(by).collect();
    WriterProperties::builder()
        .set_compression(Compression::LZ4_RAW)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_max_row_group_row_count(Some(group_rows(rows)))
        .set_sorting_columns(Some(order))
        .set_created_by(concat!("edgemere version ", env!("CARGO_PKG_VERSION")).to_owned())
        .build()
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

fn read(path: &Path) -> Result<Vec<RecordBatch>, Error> {
    let failed = |error| Error::parquet("read", path, error);
    let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| builder.with_batch_size(SLICE_ROWS).build())
        .map_err(failed)?;
    reader.map(|batch| batch.map_err(|error| failed(error.into()))).collect()
}

fn row_ids(rows: &RecordBatch) -> (u64, u64) {
    let ids = rows.column(0).as_primitive_opt::<Int64Type>();
    let number = |id: Option<i64>| id.unwrap_or_default().unsigned_abs();
    (number(ids.and_then(min)), number(ids.and_then(max)))
}

fn times(column: &ArrayRef) -> Option<(i64, i64)> {
    let times = column.as_primitive_opt::<TimestampMicrosecondType>()?;
    Some((min(times)?, max(times)?))
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
