//! Puts rows in the order in which they are in a file: by the first timestamp column and the row
//! id, or without one by the row id alone.

use arrow::array::{Array, ArrayRef, RecordBatch, TimestampMicrosecondArray, UInt32Array};
use arrow::compute::{
    SortColumn, SortOptions, concat_batches, lexsort_to_indices, take_record_batch,
};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

use super::block::compact_text;
use super::options::SLICE_ROWS;
use crate::schema::{Kind, SYSTEM_COLUMNS, Schema};

/// Rows, and in which order they are to be taken: their own when there is none.
pub(crate) struct Sorted {
    rows: RecordBatch,
    order: Option<UInt32Array>,
}

impl Sorted {
    /// Joins rows, whose ids rise, and finds their order.
    pub(crate) fn new(
        schema: &Schema,
        arrow: &SchemaRef,
        batches: Vec<RecordBatch>,
    ) -> Result<Self, ArrowError> {
        let rows = concat_batches(arrow, &batches)?;
        drop(batches);
        let time = time_column(schema).and_then(|time| rows.columns().get(time));
        let order = match time {
            Some(time) if !is_sorted(time) => Some(order(time, rows.column(0))?),
            _ => None,
        };
        Ok(Self { rows, order })
    }

    pub(crate) fn rows(&self) -> &RecordBatch {
        &self.rows
    }

    /// The rows in order, some at a time.
    pub(crate) fn slices(&self) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> {
        let rows = self.rows.num_rows();
        (0..rows).step_by(SLICE_ROWS).map(move |start| {
            let length = SLICE_ROWS.min(rows - start);
            match &self.order {
                None => Ok(self.rows.slice(start, length)),
                Some(order) => take_record_batch(&self.rows, &order.slice(start, length)),
            }
        })
    }
}

/// Where the first timestamp column is, the system columns counted.
pub(crate) fn time_column(schema: &Schema) -> Option<usize> {
    let own = schema.columns.iter().position(|column| column.kind == Kind::Timestamp)?;
    Some(SYSTEM_COLUMNS.len() + own)
}

/// Joins batches to one whose text lies together.
pub(crate) fn join(arrow: &SchemaRef, batches: &[&RecordBatch]) -> Result<RecordBatch, ArrowError> {
    let joined = concat_batches(arrow, batches.iter().copied())?;
    let columns = joined.columns().iter().map(|column| compact_text(column.clone())).collect();
    RecordBatch::try_new(arrow.clone(), columns)
}

fn is_sorted(time: &ArrayRef) -> bool {
    time.null_count() == 0
        && time
            .as_any()
            .downcast_ref::<TimestampMicrosecondArray>()
            .is_some_and(|times| times.values().is_sorted())
}

fn order(time: &ArrayRef, row_ids: &ArrayRef) -> Result<UInt32Array, ArrowError> {
    let options = Some(SortOptions { descending: false, nulls_first: true });
    let column = |values: &ArrayRef| SortColumn { values: values.clone(), options };
    lexsort_to_indices(&[column(time), column(row_ids)], None)
}
