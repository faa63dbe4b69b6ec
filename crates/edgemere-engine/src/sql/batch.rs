//! Rows of a result, and the forms in which they leave the engine.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::csv::WriterBuilder as CsvBuilder;
use arrow::datatypes::{DataType, DurationMicrosecondType, TimeUnit};
use arrow::error::ArrowError;
use arrow::json::StructMode;
use arrow::json::writer::{LineDelimited, WriterBuilder};
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::error::Error;
use super::functions::clock;

/// How times look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Times {
    /// `2026-01-01 20:00:00.500000`, as EdgeLake writes them.
    #[default]
    Plain,
    /// `2026-01-01T20:00:00.500000Z`.
    Utc,
}

impl Times {
    fn format(self) -> &'static str {
        match self {
            Self::Plain => "%Y-%m-%d %H:%M:%S%.6f",
            Self::Utc => "%Y-%m-%dT%H:%M:%S%.6fZ",
        }
    }
}

/// How times look that have a zone of their own: as the clocks there show them.
const IN_ZONE: &str = "%Y-%m-%d %H:%M:%S%.6f";

/// Some rows of a result.
#[derive(Clone, Debug)]
pub struct Batch(pub(super) RecordBatch);

impl Batch {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.0.num_rows()
    }

    /// An object for each row, each on a line of its own.
    pub fn json_objects(&self, times: Times) -> Result<String, Error> {
        self.json(times, StructMode::ObjectOnly)
    }

    /// A list of values for each row, each on a line of its own.
    pub fn json_lists(&self, times: Times) -> Result<String, Error> {
        self.json(times, StructMode::ListOnly)
    }

    fn json(&self, times: Times, mode: StructMode) -> Result<String, Error> {
        let mut bytes = Vec::new();
        let mut writer = WriterBuilder::new()
            .with_explicit_nulls(true)
            .with_struct_mode(mode)
            .with_timestamp_format(times.format().into())
            .with_timestamp_tz_format(IN_ZONE.into())
            .build::<_, LineDelimited>(&mut bytes);
        writer.write(&self.shown()?).and_then(|()| writer.finish()).map_err(encoding)?;
        text(bytes)
    }

    /// Comma-separated values, with a line of the columns' names before them or without.
    pub fn csv(&self, times: Times, header: bool) -> Result<String, Error> {
        let mut bytes = Vec::new();
        let mut writer = CsvBuilder::new()
            .with_header(header)
            .with_timestamp_format(times.format().into())
            .with_timestamp_tz_format(IN_ZONE.into())
            .build(&mut bytes);
        writer.write(&self.shown()?).map_err(encoding)?;
        drop(writer);
        text(bytes)
    }

    /// The texts of all values, row by row.
    pub fn cells(&self, times: Times) -> Result<Vec<Vec<String>>, Error> {
        let options = FormatOptions::new()
            .with_null("null")
            .with_timestamp_format(Some(times.format()))
            .with_timestamp_tz_format(Some(IN_ZONE));
        let shown = self.shown()?;
        let formatters = shown
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).map_err(encoding))
            .collect::<Result<Vec<_>, _>>()?;
        let row = |index| formatters.iter().map(|column| column.value(index).to_string()).collect();
        Ok((0..self.rows()).map(row).collect())
    }

    /// The rows with spans of time as on a clock, which no other form shows in a way people read.
    fn shown(&self) -> Result<RecordBatch, Error> {
        let is_span = |column: &ArrayRef| matches!(column.data_type(), DataType::Duration(_));
        if !self.0.columns().iter().any(is_span) {
            return Ok(self.0.clone());
        }
        let columns = self.0.columns().iter().zip(self.0.schema_ref().fields());
        let columns = columns.map(|(column, field)| {
            let shown = if is_span(column) { clocks(column)? } else { Arc::clone(column) };
            Ok((field.name().clone(), shown, true))
        });
        let columns = columns.collect::<Result<Vec<_>, ArrowError>>().map_err(encoding)?;
        RecordBatch::try_from_iter_with_nullable(columns).map_err(encoding)
    }

    /// Which of the columns hold numbers.
    pub fn are_numbers(&self) -> Vec<bool> {
        self.0.columns().iter().map(|column| is_number(column.data_type())).collect()
    }
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric()
}

/// Spans of time as texts.
fn clocks(spans: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let spans = cast(spans, &DataType::Duration(TimeUnit::Microsecond))?;
    let spans = spans.as_primitive::<DurationMicrosecondType>().iter();
    let texts = spans.map(|span| {
        let sign = if span? < 0 { "-" } else { "" };
        Some(format!("{sign}{}", clock(span?.unsigned_abs())))
    });
    Ok(Arc::new(texts.collect::<StringArray>()))
}

fn encoding(error: ArrowError) -> Error {
    Error::Execution(error.into())
}

fn text(bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|error| encoding(ArrowError::ExternalError(Box::new(error))))
}
