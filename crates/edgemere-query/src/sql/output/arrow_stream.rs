//! A result as an Arrow IPC stream, piece by piece, for whatever reads Arrow.

use std::fmt;

use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::writer::StreamWriter;

use crate::sql::error::Error;
use crate::sql::output::batch::Batch;
use crate::sql::output::portable_types::{plain_rows, plain_schema};

/// Makes an Arrow IPC stream.
pub struct ArrowStream {
    writer: StreamWriter<Vec<u8>>,
    schema: SchemaRef,
}

impl ArrowStream {
    /// A stream of rows like these, with the columns at its beginning.
    pub fn new(like: &Batch) -> Result<Self, Error> {
        let schema = plain_schema(&like.0.schema());
        let writer = StreamWriter::try_new(Vec::new(), &schema).map_err(failed)?;
        Ok(Self { writer, schema })
    }

    /// What is to be sent so far.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.writer.get_mut())
    }

    /// Adds rows, and gives what is to be sent.
    pub fn rows(&mut self, batch: &Batch) -> Result<Vec<u8>, Error> {
        let batch = plain_rows(&batch.0, &self.schema).map_err(failed)?;
        self.writer.write(&batch).map_err(failed)?;
        Ok(self.take())
    }

    /// Ends the stream, and gives what is to be sent.
    pub fn end(&mut self) -> Result<Vec<u8>, Error> {
        self.writer.finish().map_err(failed)?;
        Ok(self.take())
    }
}

impl fmt::Debug for ArrowStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrowStream").field("schema", &self.schema).finish_non_exhaustive()
    }
}

fn failed(error: ArrowError) -> Error {
    Error::Execution(error.into())
}
