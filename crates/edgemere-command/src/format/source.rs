//! Where the rows of a reply come from: a query that runs for it, or a job that keeps them.

use edgemere_engine::jobs::Reader;
use edgemere_engine::network::{Share, State};
use edgemere_engine::sql::{Batch, Query, Rows};

use crate::error::Error;

/// Rows that are to be shown.
#[derive(Debug)]
pub(crate) enum Source {
    /// Of a query. Dropping it stops the work.
    Query(Query),
    /// Of a job.
    Job(Box<Reader>),
}

impl Source {
    /// Waits for the first rows, so that what fails at once fails before anything is answered.
    pub(crate) async fn begin(&mut self) -> Result<(), Error> {
        match self {
            Self::Query(query) => Ok(query.begin().await?),
            Self::Job(reader) => Ok(reader.begin().await?),
        }
    }

    /// Fails when more operators are missing than were known to be at the beginning: the end of the
    /// rows has no place for them, and must not look good.
    pub(super) fn check_missing(&self, announced: usize) -> Result<(), Error> {
        let shares = self.operators().into_iter();
        let missing: Vec<_> = shares.filter(|share| share.state == State::Missing).collect();
        if missing.len() <= announced {
            return Ok(());
        }
        match missing.into_iter().rev().find_map(|share| share.error) {
            Some(error) => Err(edgemere_engine::sql::Error::Network(error).into()),
            None => Ok(()),
        }
    }

    /// The names of the columns.
    pub(crate) fn columns(&self) -> Vec<String> {
        self.no_rows().columns()
    }
}

impl Rows for Source {
    type Error = Error;

    fn no_rows(&self) -> Batch {
        match self {
            Self::Query(query) => query.no_rows(),
            Self::Job(reader) => reader.no_rows(),
        }
    }

    fn operators(&self) -> Vec<Share> {
        match self {
            Self::Query(query) => query.operators(),
            Self::Job(reader) => reader.operators(),
        }
    }

    async fn next(&mut self) -> Option<Result<Batch, Error>> {
        match self {
            Self::Query(query) => query.next().await.map(|next| next.map_err(Error::from)),
            Self::Job(reader) => reader.next().await.map(|next| next.map_err(Error::from)),
        }
    }
}

impl From<Reader> for Source {
    fn from(reader: Reader) -> Self {
        Self::Job(Box::new(reader))
    }
}

impl From<Query> for Source {
    fn from(query: Query) -> Self {
        Self::Query(query)
    }
}
