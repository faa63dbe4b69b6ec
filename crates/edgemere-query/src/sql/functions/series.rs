//! `generate_series(start, stop [, step])` and `range(start, stop [, step])` in FROM: whole numbers or
//! times, made batch by batch on the query node. `range` ends before its stop.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, Field, IntervalMonthDayNano, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, ScalarValue, TableReference, plan_err};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{ObjectNamePart, TableFactor, Visit, Visitor};
use futures_util::stream;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// How many rows a series has at most.
const ROWS_MAX: i128 = 1_000_000;

/// How many rows are made at once.
const ROWS_AT_ONCE: usize = 8192;

/// The name of the only column.
const COLUMN: &str = "value";

/// A function that makes a series.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: &'static str,
    /// Whether the stop itself is in the series.
    pub(super) with_stop: bool,
}

/// Both.
pub(super) const ALL: [Function; 2] = [
    Function { name: "generate_series", with_stop: true },
    Function { name: "range", with_stop: false },
];

impl TableFunctionImpl for Function {
    fn call_with_args(
        &self,
        arguments: TableFunctionArgs<'_, '_>,
    ) -> Result<Arc<dyn TableProvider>> {
        let values = arguments.exprs().iter().map(|argument| match argument {
            Expr::Literal(value, _) => Ok(value.clone()),
            _ => plan_err!("{} takes values that are known before rows are read", self.name),
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        let series = self.series(&values)?;
        let stream: Arc<dyn PartitionStream> = Arc::new(series);
        Ok(Arc::new(StreamingTable::try_new(Arc::clone(stream.schema()), vec![stream])?))
    }
}

impl Function {
    fn series(&self, values: &[ScalarValue]) -> Result<Series> {
        let name = self.name;
        let (start, stop, step) = match values {
            [start, stop] => (start, stop, None),
            [start, stop, step] => (start, stop, Some(step)),
            _ => {
                return plan_err!("{name} takes a start, a stop and a step: {name}(1, 10, 2)");
            }
        };
        let is_time = |value: &ScalarValue| {
            matches!(value.data_type(), DataType::Timestamp(..) | DataType::Date32)
                || matches!(value, ScalarValue::Utf8(_) | ScalarValue::Utf8View(_))
        };
        let is_whole = |value: &ScalarValue| value.data_type().is_integer() || value.is_null();
        if is_time(start) || is_time(stop) {
            return self.times(start, stop, step);
        }
        if ![Some(start), Some(stop), step].into_iter().flatten().all(is_whole) {
            return plan_err!("{name} makes series of whole numbers, dates and timestamps");
        }
        let number = |value: &ScalarValue| -> Result<Option<i64>> {
            match value.cast_to(&DataType::Int64)? {
                ScalarValue::Int64(number) => Ok(number),
                _ => Ok(None),
            }
        };
        let one = ScalarValue::Int64(Some(1));
        let (start, stop, step) = (number(start)?, number(stop)?, number(step.unwrap_or(&one))?);
        let (Some(start), Some(stop), Some(step)) = (start, stop, step) else {
            return Ok(Series::empty(DataType::Int64));
        };
        let rows = self.count(start, stop, step.into())?;
        Ok(Series::new(DataType::Int64, Steps::Numbers { start, step }, rows))
    }

    fn times(
        &self,
        start: &ScalarValue,
        stop: &ScalarValue,
        step: Option<&ScalarValue>,
    ) -> Result<Series> {
        let name = self.name;
        let Some(step) = step else {
            return plan_err!(
                "{name} needs a step for times: {name}(start, stop, interval '1 day')"
            );
        };
        let data_type = DataType::Timestamp(TimeUnit::Microsecond, None);
        let time = |value: &ScalarValue| -> Result<Option<i64>> {
            match value.cast_to(&data_type)? {
                ScalarValue::TimestampMicrosecond(time, _) => Ok(time),
                _ => Ok(None),
            }
        };
        let interval = DataType::Interval(arrow::datatypes::IntervalUnit::MonthDayNano);
        let step = match step.data_type() {
            DataType::Interval(_) | DataType::Utf8 | DataType::Utf8View | DataType::Null => {
                step.cast_to(&interval)?
            }
            _ => return plan_err!("{name} needs a step of time: interval '1 day'"),
        };
        let (Some(start), Some(stop), ScalarValue::IntervalMonthDayNano(Some(step))) =
            (time(start)?, time(stop)?, step)
        else {
            return Ok(Series::empty(data_type));
        };
        let IntervalMonthDayNano { months, days, nanoseconds } = step;
        let micros = i128::from(days) * 86_400_000_000 + i128::from(nanoseconds / 1000);
        let is_one_way = nanoseconds % 1000 == 0
            && (i64::from(days).signum() * nanoseconds.signum() >= 0)
            && (i128::from(months).signum() * micros.signum() >= 0);
        if !is_one_way {
            return plan_err!("{name} needs a step that goes one way, in whole microseconds");
        }
        let rows = match months {
            0 => self.count(start, stop, micros)?,
            _ => self.count_months(start, stop, step)?,
        };
        Ok(Series::new(data_type, Steps::Times { start, step }, rows))
    }

    /// How many rows there are, which must not be too many.
    fn count(&self, start: i64, stop: i64, step: i128) -> Result<u64> {
        if step == 0 {
            return plan_err!("{} needs a step that is not zero", self.name);
        }
        let way = (i128::from(stop) - i128::from(start)) * step.signum();
        let rows = match (way, self.with_stop) {
            (..0, _) | (0, false) => 0,
            (way, true) => way / step.abs() + 1,
            (way, false) => (way - 1) / step.abs() + 1,
        };
        self.limited(rows)
    }

    /// The same for steps of months, of which there are few in all of time.
    fn count_months(&self, start: i64, stop: i64, step: IntervalMonthDayNano) -> Result<u64> {
        let is_forward = step.months > 0;
        let is_inside = |time: i64| match (is_forward, self.with_stop) {
            (true, true) => time <= stop,
            (true, false) => time < stop,
            (false, true) => time >= stop,
            (false, false) => time > stop,
        };
        let mut rows = 0;
        while later(start, step, rows).is_some_and(is_inside) {
            rows += 1;
        }
        self.limited(rows.into())
    }

    fn limited(&self, rows: i128) -> Result<u64> {
        match u64::try_from(rows) {
            Ok(count) if rows <= ROWS_MAX => Ok(count),
            _ => plan_err!(
                "{} would make {rows} rows, and makes {ROWS_MAX} at most: take a larger step",
                self.name
            ),
        }
    }
}

/// Whether a name in FROM is always that of a function: it is called wherever it stands.
pub(in crate::sql) fn is_call(statement: &Statement, name: &TableReference) -> bool {
    let is_function = |name: &str| ALL.iter().any(|function| function.name == name);
    if name.schema().is_some() || !is_function(name.table()) {
        return false;
    }
    let Statement::Statement(statement) = statement else { return false };
    statement.visit(&mut Calls { name: name.table() }).is_continue()
}

/// Looks for a table of a name, which is not called.
struct Calls<'a> {
    name: &'a str,
}

impl Visitor for Calls<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        let is_table = match table {
            TableFactor::Table { name, args: None, .. } => match name.0.as_slice() {
                [ObjectNamePart::Identifier(name)] => name.value.eq_ignore_ascii_case(self.name),
                _ => false,
            },
            _ => false,
        };
        if is_table { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// A series, of which nothing is made before it is read.
#[derive(Clone, Debug)]
struct Series {
    schema: SchemaRef,
    steps: Steps,
    rows: u64,
}

#[derive(Clone, Copy, Debug)]
enum Steps {
    Numbers { start: i64, step: i64 },
    Times { start: i64, step: IntervalMonthDayNano },
}

impl Series {
    fn new(data_type: DataType, steps: Steps, rows: u64) -> Self {
        let schema = Schema::new(vec![Field::new(COLUMN, data_type, true)]);
        Self { schema: Arc::new(schema), steps, rows }
    }

    fn empty(data_type: DataType) -> Self {
        Self::new(data_type, Steps::Numbers { start: 0, step: 1 }, 0)
    }

    /// Some of the rows.
    fn batch(&self, from: u64, until: u64) -> Result<RecordBatch> {
        let rows = from..until;
        let values: ArrayRef = match self.steps {
            Steps::Numbers { start, step } => Arc::new(Int64Array::from_iter(rows.map(|row| {
                i64::try_from(i128::from(start) + i128::from(step) * i128::from(row)).ok()
            }))),
            Steps::Times { start, step } => Arc::new(TimestampMicrosecondArray::from_iter(
                rows.map(|row| later(start, step, row)),
            )),
        };
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), vec![values])?)
    }
}

