//! The rows of a job, for one who reads them: what is there, and then what comes.

use std::sync::Arc;

use tokio::sync::watch;

use super::Jobs;
use super::error::Error;
use super::file::{self, Stream};
use super::job::{Job, Progress, State};
use edgemere_query::distributed::OperatorProgress;
use edgemere_query::sql::Batch;

/// Reads a job's rows from the first one on. Nothing but the batch that was read last is in memory.
pub struct Reader {
    job: Arc<Job>,
    progress: watch::Receiver<Progress>,
    /// None when there is nothing more to read.
    stream: Option<Stream>,
    /// How many batches were read.
    batches: u64,
    /// Where the job is forgotten when the reader is dropped.
    forgets: Option<Jobs>,
}

/// What a reader does next.
enum Next {
    Read,
    Wait,
    End,
    Fail(Error),
}

impl Reader {
    pub(super) async fn open(
        job: Arc<Job>,
        progress: watch::Receiver<Progress>,
    ) -> Result<Self, Error> {
        if let Next::Fail(error) = progress.borrow().next(0) {
            return Err(error);
        }
        let opened = job.file().open().await;
        let stream = opened.map_err(|error| reason(&progress, error))?;
        Ok(Self { job, progress, stream: Some(stream), batches: 0, forgets: None })
    }

    /// The same reader, whose job goes with it.
    pub(super) fn forgetting(mut self, jobs: Jobs) -> Self {
        self.forgets = Some(jobs);
        self
    }

    /// No rows, with the columns of the result.
    #[must_use]
    pub fn no_rows(&self) -> Batch {
        self.job.like().clone()
    }

    /// What each operator does for them, or did; nothing when they are this node's.
    #[must_use]
    pub fn operators(&self) -> Vec<OperatorProgress> {
        self.job.operators()
    }

    /// The rows that are not among them, because their files are damaged.
    #[must_use]
    pub fn missing_rows(&self) -> Vec<String> {
        self.job.missing_rows()
    }

    /// Waits until there are rows, or will be none: what fails before it fails here.
    pub async fn begin(&mut self) -> Result<(), Error> {
        match self.wait().await {
            Next::Fail(error) => Err(error),
            _ => Ok(()),
        }
    }

    /// The next rows; none when there are no more. After an error there are none.
    pub async fn next(&mut self) -> Option<Result<Batch, Error>> {
        // It is put back when there may be more.
        let stream = self.stream.take()?;
        match self.wait().await {
            Next::Fail(error) => Some(Err(error)),
            Next::Read => match file::next(stream).await {
                Ok((stream, batch)) => {
                    self.stream = Some(stream);
                    self.batches += 1;
                    Some(Ok(Batch(batch)))
                }
                Err(error) => Some(Err(reason(&self.progress, error))),
            },
            Next::End | Next::Wait => None,
        }
    }

    /// Waits until there is something to do.
    async fn wait(&mut self) -> Next {
        loop {
            match self.progress.borrow_and_update().next(self.batches) {
                Next::Wait => {}
                next => return next,
            }
            if self.progress.changed().await.is_err() {
                return Next::Fail(Error::Forgotten);
            }
        }
    }
}

impl Progress {
    /// What somebody does who has read so many batches.
    fn next(&self, batches: u64) -> Next {
        match &self.state {
            State::Failed(error) => Next::Fail(error.clone()),
            State::Cancelled => Next::Fail(Error::Cancelled),
            _ if self.is_forgotten => Next::Fail(Error::Forgotten),
            _ if batches < self.batches => Next::Read,
            State::Running => Next::Wait,
            State::Completed => Next::End,
        }
    }
}

/// Why rows cannot be read: they are gone, or what the disk says.
fn reason(progress: &watch::Receiver<Progress>, error: Error) -> Error {
    match progress.borrow().next(0) {
        Next::Fail(gone) => gone,
        _ => error,
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let Some(jobs) = self.forgets.take() else { return };
        let job = Arc::clone(&self.job);
        let forget = async move {
            // One that runs is cancelled first.
            if jobs.remove(&job).await {
                jobs.remove(&job).await;
            }
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(forget);
        }
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("job", &self.job.id()).finish_non_exhaustive()
    }
}
