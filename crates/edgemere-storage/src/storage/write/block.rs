//! Blocks: the rows of one append, as they are encoded for the disk and as they are in memory.
//!
//! On disk a block is a short head and an Arrow IPC stream of the columns that were appended; the
//! system columns follow from the head. In memory it has all columns of the table.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringViewArray,
    TimestampMicrosecondArray, new_null_array,
};
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;

use crate::schema::{SYSTEM_COLUMNS, Schema};
use crate::storage::Error;
use crate::storage::options::{APPEND_BYTES_MAX, APPEND_ROWS_MAX};
use crate::storage::persist::keyspace::{SEAL_BYTES, Value};
use crate::storage::tables::widening;

/// The head of a block: first row id, time of the insert, number of rows.
const HEAD_BYTES: usize = 24;

/// Which operator and file a row came from: always this one.
const TSD_NAME: &str = "0";

/// What the system columns take in memory, a row.
const SYSTEM_BYTES: usize = 8 + 8 + 16 + 8;

/// The rows of an append, ready to be numbered and stored.
pub(crate) struct Prepared {
    /// The appended columns, in the table's order.
    batch: RecordBatch,
    /// The encoded block, with room for the seal and the head.
    encoded: Vec<u8>,
}

/// What a block is given when it is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) first_row: u64,
    pub(crate) inserted: i64,
    pub(crate) rows: u64,
}

impl Prepared {
    /// Checks a batch against the columns of its table, and encodes it.
    pub(crate) fn new(batch: &RecordBatch, schema: &Schema) -> Result<Self, Error> {
        if batch.num_rows() > APPEND_ROWS_MAX {
            let limit = format!("{APPEND_ROWS_MAX} rows");
            return Err(Error::TooLarge { what: "the batch", limit });
        }
        let batch = normalize(batch, schema)?;
        let mut encoded = vec![0; SEAL_BYTES + HEAD_BYTES];
        encode(&batch, &mut encoded)
            .map_err(|error| Error::columns(format!("the batch cannot be encoded: {error}")))?;
        if encoded.len() > APPEND_BYTES_MAX {
            let limit = format!("{APPEND_BYTES_MAX} bytes");
            return Err(Error::TooLarge { what: "the batch", limit });
        }
        // A slice keeps all of what it was cut from in memory, so it is replaced by a copy.
        let batch = match batch.get_array_memory_size() > 2 * encoded.len() {
            true => decode(encoded.get(SEAL_BYTES + HEAD_BYTES..).unwrap_or_default())
                .map_err(|error| Error::columns(format!("the batch cannot be read: {error}")))?,
            false => batch,
        };
        Ok(Self { batch, encoded })
    }

    pub(crate) fn rows(&self) -> u64 {
        self.batch.num_rows() as u64
    }

    /// What the rows take in memory.
    pub(crate) fn bytes(&self) -> u64 {
        (self.encoded.len() + self.batch.num_rows() * SYSTEM_BYTES) as u64
    }

    /// The block as it is in memory.
    pub(crate) fn complete(
        &self,
        head: Head,
        number: u64,
        schema: &SchemaRef,
    ) -> Result<RecordBatch, Error> {
        complete(&self.batch, head, number, schema)
    }

    /// The block as it is on disk. It is emptied, since no block is stored twice.
    pub(crate) fn value(&mut self, head: Head) -> Value {
        let mut encoded = std::mem::take(&mut self.encoded);
        let words =
            [head.first_row.to_le_bytes(), head.inserted.to_le_bytes(), head.rows.to_le_bytes()];
        if let Some(space) = encoded.get_mut(SEAL_BYTES..SEAL_BYTES + HEAD_BYTES) {
            space.copy_from_slice(words.as_flattened());
        }
        Value::new(encoded)
    }
}

/// A block that was read back: its head, its rows in memory, and their bytes.
pub(crate) fn restore(
    path: &Path,
    value: &[u8],
    number: u64,
    schema: &SchemaRef,
) -> Result<(Head, RecordBatch, u64), Error> {
    let damaged = |reason: String| Error::damaged(path, format!("block {number}: {reason}"));
    let (head, stream) = split(value).ok_or_else(|| damaged("it is too short".into()))?;
    let batch = decode(stream).map_err(|error| damaged(error.to_string()))?;
    if batch.num_rows() as u64 != head.rows {
        return Err(damaged(format!("it has {} rows, not {}", batch.num_rows(), head.rows)));
    }
    let bytes = (value.len() + SEAL_BYTES + batch.num_rows() * SYSTEM_BYTES) as u64;
    let batch = complete(&batch, head, number, schema)?;
    Ok((head, batch, bytes))
}

