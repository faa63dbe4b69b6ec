//! The rows of a query, batch by batch, for as long as the query may take.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use datafusion::common::DataFusionError;
use datafusion::physical_plan::SendableRecordBatchStream;
use futures_util::StreamExt;
use tokio::time::Instant;

use super::batch::Batch;
use super::error::Error;
use crate::network;

/// A query that runs. Dropping it stops the work.
pub struct Query {
    batches: SendableRecordBatchStream,
    /// Keeps the files that are read on disk.
    _kept: Arc<dyn Any + Send + Sync>,
    time: Duration,
    end: Instant,
    /// The first rows, when they were asked for before anyone took them.
    first: Option<Batch>,
}

impl Query {
    pub(super) fn new(
        batches: SendableRecordBatchStream,
        kept: Arc<dyn Any + Send + Sync>,
        time: Duration,
    ) -> Self {
        Self { batches, _kept: kept, time, end: Instant::now() + time, first: None }
    }

    /// The names of the columns of the result.
    pub fn columns(&self) -> Vec<String> {
        self.batches.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Waits for the first rows, so that what fails at once fails before anything is answered.
    pub async fn begin(&mut self) -> Result<(), Error> {
        if self.first.is_none() {
            self.first = self.next().await.transpose()?;
        }
        Ok(())
    }

    /// The next rows; none when there are no more.
    pub async fn next(&mut self) -> Option<Result<Batch, Error>> {
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        match tokio::time::timeout_at(self.end, self.batches.next()).await {
            Ok(batch) => batch.map(|batch| batch.map(Batch).map_err(failed)),
            Err(_) => Some(Err(Error::TimeOut { seconds: self.time.as_secs() })),
        }
    }
}

fn failed(error: DataFusionError) -> Error {
    if let Some(error) = network::Error::find(&error) {
        return Error::Network(error);
    }
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => Error::OutOfMemory(error),
        _ => Error::Execution(error),
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query").field("columns", &self.columns()).finish_non_exhaustive()
    }
}
