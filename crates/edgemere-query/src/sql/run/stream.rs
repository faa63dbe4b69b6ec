//! The rows of a query, batch by batch, for as long as the query may take.
//!
//! The query runs on threads of its own and hands over one batch at a time: while nobody takes it,
//! nothing more is read. It ends when its rows do, when its time is over, also when nobody looks, or
//! when [`Query`] is dropped.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use datafusion::common::DataFusionError;
use datafusion::physical_plan::SendableRecordBatchStream;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, JoinSet};

use crate::distributed;
use crate::sql::bounds::{Excess, value_bytes};
use crate::sql::error::Error;
use crate::sql::output::batch::Batch;
use crate::sql::plan::catalog::Catalog;
use crate::sql::plan::explain::Plan;
use crate::sql::plan::missing;
use crate::sql::run::deadline::Deadline;
use crate::sql::run::registry::{QueryHandle, Watched};
use crate::sql::run::scan_metrics::ScanMetrics;
use crate::sql::run::workers::Workers;

/// How many batches are ready before anyone takes them.
const BATCHES_READY: usize = 1;

/// How many bytes of values are handed over at once, but for a single row of more.
const BYTES_HANDED_OVER: usize = 16 << 20;

/// A query that is ready to run.
pub(crate) struct Planned {
    pub(crate) batches: SendableRecordBatchStream,
    /// What gives them.
    pub(crate) counted: ScanMetrics,
    /// Keeps the files that are read on disk.
    pub(crate) tables: Arc<Catalog>,
    /// Whether it keeps rows in memory while nobody reads.
    pub(crate) holds_rows: bool,
}

/// A query that runs. Dropping it stops the work.
pub struct Query {
    schema: SchemaRef,
    batches: mpsc::Receiver<RecordBatch>,
    /// How it ended, once all batches were taken.
    work: JoinSet<Result<(), Error>>,
    stop: Deadline,
    /// The first rows, when they were asked for before anyone took them.
    first: Option<Batch>,
    /// Whether there are no more rows.
    has_ended: bool,
    holds_rows: bool,
    /// Where others see how far it is.
    ticket: QueryHandle,
    /// The threads that it runs on are there as long as it is.
    _workers: Arc<Workers>,
}

impl Query {
    /// Plans a query and runs it, both on the threads of queries. Returns when it is planned, and runs
    /// already.
    pub(crate) async fn start(
        planning: BoxFuture<'static, Result<(Planned, Plan), Error>>,
        workers: &Arc<Workers>,
        stop: Deadline,
        ticket: QueryHandle,
    ) -> Result<Self, Error> {
        let (sender, batches) = mpsc::channel(BATCHES_READY);
        let (tell, told) = oneshot::channel();
        let work = async move {
            let (planned, plan) = planning.await?;
            let (schema, read) = (planned.batches.schema(), planned.counted.count());
            match tell.send((schema, read, plan, planned.holds_rows)) {
                Ok(()) => pump(planned, sender).await,
                Err(_) => Ok(()),
            }
        };
        let (time, cancelled) = (stop.clone(), ticket.cancelled());
        let mut work = workers.run(async move {
            let ended = tokio::select! {
                biased;
                () = cancelled => Err(Error::Cancelled),
                () = time.called_off() => Err(Error::ShortOfMemory),
                ended = time.wait(work) => ended.flatten(),
            };
            ended.map_err(|error| time.reason(error))
        });
        let planned = tokio::select! {
            biased;
            () = ticket.cancelled() => Err(Error::Cancelled),
            told = stop.wait(told) => match told {
                Ok(Ok(planned)) => Ok(planned),
                Ok(Err(_)) => Err(end(&mut work).await.unwrap_or(Error::Stopped)),
                Err(error) => Err(error),
            },
        };
        let (schema, read, plan, holds_rows) = planned.inspect_err(|error| {
            ticket.failed(error);
            stop.now();
        })?;
        ticket.planned(plan, read);
        let (first, has_ended, workers) = (None, false, Arc::clone(workers));
        Ok(Self {
            schema,
            batches,
            work,
            stop,
            first,
            has_ended,
            holds_rows,
            ticket,
            _workers: workers,
        })
    }

    /// Whether it keeps rows in memory, here or on operators, for as long as nobody reads: it sorts,
    /// groups or joins. Otherwise nothing but the batch at hand.
    pub fn holds_rows(&self) -> bool {
        self.holds_rows && !self.has_ended
    }

    /// The names of the columns of the result.
    pub fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// What each operator does for it; nothing when it is run here.
    pub fn operators(&self) -> Vec<distributed::OperatorProgress> {
        self.ticket.operators()
    }