fn split(value: &[u8]) -> Option<(Head, &[u8])> {
    let (first_row, rest) = value.split_first_chunk()?;
    let (inserted, rest) = rest.split_first_chunk()?;
    let (rows, stream) = rest.split_first_chunk()?;
    let head = Head {
        first_row: u64::from_le_bytes(*first_row),
        inserted: i64::from_le_bytes(*inserted),
        rows: u64::from_le_bytes(*rows),
    };
    Some((head, stream))
}

/// Gives rows all columns of a table, in its types: those that they do not have are null.
pub(crate) fn pad(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Error> {
    let column = |field: &Arc<Field>| own_column(batch, field);
    let columns = schema.fields().iter().map(column).collect::<Result<_, Error>>()?;
    RecordBatch::try_new(Arc::clone(schema), columns)
        .map_err(|error| Error::columns(format!("the columns do not fit the table: {error}")))
}

/// Adds the system columns, and nulls for the columns that are not there.
fn complete(
    batch: &RecordBatch,
    head: Head,
    number: u64,
    schema: &SchemaRef,
) -> Result<RecordBatch, Error> {
    let rows = batch.num_rows();
    let first = head.first_row as i64;
    let row_ids = Int64Array::from_iter_values(first..first + rows as i64);
    let inserted = TimestampMicrosecondArray::from_value(head.inserted, rows);
    let names = StringViewArray::from_iter_values(std::iter::repeat_n(TSD_NAME, rows));
    let numbers = Int64Array::from_value(number as i64, rows);
    let system: [ArrayRef; SYSTEM_COLUMNS.len()] =
        [Arc::new(row_ids), Arc::new(inserted), Arc::new(names), Arc::new(numbers)];
    let own = schema.fields().iter().skip(SYSTEM_COLUMNS.len());
    let own = own.map(|field| own_column(batch, field));
    let columns = system.into_iter().map(Ok).chain(own).collect::<Result<_, Error>>()?;
    RecordBatch::try_new(Arc::clone(schema), columns)
        .map_err(|error| Error::columns(format!("the columns do not fit the table: {error}")))
}

/// A column of rows as its table has it now: rows may be from before it widened.
fn own_column(batch: &RecordBatch, field: &Field) -> Result<ArrayRef, Error> {
    match batch.column_by_name(field.name()) {
        Some(column) => widening::cast(field.name(), column, field.data_type()),
        None => Ok(new_null_array(field.data_type(), batch.num_rows())),
    }
}

/// The columns of a batch in the table's order and types, without text that no row uses.
fn normalize(batch: &RecordBatch, schema: &Schema) -> Result<RecordBatch, Error> {
    let found = batch.schema();
    let mut columns = Vec::with_capacity(found.fields().len());
    for (field, column) in found.fields().iter().zip(batch.columns()) {
        let name = field.name();
        let position = schema
            .position(name)
            .ok_or_else(|| Error::columns(format!("the table has no column \"{name}\"")))?;
        columns.push((position, name, convert(name, column, schema)?));
    }
    columns.sort_by_key(|(position, ..)| *position);
    if let Some((_, name, _)) = columns
        .windows(2)
        .find_map(|two| two.first().filter(|a| two.last().map(|b| b.0) == Some(a.0)))
    {
        return Err(Error::columns(format!("the batch has the column \"{name}\" twice")));
    }
    let field = |name: &str, column: &ArrayRef| Field::new(name, column.data_type().clone(), true);
    let fields: Vec<_> = columns.iter().map(|(_, name, column)| field(name, column)).collect();
    let columns = columns.into_iter().map(|(_, _, column)| column).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), columns, &options)
        .map_err(|error| Error::columns(error.to_string()))
}

