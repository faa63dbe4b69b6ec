//! Rows that a query cannot have, because their file is damaged: an error, or left out and named, when
//! the rows of the others are wanted.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, SchemaRef, TimeUnit};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, ScalarValue};
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;

use crate::distributed::Progress;
use edgemere_storage::schema::{SYSTEM_COLUMNS, Schema};
use edgemere_storage::storage::{DataFile, Error};

/// What a query does about rows that it cannot have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Missing {
    /// Whether an answer without them is an answer.
    subset: bool,
    /// Where they are named then.
    progress: Progress,
}

/// The name of a table.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) dbms: String,
    pub(crate) table: String,
}

impl Missing {
    pub(crate) fn new(subset: bool, progress: &Progress) -> Self {
        Self { subset, progress: progress.clone() }
    }

    /// The rows that were left out so far.
    pub(crate) fn rows(&self) -> Vec<String> {
        self.progress.missing_rows()
    }

    /// Leaves the rows of damaged files out, if that is wanted.
    pub(crate) fn leave_out(&self, name: &Name, files: &[&Arc<DataFile>]) -> Result<()> {
        let Some(first) = files.first() else { return Ok(()) };
        if !self.subset {
            return Err(unreadable(name, first, files));
        }
        for file in files {
            let (Name { dbms, table }, rows, file) = (name, file.rows, file.name());
            let text = format!("{rows} rows of \"{dbms}.{table}\" (the file {file} is damaged)");
            self.progress.note_missing_rows(None, text);
        }
        Ok(())
    }
}

fn unreadable(name: &Name, first: &DataFile, files: &[&Arc<DataFile>]) -> DataFusionError {
    let error = Error::Unreadable {
        dbms: name.dbms.as_str().into(),
        table: name.table.as_str().into(),
        file: first.name().into(),
        reason: first.damage().unwrap_or_default().as_ref().into(),
        files: files.len(),
        rows: files.iter().map(|file| file.rows).sum(),
    };
    DataFusionError::External(Box::new(error))
}

/// The error of a file that was found damaged while it was read.
pub(crate) fn found(name: &Name, file: &DataFile, error: Error) -> Error {
    match error {
        Error::Damaged { reason, .. } => Error::Unreadable {
            dbms: name.dbms.as_str().into(),
            table: name.table.as_str().into(),
            file: file.name().into(),
            rows: file.rows,
            files: 1,
            reason: reason.into(),
        },
        other => other,
    }
}

/// The error of the storage inside an error of DataFusion's.
pub(crate) fn find(error: &DataFusionError) -> Option<Error> {
    let mut at: &(dyn std::error::Error + 'static) = error;
    loop {
        if let Some(found) = at.downcast_ref::<Error>() {
            return Some(found.clone());
        }
        let inner = match at.downcast_ref::<DataFusionError>() {
            Some(DataFusionError::External(inner)) => Some(inner.as_ref()),
            _ => None,
        };
        at = match inner {
            Some(inner) => inner,
            None => at.source()?,
        };
    }
}

/// Of damaged files, those that may have rows which a filter lets through. Only what the manifest
/// knows counts.
pub(crate) fn needed<'a>(
    files: Vec<&'a Arc<DataFile>>,
    filter: Option<&Arc<dyn PhysicalExpr>>,
    schema: &Schema,
    arrow: &SchemaRef,
) -> Result<Vec<&'a Arc<DataFile>>> {
    let Some(filter) = filter.filter(|_| !files.is_empty()) else { return Ok(files) };
    let time = schema.columns.iter().find(|column| column.kind.is_timestamp());
    let known = Known { files: &files, arrow, time: time.map(|column| column.name.as_str()) };
    let builder = PruningPredicateBuilder::new().with_file_schema(Arc::clone(arrow));
    let Some(predicate) = builder.build(Arc::clone(filter)) else { return Ok(files) };
    let may_match = predicate.prune(&known)?;
    Ok(files.into_iter().zip(may_match).filter(|(_, may)| *may).map(|(file, _)| file).collect())
}

/// What the manifest knows of files.
struct Known<'a> {
    files: &'a [&'a Arc<DataFile>],
    arrow: &'a SchemaRef,
    time: Option<&'a str>,
}

impl Known<'_> {
    fn values(&self, column: &Column, end: impl Fn((i64, i64)) -> i64) -> Option<ArrayRef> {
        let [row_id, inserted, ..] = SYSTEM_COLUMNS;
        let name = column.name.as_str();
        let range = |file: &DataFile| match name {
            _ if name == row_id => {
                Some((file.row_ids.0.cast_signed(), file.row_ids.1.cast_signed()))
            }
            _ if name == inserted => Some(file.inserted),
            _ if Some(name) == self.time => file.times,
            _ => None,
        };
        let values: Int64Array = self.files.iter().map(|file| range(file).map(&end)).collect();
        let kind = self.arrow.field_with_name(name).ok()?.data_type();
        if !matches!(kind, DataType::Timestamp(..)) {
            return cast(&values, kind).ok();
        }
        // What the manifest has are microseconds, whatever the column counts.
        let times = cast(&values, &DataType::Timestamp(TimeUnit::Microsecond, None)).ok()?;
        cast(&times, kind).ok()
    }
}

impl PruningStatistics for Known<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.values(column, |(least, _)| least)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.values(column, |(_, most)| most)
    }

    fn num_containers(&self) -> usize {
        self.files.len()
    }

    fn null_counts(&self, _: &Column) -> Option<ArrayRef> {
        None
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        None
    }

    fn contained(
        &self,
        _: &Column,
        _: &std::collections::HashSet<ScalarValue>,
    ) -> Option<BooleanArray> {
        None
    }
}
