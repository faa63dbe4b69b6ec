//! Which rows are rejected and why, and the rows that are left.

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter;

use super::{Decoded, Error, Limits};
use crate::schema::{Column, Schema};

/// How many characters of a rejected value are shown.
pub const VALUE_CHARS_MAX: usize = 100;

/// A row that was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The row, from 1, in the input's order.
    pub row: usize,
    /// The column whose value did not fit, or none when it is the row as a whole.
    pub column: Option<String>,
    /// The value, shortened.
    pub value: String,
    /// Why it did not fit.
    pub reason: String,
}

/// The rows of an input and what was decided about each.
pub(super) struct Rejections {
    refused: Vec<bool>,
    rejected: Vec<Rejection>,
    rejected_total: usize,
    rejected_max: usize,
}

impl Rejections {
    /// No rows yet.
    pub(super) fn new(limits: &Limits) -> Self {
        let rejected_max = limits.rejected_max;
        Self { refused: Vec::new(), rejected: Vec::new(), rejected_total: 0, rejected_max }
    }

    /// Adds rows that are accepted so far.
    pub(super) fn add_rows(&mut self, count: usize) {
        self.refused.resize(self.refused.len() + count, false);
    }

    /// For each row whether it is refused.
    pub(super) fn refused(&self) -> &[bool] {
        &self.refused
    }

    /// Refuses a row, from 0; once is enough.
    pub(super) fn refuse(&mut self, row: usize, column: Option<&str>, value: &str, reason: &str) {
        match self.refused.get_mut(row) {
            Some(refused) if !*refused => *refused = true,
            _ => return,
        }
        self.rejected_total += 1;
        self.rejected.push(Rejection {
            row: row + 1,
            column: column.map(str::to_owned),
            value: shorten(value),
            reason: reason.to_owned(),
        });
        // Columns are looked at one after the other, so the first rows may come last.
        if self.rejected.len() > self.rejected_max.saturating_mul(2) {
            self.keep_first();
        }
    }

    /// The accepted rows of the columns, of which the first are the known ones.
    pub(super) fn decoded(
        mut self,
        known: usize,
        columns: Vec<Column>,
        arrays: Vec<ArrayRef>,
        ignored: Vec<String>,
    ) -> Result<Decoded, Error> {
        self.keep_first();
        let accepted = self.refused.len() - self.rejected_total;
        let schema = Schema { columns };
        let options = RecordBatchOptions::new().with_row_count(Some(accepted));
        let arrays = self.without_refused(arrays)?;
        let batch = RecordBatch::try_new_with_options(schema.arrow(), arrays, &options)
            .map_err(Error::Batch)?;
        Ok(Decoded {
            added: schema.columns.iter().skip(known).cloned().collect(),
            schema,
            batch,
            accepted,
            rejected: self.rejected,
            rejected_total: self.rejected_total,
            ignored,
            notes: Vec::new(),
            left_out: Vec::new(),
        })
    }

    fn without_refused(&self, arrays: Vec<ArrayRef>) -> Result<Vec<ArrayRef>, Error> {
        if self.rejected_total == 0 {
            return Ok(arrays);
        }
        let accepted: BooleanArray = self.refused.iter().map(|refused| Some(!refused)).collect();
        let keep = |array: &ArrayRef| filter(array as &dyn Array, &accepted);
        arrays.iter().map(keep).collect::<Result<_, _>>().map_err(Error::Batch)
    }

    fn keep_first(&mut self) {
        self.rejected.sort_by_key(|rejected| rejected.row);
        self.rejected.truncate(self.rejected_max);
    }
}

/// A value as it is shown: not longer than [`VALUE_CHARS_MAX`].
pub(super) fn shorten(value: &str) -> String {
    match value.char_indices().nth(VALUE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shortened_by_characters() {
        assert_eq!(shorten("é"), "é");
        assert_eq!(shorten(&"é".repeat(100)), "é".repeat(100));
        assert_eq!(shorten(&"é".repeat(101)), "é".repeat(100) + "…");
    }

    #[test]
    fn the_first_rows_are_listed_and_all_are_counted() {
        let limits = Limits { rejected_max: 2, ..Limits::default() };
        let mut verdicts = Rejections::new(&limits);
        verdicts.add_rows(10);
        for row in (0..10).rev() {
            verdicts.refuse(row, Some("a"), "x", "first");
            verdicts.refuse(row, Some("b"), "x", "second");
        }
        verdicts.refuse(10, None, "", "there is no such row");
        let decoded = verdicts.decoded(0, vec![], vec![], vec![]).unwrap();
        assert_eq!((decoded.accepted, decoded.rejected_total), (0, 10));
        let listed = decoded.rejected.iter().map(|rejected| (rejected.row, &*rejected.reason));
        assert_eq!(listed.collect::<Vec<_>>(), [(1, "first"), (2, "first")]);
    }
}
