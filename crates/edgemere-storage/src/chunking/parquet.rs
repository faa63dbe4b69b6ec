//! The rows of a Parquet file, batch by batch, each as an Arrow stream that `ingest` takes.
//!
//! What `ingest` does not know is made something that it does: bytes that are text become text. A
//! column of any other unknown type is refused before anything is sent.

use std::collections::VecDeque;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::writer::StreamWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::ParquetMetaData;

use super::{Chunk, ChunkOptions, Error};
use crate::decode::Input;

/// The most bytes of a piece. A batch that makes more is halved.
const BODY_BYTES_MAX: usize = 32 << 20;

/// The batches of a file that are still to come.
pub(super) struct Batches {
    reader: ParquetRecordBatchReader,
    /// What is left of the last batch.
    parts: VecDeque<RecordBatch>,
    next_row: u64,
    rows_total: u64,
    file_bytes: u64,
}

impl Batches {
    /// The batches of a file.
    pub(super) fn open(file: File, cut: ChunkOptions) -> Result<Self, Error> {
        let file_bytes = file.metadata().map_err(Error::Io)?.len();
        guarded(move || {
            let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(unreadable)?;
            let metadata = Arc::clone(builder.metadata());
            let rows_total = u64::try_from(metadata.file_metadata().num_rows()).unwrap_or(0);
            let skip = cut.skip.min(rows_total);
            let reader = builder
                .with_batch_size(batch_rows(&metadata, cut))
                .with_offset(usize::try_from(skip).unwrap_or(usize::MAX))
                .build()
                .map_err(unreadable)?;
            let next_row = skip + 1;
            Ok(Self { reader, parts: VecDeque::new(), next_row, rows_total, file_bytes })
        })
    }

    /// The next piece, if there is one.
    pub(super) fn piece(&mut self) -> Result<Option<Chunk>, Error> {
        guarded(AssertUnwindSafe(|| {
            let Some(batch) = self.batch()? else { return Ok(None) };
            let body = stream(&batch).map_err(unreadable)?;
            if body.len() > BODY_BYTES_MAX && batch.num_rows() > 1 {
                let half = batch.num_rows() / 2;
                self.parts.push_front(batch.slice(half, batch.num_rows() - half));
                self.parts.push_front(batch.slice(0, half));
                return self.piece();
            }
            let (first_row, rows) = (self.next_row, batch.num_rows());
            self.next_row += rows as u64;
            let bytes_read = self.bytes_read();
            let lines = Vec::new();
            let input = Input::ArrowStream;
            Ok(Some(Chunk { input, body, first_row, rows, lines, bytes_read }))
        }))
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        if let Some(part) = self.parts.pop_front() {
            return Ok(Some(part));
        }
        loop {
            match self.reader.next() {
                None => return Ok(None),
                Some(Err(error)) => return Err(unreadable(error)),
                Some(Ok(batch)) if batch.num_rows() == 0 => {}
                Some(Ok(batch)) => return plain(&batch).map(Some),
            }
        }
    }

    /// How much of the file the rows so far are, about.
    fn bytes_read(&self) -> u64 {
        let rows = u128::from(self.next_row - 1);
        let bytes = rows * u128::from(self.file_bytes) / u128::from(self.rows_total.max(1));
        u64::try_from(bytes).unwrap_or(self.file_bytes).min(self.file_bytes)
    }
}

/// So many rows that a batch has about as many bytes as a piece may.
fn batch_rows(metadata: &ParquetMetaData, cut: ChunkOptions) -> usize {
    let groups = metadata.row_groups().iter();
    let (rows, bytes) = groups.fold((0, 0), |(rows, bytes), group| {
        (rows + group.num_rows().max(0), bytes + group.total_byte_size().max(0))
    });
    let row_bytes = usize::try_from(bytes / rows.max(1)).unwrap_or(usize::MAX).max(1);
    cut.rows_max.min(cut.bytes_max / row_bytes).max(1)
}

/// A batch with types that `ingest` knows, in layouts that can be cut.
fn plain(batch: &RecordBatch) -> Result<RecordBatch, Error> {
    let schema = batch.schema();
    let fields = schema.fields().iter().zip(batch.columns());
    let columns: Vec<(Field, ArrayRef)> =
        fields.map(|(field, array)| plain_column(field, array)).collect::<Result<_, _>>()?;
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    RecordBatch::try_new(schema, arrays).map_err(unreadable)
}

fn plain_column(field: &FieldRef, array: &ArrayRef) -> Result<(Field, ArrayRef), Error> {
    let to = match array.data_type() {
        DataType::Utf8View => Some(DataType::LargeUtf8),
        DataType::BinaryView => Some(DataType::LargeBinary),
        _ => None,
    };
    let array = match to {
        Some(to) => {
            let options = CastOptions { safe: false, ..CastOptions::default() };
            cast_with_options(array, &to, &options).map_err(unreadable)?
        }
        None => Arc::clone(array),
    };
    Ok((Field::new(field.name(), array.data_type().clone(), true), array))
}

fn stream(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
    writer.write(batch)?;
    writer.into_inner()
}

fn unreadable(error: impl std::fmt::Display) -> Error {
    Error::Parquet { reason: error.to_string() }
}

/// The reader panics on some files that are not what they say they are.
fn guarded<T>(run: impl FnOnce() -> Result<T, Error> + std::panic::UnwindSafe) -> Result<T, Error> {
    let damaged = || Error::Parquet { reason: "its parts do not fit together".to_owned() };
    catch_unwind(run).unwrap_or_else(|_| Err(damaged()))
}
