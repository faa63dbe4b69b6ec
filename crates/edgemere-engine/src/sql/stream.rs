//! The rows of a query, batch by batch, for as long as the query may take.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use datafusion::common::DataFusionError;
use datafusion::physical_plan::SendableRecordBatchStream;
use futures_util::StreamExt;
use tokio::time::Instant;

use super::batch::Batch;
use super::catalog::Catalog;
use super::error::Error;
use super::queries::Ticket;

/// A query that runs. Dropping it stops the work.
pub struct Query {
    batches: SendableRecordBatchStream,
    /// Keeps the files that are read on disk.
    _tables: Arc<Catalog>,
    time: Duration,
    end: Instant,
    /// The first rows, when they were asked for before anyone took them.
    first: Option<Batch>,
    /// Where others see how far it is.
    ticket: Ticket,
}

impl Query {
    pub(super) fn new(
        batches: SendableRecordBatchStream,
        tables: Arc<Catalog>,
        time: Duration,
        ticket: Ticket,
    ) -> Self {
        Self { batches, _tables: tables, time, end: Instant::now() + time, first: None, ticket }
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
        // Whatever is ready: one that was cancelled or has no time left gives no more rows.
        let next = tokio::select! {
            biased;
            () = self.ticket.cancelled() => Some(Err(Error::Cancelled)),
            () = tokio::time::sleep_until(self.end) => {
                Some(Err(Error::TimeOut { seconds: self.time.as_secs() }))
            }
            batch = self.batches.next() => batch.map(|batch| batch.map(Batch).map_err(failed)),
        };
        self.ticket.note(next.as_ref());
        next
    }
}

fn failed(error: DataFusionError) -> Error {
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
