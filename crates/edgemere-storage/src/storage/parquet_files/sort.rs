//! Puts rows in the order in which they are in a file: by the first timestamp column and the row
//! id, or without one by the row id alone.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::compute::{
    SortColumn, SortOptions, concat_batches, lexsort_to_indices, max, min, take_record_batch,
};
use arrow::datatypes::{SchemaRef, TimestampMicrosecondType, TimestampNanosecondType};
use arrow::error::ArrowError;

use crate::schema::{SYSTEM_COLUMNS, Schema};
use crate::storage::options::SLICE_ROWS;
use crate::storage::write::block::compact_text;

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
    let own = schema.columns.iter().position(|column| column.kind.is_timestamp())?;
    Some(SYSTEM_COLUMNS.len() + own)
}

/// The earliest and the latest of times, in microseconds; those in nanoseconds lie between the two.
pub(crate) fn time_range(column: &ArrayRef) -> Option<(i64, i64)> {
    if let Some(times) = column.as_primitive_opt::<TimestampNanosecondType>() {
        let latest = max(times)?;
        let is_between = latest.rem_euclid(NANOS) != 0;
        return Some((
            min(times)?.div_euclid(NANOS),
            latest.div_euclid(NANOS) + i64::from(is_between),
        ));
    }
    let times = column.as_primitive_opt::<TimestampMicrosecondType>()?;
    Some((min(times)?, max(times)?))
}

/// How many nanoseconds a microsecond has.
const NANOS: i64 = 1000;

/// Joins batches to one whose text lies together.
pub(crate) fn join(arrow: &SchemaRef, batches: &[&RecordBatch]) -> Result<RecordBatch, ArrowError> {
    let joined = concat_batches(arrow, batches.iter().copied())?;
    let columns = joined.columns().iter().map(|column| compact_text(column.clone())).collect();
    RecordBatch::try_new(arrow.clone(), columns)
}

fn is_sorted(time: &ArrayRef) -> bool {
    if time.null_count() > 0 {
        return false;
    }
    let micros = time.as_primitive_opt::<TimestampMicrosecondType>();
    let nanos = time.as_primitive_opt::<TimestampNanosecondType>();
    let micros = micros.is_some_and(|times| times.values().is_sorted());
    micros || nanos.is_some_and(|times| times.values().is_sorted())
}

fn order(time: &ArrayRef, row_ids: &ArrayRef) -> Result<UInt32Array, ArrowError> {
    let options = Some(SortOptions { descending: false, nulls_first: true });
    let column = |values: &ArrayRef| SortColumn { values: values.clone(), options };
    lexsort_to_indices(&[column(time), column(row_ids)], None)
}