    /// The rows that it goes on without, because their files are damaged.
    pub fn missing_rows(&self) -> Vec<String> {
        self.ticket.watched().missing_rows()
    }

    /// How many rows were read of the tables so far: here, and by the operators that are done.
    pub fn rows_read(&self) -> u64 {
        self.ticket.rows_read()
    }

    /// No rows, with the columns of the result.
    pub fn no_rows(&self) -> Batch {
        Batch(RecordBatch::new_empty(Arc::clone(&self.schema)))
    }

    /// The query as others see it, also when it has ended.
    pub fn watched(&self) -> Watched {
        self.ticket.watched()
    }

    /// Waits for the first rows, so that what fails at once fails before anything is answered.
    pub async fn begin(&mut self) -> Result<(), Error> {
        if self.first.is_none() {
            self.first = self.next().await.transpose()?;
        }
        Ok(())
    }

    /// The next rows; none when there are no more. After an error there are none.
    pub async fn next(&mut self) -> Option<Result<Batch, Error>> {
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        if self.has_ended {
            return None;
        }
        // Whatever is ready: one that was cancelled or has no time left gives no more rows. The work
        // has the same ends; these also hold for work that does not look at the clock.
        let next = tokio::select! {
            biased;
            () = self.ticket.cancelled() => Some(Err(Error::Cancelled)),
            over = self.stop.over() => Some(Err(over)),
            next = receive(&mut self.batches, &mut self.work) => next,
        };
        self.ticket.note(next.as_ref());
        if !matches!(next, Some(Ok(_))) {
            self.has_ended = true;
            self.stop.now();
            self.work.abort_all();
            self.batches.close();
        }
        next
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        self.stop.now();
    }
}

/// Hands over a query's batches until there are no more, or nobody wants them.
async fn pump(planned: Planned, sender: mpsc::Sender<RecordBatch>) -> Result<(), Error> {
    let Planned { mut batches, counted: _counted, tables: _tables, .. } = planned;
    while let Some(batch) = batches.next().await {
        for piece in pieces(batch.map_err(failed)?) {
            if sender.send(piece).await.is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// A batch in pieces that can be handed over at once.
pub(crate) fn pieces(mut rest: RecordBatch) -> impl Iterator<Item = RecordBatch> {
    std::iter::from_fn(move || {
        if rest.num_rows() == 0 {
            return None;
        }
        let rows = rows_handed_over(&rest);
        let piece = rest.slice(0, rows);
        rest = rest.slice(rows, rest.num_rows() - rows);
        Some(piece)
    })
}

/// How many rows of a batch are handed over at once. A value may be in memory once and in many rows:
/// a renderer writes it once for each row.
fn rows_handed_over(batch: &RecordBatch) -> usize {
    let mut rows = batch.num_rows();
    loop {
        let piece = batch.slice(0, rows);
        let bytes = piece.columns().iter().map(|column| value_bytes(column)).sum::<usize>();
        match bytes <= BYTES_HANDED_OVER || rows <= 1 {
            true => return rows,
            false => rows /= 2,
        }
    }
}

/// The next batch, or how the work ended.
async fn receive(
    batches: &mut mpsc::Receiver<RecordBatch>,
    work: &mut JoinSet<Result<(), Error>>,
) -> Option<Result<Batch, Error>> {
    if let Some(batch) = batches.recv().await {
        return Some(Ok(Batch(batch)));
    }
    end(work).await.map(Err)
}

/// Why work that has ended failed, if it did.
async fn end(work: &mut JoinSet<Result<(), Error>>) -> Option<Error> {
    work.join_next().await?.map_err(lost).flatten().err()
}

/// Why work has no result.
pub(crate) fn lost(error: JoinError) -> Error {
    match error.is_cancelled() {
        true => Error::Stopped,
        false => Error::Fault(error),
    }
}

/// Why a query that ran failed.
pub(crate) fn failed(error: DataFusionError) -> Error {
    if let Some(error) = distributed::Error::find(&error) {
        return Error::Network(error);
    }
    if let Some(error) = missing::find(&error) {
        return Error::Storage(error);
    }
    if let Some(excess) = Excess::find(&error) {
        return Error::TooLarge(excess.clone());
    }
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => Error::OutOfMemory(error),
        // Arrow reads and writes only what did not fit in memory; tables are Parquet.
        DataFusionError::ArrowError(arrow, _) if matches!(**arrow, ArrowError::IoError(..)) => {
            Error::OutOfMemory(error)
        }
        _ => Error::Execution(error),
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query").field("columns", &self.columns()).finish_non_exhaustive()
    }
}
