//! One group with its gaps filled.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions,
    UInt32Array,
};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Float64Type, Int64Type, SchemaRef, TimeUnit};
use datafusion::common::{Result, exec_err};

use crate::sql::functions::gapfill::node::Fill;

/// A row of the result: the row of the group that it is, and when its bucket begins. A gap has no
/// row, and a row without a time has no bucket.
#[derive(Clone, Copy, Debug)]
struct Place {
    row: Option<u32>,
    time: Option<i64>,
}

/// The rows of one group, in the order of their times, with those of the buckets that it lacks.
pub(super) fn fill(
    rows: &RecordBatch,
    fills: &[Fill],
    starts: &[i64],
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let time = fills.iter().position(|fill| *fill == Fill::Time);
    let Some(times) = time.and_then(|time| rows.columns().get(time)) else {
        return exec_err!("there is no bucket to fill");
    };
    let places = places(times, starts)?;
    let columns = rows.columns().iter().zip(fills);
    let columns = columns.map(|(column, fill)| filled(column, *fill, &places));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// Rows and gaps in the order of their times; rows without a time are last.
fn places(times: &ArrayRef, starts: &[i64]) -> Result<Vec<Place>> {
    let ticks = ticks_per_microsecond(times.data_type());
    let times = cast(times, &DataType::Int64)?;
    let times = times.as_primitive::<Int64Type>();
    let mut starts = starts.iter().map(|start| start.saturating_mul(ticks)).peekable();
    let mut places = Vec::with_capacity(times.len().max(starts.len()));
    for (row, time) in times.iter().enumerate() {
        while let Some(start) = starts.next_if(|start| time.is_none_or(|time| *start < time)) {
            places.push(Place { row: None, time: Some(start) });
        }
        starts.next_if(|start| Some(*start) == time);
        places.push(Place { row: u32::try_from(row).ok(), time });
    }
    places.extend(starts.map(|start| Place { row: None, time: Some(start) }));
    Ok(places)
}

fn ticks_per_microsecond(data_type: &DataType) -> i64 {
    match data_type {
        DataType::Timestamp(TimeUnit::Nanosecond, _) => 1000,
        _ => 1,
    }
}

fn filled(column: &ArrayRef, fill: Fill, places: &[Place]) -> Result<ArrayRef> {
    let rows = places.iter().map(|place| place.row);
    let rows: UInt32Array = match fill {
        Fill::Time => {
            let times: Int64Array = places.iter().map(|place| place.time).collect();
            return Ok(cast(&times, column.data_type())?);
        }
        Fill::Interpolated => return Ok(Arc::new(interpolated(column, places))),
        Fill::Group => rows.map(|_| Some(0)).collect(),
        Fill::Null => rows.collect(),
        Fill::Carried => {
            let mut last = None;
            let known = rows.map(|row| {
                last = row.filter(|row| column.is_valid(*row as usize)).or(last);
                last
            });
            known.collect()
        }
    };
    Ok(take(column, &rows, None)?)
}

/// Numbers, and between them those on the line from one to the next.
fn interpolated(column: &ArrayRef, places: &[Place]) -> Float64Array {
    let column = column.as_primitive::<Float64Type>();
    let known = places.iter().map(|place| {
        let row = place.row.map(|row| row as usize).filter(|row| column.is_valid(*row))?;
        Some(column.value(row))
    });
    let mut values: Vec<Option<f64>> = known.collect();
    let mut before: Option<(usize, i64, f64)> = None;
    for at in 0..values.len() {
        let Some((value, time)) = values.get(at).copied().flatten().zip(time_at(places, at)) else {
            continue;
        };
        if let Some((from, first, start)) = before {
            for between in from + 1..at {
                let Some(time_between) = time_at(places, between) else { continue };
                let part = seconds(time_between, first) / seconds(time, first);
                if let Some(gap) = values.get_mut(between) {
                    *gap = Some(start + (value - start) * part);
                }
            }
        }
        before = Some((at, time, value));
    }
    values.into_iter().collect()
}

fn time_at(places: &[Place], at: usize) -> Option<i64> {
    places.get(at).and_then(|place| place.time)
}

fn seconds(later: i64, earlier: i64) -> f64 {
    later.saturating_sub(earlier) as f64
}