impl PartitionStream for Series {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let series = self.clone();
        let batches = (0..self.rows).step_by(ROWS_AT_ONCE).map(move |from| {
            let until = series.rows.min(from + ROWS_AT_ONCE as u64);
            series.batch(from, until)
        });
        let schema = Arc::clone(&self.schema);
        Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter(batches)))
    }
}

/// A time so many steps later: the last day of a month when the month has no such day.
fn later(start: i64, step: IntervalMonthDayNano, times: u64) -> Option<i64> {
    let times = i64::try_from(times).ok()?;
    let micros = i64::from(step.days)
        .checked_mul(86_400_000_000)?
        .checked_add(step.nanoseconds / 1000)?
        .checked_mul(times)?;
    if step.months == 0 {
        return start.checked_add(micros);
    }
    let start = Timestamp::from_microsecond(start).ok()?.to_zoned(TimeZone::UTC).datetime();
    let months = Span::new().try_months(i64::from(step.months).checked_mul(times)?).ok()?;
    let moved: DateTime = start.checked_add(months).ok()?;
    let moved = moved.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond();
    moved.checked_add(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_has_as_many_rows_as_there_are_steps() {
        let both =
            |start, stop, step| ALL.map(|function| function.count(start, stop, step).unwrap());
        assert_eq!(both(1, 10, 3), [4, 3]);
        assert_eq!(both(10, 1, -3), [4, 3]);
        assert_eq!(both(1, 1, 1), [1, 0]);
        assert_eq!(both(1, 0, 1), [0, 0]);
        assert_eq!(both(i64::MIN, i64::MAX, i128::from(i64::MAX)), [3, 3]);
        assert!(ALL[0].count(1, 1_000_001, 1).is_err());
        assert!(ALL[0].count(1, 1, 0).is_err());
        assert!(ALL[0].count(i64::MIN, i64::MAX, 1).is_err());
    }

    #[test]
    fn months_are_counted_from_the_start() {
        let micros = |text: &str| text.parse::<Timestamp>().unwrap().as_microsecond();
        let start = micros("2024-01-31T00:00:00Z");
        let month = IntervalMonthDayNano::new(1, 0, 0);
        let shown = |times| Timestamp::from_microsecond(later(start, month, times).unwrap());
        assert_eq!(shown(1).unwrap().to_string(), "2024-02-29T00:00:00Z");
        assert_eq!(shown(2).unwrap().to_string(), "2024-03-31T00:00:00Z");
        let until = micros("2025-01-31T00:00:00Z");
        assert_eq!(ALL[0].count_months(start, until, month).unwrap(), 13);
        assert_eq!(ALL[1].count_months(start, until, month).unwrap(), 12);
    }
}
