//! What a job does: takes its query's batches, appends them to its file, and waits until its time is
//! over. One batch at a time is in memory, and the query runs as fast as the disk takes its rows.

use std::io;
use std::sync::Arc;

use super::error::Error;
use super::file::Writer;
use super::job::{Job, State};
use super::store::Store;
use edgemere_query::sql::{ArrowStream, Query};

/// Makes a job of a query, with its columns written, so that whoever finds the job can read it.
pub(super) async fn begin(
    store: Arc<Store>,
    owner: String,
    query: Query,
) -> Result<Arc<Job>, Error> {
    let mut stream = ArrowStream::new(&query.no_rows())?;
    let (job, writer) = Job::create(store.folder(), &owner, &query).await?;
    let work = Work { store, job: Arc::new(job), writer };
    let begun = match work.append(stream.take(), 0).await {
        Ok(()) => work.store.insert(&work.job),
        Err(error) => Err(error),
    };
    if let Err(error) = begun {
        work.store.release(&work.job).await;
        return Err(error);
    }
    let job = Arc::clone(&work.job);
    tokio::spawn(work.run(query, stream));
    Ok(job)
}

/// A job that is at work.
struct Work {
    store: Arc<Store>,
    job: Arc<Job>,
    writer: Writer,
}

impl Work {
    /// Keeps the rows of a query until the job is to be forgotten.
    async fn run(self, query: Query, stream: ArrowStream) {
        let unfinished = Unfinished(&self.job);
        self.job.end(match self.write(query, stream).await {
            Ok(()) => State::Completed,
            Err(Error::Cancelled) => State::Cancelled,
            Err(error) => {
                tracing::info!(%error, "a job failed");
                State::Failed(error)
            }
        });
        drop(unfinished);
        let Self { store, job, writer } = self;
        drop(writer);
        if !job.is_completed() {
            store.release(&job).await;
        }
        tokio::select! {
            () = job.forgotten() => {}
            () = tokio::time::sleep(store.limits().keep) => store.forget(&job).await,
        }
    }

    async fn write(&self, mut query: Query, mut stream: ArrowStream) -> Result<(), Error> {
        while let Some(batch) = query.next().await.transpose()? {
            let piece = stream.rows(&batch)?;
            self.append(piece, batch.rows()).await?;
        }
        self.append(stream.end()?, 0).await
    }

    /// Appends a piece of the stream, which has so many rows.
    async fn append(&self, piece: Vec<u8>, rows: usize) -> Result<(), Error> {
        let bytes = piece.len() as u64;
        self.store.reserve(&self.job, bytes).await?;
        self.writer.append(piece).await?;
        self.job.wrote(bytes, rows);
        Ok(())
    }
}

/// A job that is being written. However that ends, the job does not look as if it ran on.
struct Unfinished<'a>(&'a Job);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let fault = io::Error::other("the node stopped writing");
        self.0.end(State::Failed(Error::file("write", fault)));
    }
}
