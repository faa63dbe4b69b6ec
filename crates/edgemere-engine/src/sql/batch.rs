//! Rows of a result, and the forms in which they leave the engine.

use arrow::array::{Array, RecordBatch};
use arrow::csv::WriterBuilder as CsvBuilder;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::json::StructMode;
use arrow::json::writer::{LineDelimited, WriterBuilder};
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::error::Error;

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
            .build::<_, LineDelimited>(&mut bytes);
        writer.write(&self.0).and_then(|()| writer.finish()).map_err(encoding)?;
        text(bytes)
    }

    /// Comma-separated values, with a line of the columns' names before them or without.
    pub fn csv(&self, times: Times, header: bool) -> Result<String, Error> {
        let mut bytes = Vec::new();
        let mut writer = CsvBuilder::new()
            .with_header(header)
            .with_timestamp_format(times.format().into())
            .build(&mut bytes);
        writer.write(&self.0).map_err(encoding)?;
        drop(writer);
        text(bytes)
    }

    /// The texts of all values, row by row.
    pub fn cells(&self, times: Times) -> Result<Vec<Vec<String>>, Error> {
        let options =
            FormatOptions::new().with_null("null").with_timestamp_format(Some(times.format()));
        let formatters = self
            .0
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).map_err(encoding))
            .collect::<Result<Vec<_>, _>>()?;
        let row = |index| formatters.iter().map(|column| column.value(index).to_string()).collect();
        Ok((0..self.rows()).map(row).collect())
    }

    /// Which of the columns hold numbers.
    pub fn are_numbers(&self) -> Vec<bool> {
        self.0.columns().iter().map(|column| is_number(column.data_type())).collect()
    }
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric()
}

fn encoding(error: ArrowError) -> Error {
    Error::Execution(error.into())
}

fn text(bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|error| encoding(ArrowError::ExternalError(Box::new(error))))
}
