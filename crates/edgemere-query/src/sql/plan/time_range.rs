//! The first and the last time that a query found, for `increments(column)`.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::collect;

use crate::sql::Session;
use crate::sql::dialect::TimeRange;
use crate::sql::error::Error;
use crate::sql::run::stream::failed;
use edgemere_storage::schema::told;

/// Runs the question for a range.
pub(crate) async fn ask(session: &Session, plan: LogicalPlan) -> Result<TimeRange, Error> {
    session.tables.note_special();
    let steps = session.steps(&session.optimized(&plan)?).await?;
    session.open(&steps.physical).await?;
    let batches = collect(steps.physical, session.task()).await.map_err(failed)?;
    of(&batches)
}

/// The range in the one row of a result; that of no time at all when there were no rows.
fn of(batches: &[RecordBatch]) -> Result<TimeRange, Error> {
    let row = batches.iter().find(|batch| batch.num_rows() > 0);
    let bound = |index| row.map_or(Ok(None), |row: &RecordBatch| time(row, index));
    let (first, last) = (bound(0)?, bound(1)?);
    Ok(TimeRange { first: first.unwrap_or(0), last: last.or(first).unwrap_or(0) })
}

/// The time in a column of the first row.
fn time(row: &RecordBatch, index: usize) -> Result<Option<i64>, Error> {
    let Some(column) = row.columns().get(index) else { return Ok(None) };
    let is_time = matches!(column.data_type(), DataType::Timestamp(..) | DataType::Date32);
    if !is_time {
        return Err(Error::Function {
            name: "increments",
            reason: format!("its column must hold times, not {}", told(column.data_type())),
            position: None,
        });
    }
    let times = cast(column, &DataType::Timestamp(TimeUnit::Microsecond, None))
        .map_err(|error| Error::Execution(error.into()))?;
    let times = times.as_primitive::<TimestampMicrosecondType>();
    Ok((!times.is_empty() && times.is_valid(0)).then(|| times.value(0)))
}