/// A column in the type that the table holds it in: the same, except for the kinds of text, and for
/// numbers that became wider since the rows were read.
fn convert(name: &str, column: &ArrayRef, schema: &Schema) -> Result<ArrayRef, Error> {
    let kind = schema.columns.iter().find(|own| own.name == name).map(|own| own.kind);
    let expected = kind.map_or(DataType::Null, |kind| kind.arrow());
    Ok(compact_text(widening::cast(name, column, &expected)?))
}

/// Copies text together when it lies in many buffers, or in larger ones than it needs: they would
/// all be written.
pub(crate) fn compact_text(column: ArrayRef) -> ArrayRef {
    let Some(text) = column.as_any().downcast_ref::<StringViewArray>() else { return column };
    let held: usize = text.data_buffers().iter().map(|buffer| buffer.len()).sum();
    match held > 0 && (text.data_buffers().len() > 4 || held > 2 * text.total_buffer_bytes_used()) {
        true => Arc::new(text.gc()),
        false => column,
    }
}

fn encode(batch: &RecordBatch, to: &mut Vec<u8>) -> Result<(), arrow::error::ArrowError> {
    let mut writer = StreamWriter::try_new(to, &batch.schema())?;
    writer.write(batch)?;
    writer.finish()
}

fn decode(stream: &[u8]) -> Result<RecordBatch, arrow::error::ArrowError> {
    let mut reader = StreamReader::try_new(Cursor::new(stream), None)?;
    let none = || arrow::error::ArrowError::IpcError("the stream has no batch".to_owned());
    reader.next().unwrap_or_else(|| Err(none()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Column, Kind};
    use arrow::array::{Float64Array, StringArray};

    fn schema() -> Schema {
        let column = |name: &str, kind| Column::new(name, kind);
        let columns =
            vec![column("a", Kind::Int), column("b", Kind::Varchar), column("c", Kind::Decimal)];
        Schema { columns }
    }

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter(columns).unwrap()
    }

    #[test]
    fn a_block_comes_back_with_all_columns() {
        let text = StringArray::from(vec![Some("it's é"), None, Some("a text of some length")]);
        let given = batch(vec![
            ("c", Arc::new(Float64Array::from(vec![1.5, 2.5, 3.5]))),
            ("b", Arc::new(text)),
        ]);
        let mut prepared = Prepared::new(&given, &schema()).unwrap();
        let arrow = schema().arrow_with_system();
        let head = Head { first_row: 10, inserted: 77, rows: 3 };
        let there = prepared.complete(head, 4, &arrow).unwrap();
        let bytes = prepared.bytes();
        let value = prepared.value(head);
        let path = Path::new("x");
        let back = value_bytes(value, |value| restore(path, value, 4, &arrow).unwrap());
        assert_eq!(back, (head, there.clone(), bytes));
        assert_eq!(there.column(0).as_ref(), &Int64Array::from(vec![10, 11, 12]));
        assert_eq!(there.column(3).as_ref(), &Int64Array::from(vec![4, 4, 4]));
        assert_eq!(there.column(4).null_count(), 3);
    }

    fn value_bytes<T>(value: Value, read: impl FnOnce(&[u8]) -> T) -> T {
        read(&value.into_bytes()[SEAL_BYTES..])
    }

    #[test]
    fn columns_that_do_not_fit_are_refused() {
        let ints: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let refused = |columns| Prepared::new(&batch(columns), &schema()).err().unwrap();
        let unknown = refused(vec![("d", Arc::clone(&ints))]);
        assert_eq!(unknown.to_string(), "the table has no column \"d\"");
        let twice = refused(vec![("a", Arc::clone(&ints)), ("a", Arc::clone(&ints))]);
        assert_eq!(twice.to_string(), "the batch has the column \"a\" twice");
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(["x"]));
        let wrong = refused(vec![("c", texts)]);
        assert!(wrong.to_string().starts_with("the column \"c\" holds decimal"), "{wrong}");
    }

    #[test]
    fn a_slice_does_not_keep_the_whole() {
        let long = |n: i64| format!("a text that is not held in the view itself {n}");
        let all: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..100_000).map(long)));
        let slice = batch(vec![("b", all)]).slice(50_000, 10);
        let prepared = Prepared::new(&slice, &schema()).unwrap();
        assert!(prepared.bytes() < 5000, "{}", prepared.bytes());
        assert!(prepared.batch.get_array_memory_size() < 10_000);
        assert_eq!(prepared.batch.columns(), slice.columns());
    }
}
