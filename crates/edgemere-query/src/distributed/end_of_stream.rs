//! The end of a part, as something that is sent. A stream that just stops may have been cut off: by a
//! panic, by a stop of the node, by somebody in between. So an operator sends one row more than it
//! has, in a batch of its own, and a column that says which row that is. The rest of that batch tells
//! how many rows the operator read: a bit in each row, since the column has no room for a number.
//!
//! In the same way an operator tells before its first row which rows it goes on without.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, new_null_array,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use datafusion::common::internal_err;
use datafusion::error::Result;

/// The column that says whether a row is the end.
const COLUMN: &str = "__end";

/// A schema as it is sent: with the column, and so that every column may be null in the last row.
pub(super) fn sent_schema(schema: &Schema) -> SchemaRef {
    let nullable = |field: &Arc<Field>| field.as_ref().clone().with_nullable(true);
    let mut fields: Vec<_> = schema.fields().iter().map(nullable).collect();
    fields.push(Field::new(COLUMN, DataType::Boolean, false));
    Arc::new(Schema::new(fields))
}

/// Rows as they are sent.
pub(super) fn rows(batch: &RecordBatch, sent: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let mut columns = batch.columns().to_vec();
    columns.push(Arc::new(BooleanArray::from(vec![false; batch.num_rows()])));
    RecordBatch::try_new(Arc::clone(sent), columns)
}

/// How many rows the end has: itself, and the bits of a number.
const END_ROWS: usize = 1 + u64::BITS as usize;

/// The end as it is sent, after so many rows were read.
pub(super) fn end(sent: &SchemaRef, rows_read: u64) -> Result<RecordBatch, ArrowError> {
    let bits = (0..u64::BITS).map(|bit| rows_read >> bit & 1 == 1);
    telling(sent, std::iter::once(true).chain(bits).collect())
}

/// How many rows come before the bits of a notice. No notice is as long as the end.
const NOTICE_ROWS: usize = 2;

/// Tells, before the first row, what the rows are without.
pub(super) fn notice(sent: &SchemaRef, text: &str) -> Result<RecordBatch, ArrowError> {
    let bits = text.bytes().flat_map(|byte| (0..u8::BITS).map(move |bit| byte >> bit & 1 == 1));
    let ends: Vec<_> = [true; NOTICE_ROWS].into_iter().chain(bits).collect();
    telling(sent, ends)
}

/// A batch that has nothing but these bits.
fn telling(sent: &SchemaRef, bits: Vec<bool>) -> Result<RecordBatch, ArrowError> {
    let rows = bits.len();
    let ends: ArrayRef = Arc::new(BooleanArray::from(bits));
    let column = |field: &Arc<Field>| match field.name() == COLUMN {
        true => Arc::clone(&ends),
        false => new_null_array(field.data_type(), rows),
    };
    RecordBatch::try_new(Arc::clone(sent), sent.fields().iter().map(column).collect())
}

/// What was sent: rows, or the end.
pub(super) enum Received {
    /// What the rows are without.
    Notice(String),
    /// Rows.
    Rows(RecordBatch),
    /// There are no more.
    End {
        /// How many rows the operator read for those that it sent.
        rows_read: u64,
    },
}

/// Takes what was sent.
pub(super) fn receive(batch: &RecordBatch, schema: &SchemaRef) -> Result<Received> {
    let Some((last, columns)) = batch.columns().split_last() else {
        return internal_err!("a part has no columns");
    };
    let Some(ends) = last.as_boolean_opt() else {
        return internal_err!("a part does not say where it ends");
    };
    let is_told = batch.num_rows() > 0 && ends.value(0);
    if is_told && batch.num_rows() == END_ROWS {
        let bit = |at: usize| u64::from(ends.value(at + 1)) << at;
        return Ok(Received::End { rows_read: (0..END_ROWS - 1).map(bit).sum() });
    }
    if is_told {
        let bits: Vec<_> = ends.iter().skip(NOTICE_ROWS).map(|bit| bit == Some(true)).collect();
        let byte =
            |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
        let text: Vec<u8> = bits.chunks(u8::BITS as usize).map(byte).collect();
        return Ok(Received::Notice(String::from_utf8_lossy(&text).into_owned()));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let rows = RecordBatch::try_new_with_options(Arc::clone(schema), columns.to_vec(), &options)?;
    Ok(Received::Rows(rows))
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;

    use super::*;

    #[test]
    fn rows_and_the_end_are_told_apart() {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]));
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![7]));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![numbers]).unwrap();
        let sent = sent_schema(&schema);
        let Received::Rows(back) = receive(&rows(&batch, &sent).unwrap(), &schema).unwrap() else {
            panic!("rows are no end");
        };
        assert_eq!(back, batch);
        for read in [0, 1, 1_000_000_007, u64::MAX] {
            let received = receive(&end(&sent, read).unwrap(), &schema).unwrap();
            assert!(matches!(received, Received::End { rows_read } if rows_read == read));
        }
        for length in 0..20 {
            let told = "é\"x 1 rows of".repeat(2)[..].chars().take(length).collect::<String>();
            let received = receive(&notice(&sent, &told).unwrap(), &schema).unwrap();
            assert!(matches!(received, Received::Notice(text) if text == told), "{told}");
        }
    }

    #[test]
    fn rows_without_columns_keep_their_number() {
        let schema = Arc::new(Schema::empty());
        let options = RecordBatchOptions::new().with_row_count(Some(3));
        let batch = RecordBatch::try_new_with_options(schema.clone(), vec![], &options).unwrap();
        let sent = rows(&batch, &sent_schema(&schema)).unwrap();
        let Received::Rows(back) = receive(&sent, &schema).unwrap() else {
            panic!("rows are no end");
        };
        assert_eq!(back.num_rows(), 3);
    }
}
