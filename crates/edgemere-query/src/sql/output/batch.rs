//! Rows of a result, and the forms in which they leave the engine.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow::compute::cast;
use arrow::csv::WriterBuilder as CsvBuilder;
use arrow::datatypes::{DataType, DurationMicrosecondType, Field, Schema, TimeUnit};
use arrow::error::ArrowError;
use arrow::json::StructMode;
use arrow::json::writer::{LineDelimited, WriterBuilder};
use arrow::util::display::{ArrayFormatter, FormatOptions};

use crate::sql::error::Error;
use crate::sql::functions::clock;
use crate::sql::output::times;
use crate::sql::plan::explain::{ResultColumn, type_name};
use edgemere_storage::{JsonValues, base64_texts};

/// How times look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Times {
    /// `2026-01-01 20:00:00.500000`, as EdgeLake writes them.
    #[default]
    Plain,
    /// The same, without a fraction of zero: for readers to whom every letter counts.
    Brief,
    /// `2026-01-01T20:00:00.500000Z`.
    Utc,
    /// The same, without a fraction of zero.
    BriefUtc,
    /// As the clocks of a zone show them, without its distance to UTC, as EdgeLake writes them: for
    /// whichever option has chosen the zone.
    Clock,
}

impl Times {
    /// How the times of a query look: as on the clocks of a zone, when it has one chosen with
    /// EdgeLake's `::timezone(…)`.
    pub fn of(sql: &str) -> Self {
        if sql.to_lowercase().contains("::timezone") { Self::Clock } else { Self::Plain }
    }

    fn format(self) -> &'static str {
        match self {
            Self::Plain | Self::Clock => "%Y-%m-%d %H:%M:%S%.6f",
            Self::Brief => "%Y-%m-%d %H:%M:%S%.f",
            Self::Utc => "%Y-%m-%dT%H:%M:%S%.6fZ",
            Self::BriefUtc => "%Y-%m-%dT%H:%M:%S%.fZ",
        }
    }

    /// How moments look, which are times of UTC.
    pub(crate) fn of_moments(self) -> Self {
        match self {
            Self::Brief | Self::BriefUtc => Self::BriefUtc,
            Self::Plain | Self::Utc | Self::Clock => Self::Utc,
        }
    }
}

/// How times look that have a zone of their own, where they are inside of other values.
const IN_ZONE: &str = "%Y-%m-%d %H:%M:%S%.6f%:z";

/// Some rows of a result.
#[derive(Clone, Debug)]
pub struct Batch(pub RecordBatch);

impl Batch {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.0.num_rows()
    }

    /// The names of the columns.
    pub fn columns(&self) -> Vec<String> {
        self.0.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The columns with their types.
    pub fn typed_columns(&self) -> Vec<ResultColumn> {
        let fields = self.0.schema_ref().fields().iter();
        fields
            .map(|field| ResultColumn {
                name: field.name().clone(),
                type_name: type_name(field.data_type()),
            })
            .collect()
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
            .with_encoder_factory(Arc::new(JsonValues))
            .build::<_, LineDelimited>(&mut bytes);
        writer.write(&self.shown(times)?).and_then(|()| writer.finish()).map_err(encoding)?;
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
        writer.write(&self.shown(times)?).map_err(encoding)?;
        drop(writer);
        text(bytes)
    }

    /// The texts of all values, row by row.
    pub fn cells(&self, times: Times) -> Result<Vec<Vec<String>>, Error> {
        let options = FormatOptions::new()
            .with_null("null")
            .with_timestamp_format(Some(times.format()))
            .with_timestamp_tz_format(Some(IN_ZONE));
        let shown = self.shown(times)?;
        let formatters = shown
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).map_err(encoding))
            .collect::<Result<Vec<_>, _>>()?;
        let row = |index| formatters.iter().map(|column| column.value(index).to_string()).collect();
        Ok((0..self.rows()).map(row).collect())
    }

    /// The rows with times, spans of time and bytes as texts: spans as on a clock, since no other form
    /// shows them in a way people read, and bytes in base64.
    fn shown(&self, times: Times) -> Result<RecordBatch, Error> {
        let columns = self.0.columns().iter().zip(self.0.schema_ref().fields());
        let columns = columns.map(|(column, field)| {
            let shown = match column.data_type() {
                DataType::Duration(_) => clocks(column)?,
                DataType::Binary
                | DataType::LargeBinary
                | DataType::BinaryView
                | DataType::FixedSizeBinary(_) => base64_texts(column)?,
                _ => times::texts(column, times)?.unwrap_or_else(|| Arc::clone(column)),
            };
            Ok((Field::new(field.name(), shown.data_type().clone(), true), shown))
        });
        let columns = columns.collect::<Result<Vec<_>, ArrowError>>().map_err(encoding)?;
        let (fields, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
            .map_err(encoding)
    }

    /// Takes so many rows from the front, or all that there are.
    pub fn take_front(&mut self, rows: usize) -> Self {
        let taken = rows.min(self.rows());
        let front = self.0.slice(0, taken);
        self.0 = self.0.slice(taken, self.rows() - taken);
        Self(front)
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
