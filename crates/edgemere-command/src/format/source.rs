//! Where the rows of a reply come from: a query that runs for it, or a job that keeps them.

use edgemere_query::distributed::{OperatorProgress, State};
use edgemere_query::sql::{Batch, Error as SqlError, Query, Rows, Watched};
use edgemere_service::Error as ServiceError;
use edgemere_service::jobs::{Error as JobError, Jobs, Reader};

use crate::error::Error;

/// Rows that are to be shown.
#[derive(Debug)]
pub(crate) struct Source {
    origin: Origin,
    /// Rows that were given back: they are the next ones.
    first: Option<Batch>,
}

#[derive(Debug)]
enum Origin {
    /// A query. Dropping it stops the work.
    Query(Query),
    /// A job.
    Job(Box<Reader>),
    /// The rows that are left of a query, on disk.
    Spilled(Box<Reader>),
    /// Nothing: the rows that were left could not be kept.
    Gone { like: Batch, error: Option<JobError> },
}

impl Source {
    /// Waits for the first rows, so that what fails at once fails before anything is answered.
    pub(crate) async fn begin(&mut self) -> Result<(), Error> {
        match &mut self.origin {
            Origin::Query(query) => Ok(query.begin().await?),
            Origin::Job(reader) => Ok(reader.begin().await?),
            Origin::Spilled(reader) => reader.begin().await.map_err(dropped),
            Origin::Gone { .. } => Ok(()),
        }
    }

    /// The same rows with nothing of them in memory: on disk, or not kept at all when there is no room
    /// for them. Says whether anything was done for it.
    pub(crate) async fn without_memory(self, jobs: &Jobs) -> (Self, Idle) {
        let Self { origin, first } = self;
        let query = match origin {
            Origin::Query(query) if query.holds_rows() => query,
            origin => return (Self { origin, first }, Idle::Waits),
        };
        let like = query.no_rows();
        match jobs.spill(query).await {
            Ok(reader) => {
                (Self { origin: Origin::Spilled(Box::new(reader)), first }, Idle::Spilled)
            }
            Err(error) => {
                let origin = Origin::Gone { like, error: Some(error) };
                (Self { origin, first: None }, Idle::Dropped)
            }
        }
    }

    /// Fails when more is missing than was known to be at the beginning: the end of the rows has no
    /// place for it, and must not look good.
    pub(super) fn check_missing(&self, announced: usize) -> Result<(), Error> {
        let missing = self.missing();
        if missing.len() <= announced {
            return Ok(());
        }
        let shares = self.operators().into_iter();
        let mut absent = shares.filter(|share| share.state == State::Missing).rev();
        Err(match absent.find_map(|share| share.error) {
            Some(error) => SqlError::Network(error),
            None => SqlError::Missing { missing },
        }
        .into())
    }

    /// Gives back rows that were taken and not used.
    pub(crate) fn put_back(&mut self, rows: Batch) {
        self.first = Some(rows);
    }

    /// How many rows were read of the tables so far, where that is known.
    pub(crate) fn rows_read(&self) -> u64 {
        match &self.origin {
            Origin::Query(query) => query.rows_read(),
            _ => 0,
        }
    }

    /// The query as others see it, when one runs for this reply.
    pub(crate) fn watched(&self) -> Option<Watched> {
        match &self.origin {
            Origin::Query(query) => Some(query.watched()),
            _ => None,
        }
    }

    /// The names of the columns.
    pub(crate) fn columns(&self) -> Vec<String> {
        self.no_rows().columns()
    }
}

/// What became of rows that nobody reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// They wait, with nothing of them in memory but the next.
    Waits,
    /// They are on disk.
    Spilled,
    /// There was no room for them.
    Dropped,
}

/// Why the rows that were left are not there: that of their query, or of the disk.
fn dropped(error: JobError) -> Error {
    match error {
        JobError::Query(_) => error.into(),
        error => ServiceError::CursorDropped { source: error }.into(),
    }
}

impl Rows for Source {
    type Error = Error;

    fn no_rows(&self) -> Batch {
        match &self.origin {
            Origin::Query(query) => query.no_rows(),
            Origin::Job(reader) | Origin::Spilled(reader) => reader.no_rows(),
            Origin::Gone { like, .. } => like.clone(),
        }
    }

    fn operators(&self) -> Vec<OperatorProgress> {
        match &self.origin {
            Origin::Query(query) => query.operators(),
            Origin::Job(reader) | Origin::Spilled(reader) => reader.operators(),
            Origin::Gone { .. } => Vec::new(),
        }
    }

    fn missing_rows(&self) -> Vec<String> {
        match &self.origin {
            Origin::Query(query) => query.missing_rows(),
            Origin::Job(reader) | Origin::Spilled(reader) => reader.missing_rows(),
            Origin::Gone { .. } => Vec::new(),
        }
    }

    async fn next(&mut self) -> Option<Result<Batch, Error>> {
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        match &mut self.origin {
            Origin::Query(query) => query.next().await.map(|next| next.map_err(Error::from)),
            Origin::Job(reader) => reader.next().await.map(|next| next.map_err(Error::from)),
            Origin::Spilled(reader) => reader.next().await.map(|next| next.map_err(dropped)),
            Origin::Gone { error, .. } => error.take().map(|error| Err(dropped(error))),
        }
    }
}

impl From<Reader> for Source {
    fn from(reader: Reader) -> Self {
        Self { origin: Origin::Job(Box::new(reader)), first: None }
    }
}

impl From<Query> for Source {
    fn from(query: Query) -> Self {
        Self { origin: Origin::Query(query), first: None }
    }
}
