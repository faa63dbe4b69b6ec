//! The two ways in which a result is taken, over the one stream that it is: collected up to a limit,
//! or as events of so many rows each.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::Schema;

use crate::distributed::OperatorProgress;
use crate::sql::error::Error;
use crate::sql::output::batch::Batch;
use crate::sql::output::portable_types::{plain_rows, plain_schema};
use crate::sql::run::rows::Rows;

/// How many bytes of rows are collected at most, whatever the limit of rows.
pub const COLLECTED_BYTES_MAX: usize = 64 << 20;

/// The rows of a result, all of them or the first.
#[derive(Clone, Debug)]
pub struct Collected {
    /// The rows, in their order.
    pub rows: Vec<Batch>,
    /// How many these are.
    pub total_rows: usize,
    /// Whether there are more, which were left out.
    pub truncated: bool,
    /// What each operator did for them; nothing when they are this node's.
    pub operators: Vec<OperatorProgress>,
    /// The rows that are not among them, because their files are damaged.
    pub missing_rows: Vec<String>,
}

/// Collects a result: at most `limit` rows, and at most [`COLLECTED_BYTES_MAX`] of them. What is more
/// is not computed, and [`Collected::truncated`] tells that there was more.
pub async fn collect<R: Rows>(mut rows: R, limit: usize) -> Result<Collected, R::Error> {
    let mut collected = Collected {
        rows: Vec::new(),
        total_rows: 0,
        truncated: false,
        operators: Vec::new(),
        missing_rows: Vec::new(),
    };
    let plain = plain_schema(&rows.no_rows().0.schema());
    let mut bytes = 0;
    while let Some(batch) = rows.next().await.transpose()? {
        let fits = batch.rows().min(limit - collected.total_rows);
        collected.truncated = fits < batch.rows();
        if fits > 0 {
            let first = plain_rows(&batch.0.slice(0, fits), &plain)
                .map_err(|error| Error::Execution(error.into()))?;
            bytes += first.get_array_memory_size();
            if bytes > COLLECTED_BYTES_MAX {
                collected.truncated = true;
                break;
            }
            collected.total_rows += fits;
            collected.rows.push(Batch(first));
        }
        if collected.truncated {
            break;
        }
    }
    collected.operators = rows.operators();
    collected.missing_rows = rows.missing_rows();
    Ok(collected)
}

/// What happens while a result is streamed.
#[derive(Clone, Debug)]
pub enum Event {
    /// Rows: exactly as many as were asked for at once, and the last time the rest.
    Rows(Batch),
    /// That was all.
    Complete {
        /// How many rows there were.
        total_rows: usize,
        /// What is not among them, when a subset was asked for.
        missing: Vec<String>,
    },
}

/// A result as events. Dropping it stops the query.
#[derive(Debug)]
pub struct Events<R> {
    /// None when there is nothing more to tell.
    rows: Option<R>,
    cutter: Cutter,
    total_rows: usize,
}

/// A result as events of so many rows each. Without [`Event::Complete`] at its end it is not whole.
pub fn events<R: Rows>(rows: R, rows_at_once: usize) -> Events<R> {
    let cutter = Cutter { size: rows_at_once.max(1), parts: VecDeque::new(), rows: 0 };
    Events { rows: Some(rows), cutter, total_rows: 0 }
}

impl<R: Rows> Events<R> {
    /// The next event; none after the last one, or after an error.
    pub async fn next(&mut self) -> Option<Result<Event, R::Error>> {
        let event = self.event().await.transpose();
        if !matches!(event, Some(Ok(Event::Rows(_)))) {
            self.rows = None;
        }
        event
    }

    async fn event(&mut self) -> Result<Option<Event>, R::Error> {
        let Some(rows) = &mut self.rows else { return Ok(None) };
        while !self.cutter.is_ready() {
            match rows.next().await.transpose()? {
                Some(batch) => self.cutter.push(batch.0),
                None if self.cutter.rows > 0 => break,
                None => {
                    let (total_rows, missing) = (self.total_rows, rows.missing());
                    return Ok(Some(Event::Complete { total_rows, missing }));
                }
            }
        }
        let batch = Batch(self.cutter.cut()?);
        self.total_rows += batch.rows();
        Ok(Some(Event::Rows(batch)))
    }
}

/// Cuts batches into ones of another size. Rows are copied only where one is put together of several.
#[derive(Debug)]
struct Cutter {
    size: usize,
    parts: VecDeque<RecordBatch>,
    /// How many rows the parts have.
    rows: usize,
}

impl Cutter {
    fn push(&mut self, batch: RecordBatch) {
        self.rows += batch.num_rows();
        self.parts.push_back(batch);
    }

    fn is_ready(&self) -> bool {
        self.rows >= self.size
    }

    /// The next rows: as many as there should be, or all that there are.
    fn cut(&mut self) -> Result<RecordBatch, Error> {
        let mut pieces = Vec::new();
        let mut wanted = self.size.min(self.rows);
        self.rows -= wanted;
        while let Some(part) = self.parts.pop_front() {
            let rows = part.num_rows().min(wanted);
            wanted -= rows;
            if rows < part.num_rows() {
                self.parts.push_front(part.slice(rows, part.num_rows() - rows));
            }
            pieces.push(part.slice(0, rows));
            if wanted == 0 {
                break;
            }
        }
        match (pieces.len(), pieces.first().map(RecordBatch::schema)) {
            (2.., Some(schema)) => {
                concat_batches(&schema, &pieces).map_err(|error| Error::Execution(error.into()))
            }
            _ => Ok(pieces
                .pop()
                .unwrap_or_else(|| RecordBatch::new_empty(Arc::new(Schema::empty())))),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, AsArray, Int64Array};
    use arrow::datatypes::Int64Type;

    use super::*;

    fn batch(numbers: std::ops::Range<i64>) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
        RecordBatch::try_from_iter([("n", numbers)]).unwrap()
    }

    #[test]
    fn batches_of_any_size_become_batches_of_one_size() {
        let mut cutter = Cutter { size: 4, parts: VecDeque::new(), rows: 0 };
        let (mut next, mut cuts) = (0, Vec::new());
        for rows in [1, 1, 1, 9, 4, 0, 3] {
            cutter.push(batch(next..next + rows));
            next += rows;
            while cutter.is_ready() {
                cuts.push(cutter.cut().unwrap());
            }
        }
        cuts.push(cutter.cut().unwrap());
        let sizes: Vec<_> = cuts.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(sizes, [4, 4, 4, 4, 3]);
        let numbers =
            cuts.iter().flat_map(|cut| cut.column(0).as_primitive::<Int64Type>().values());
        assert!(numbers.copied().eq(0..next));
    }

    #[test]
    fn rows_of_one_batch_are_not_copied() {
        let mut cutter = Cutter { size: 4, parts: VecDeque::new(), rows: 0 };
        let whole = batch(0..8);
        cutter.push(whole.clone());
        let values =
            |batch: &RecordBatch| batch.column(0).as_primitive::<Int64Type>().values().as_ptr();
        assert_eq!(values(&cutter.cut().unwrap()), values(&whole));
    }
}
