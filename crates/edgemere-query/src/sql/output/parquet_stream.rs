//! A result as a Parquet file, piece by piece: a group of rows at a time, and the footer at the end.

use std::fmt;

use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::sql::error::Error;
use crate::sql::output::batch::Batch;
use crate::sql::output::portable_types::{plain_rows, plain_schema};

/// What a group of rows takes before it is written, in bytes: so much memory is needed.
const GROUP_BYTES: usize = 8 << 20;

/// Makes a Parquet file.
pub struct ParquetStream {
    writer: ArrowWriter<Vec<u8>>,
    schema: SchemaRef,
}

impl ParquetStream {
    /// A file of rows like these.
    pub fn new(like: &Batch) -> Result<Self, Error> {
        let schema = plain_schema(&like.0.schema());
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = ArrowWriter::try_new(Vec::new(), SchemaRef::clone(&schema), Some(properties))
            .map_err(failed)?;
        Ok(Self { writer, schema })
    }

    /// Adds rows, and gives what is to be sent, which is nothing most of the time.
    pub fn rows(&mut self, batch: &Batch) -> Result<Vec<u8>, Error> {
        let batch = plain_rows(&batch.0, &self.schema).map_err(arrow_failed)?;
        self.writer.write(&batch).map_err(failed)?;
        if self.writer.memory_size() >= GROUP_BYTES {
            self.writer.flush().map_err(failed)?;
        }
        Ok(std::mem::take(self.writer.inner_mut()))
    }

    /// Ends the file, and gives what is to be sent.
    pub fn end(mut self) -> Result<Vec<u8>, Error> {
        self.writer.finish().map_err(failed)?;
        Ok(std::mem::take(self.writer.inner_mut()))
    }
}

impl fmt::Debug for ParquetStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetStream").field("schema", &self.schema).finish_non_exhaustive()
    }
}

fn failed(error: ParquetError) -> Error {
    Error::Execution(error.into())
}

fn arrow_failed(error: ArrowError) -> Error {
    Error::Execution(error.into())
}
