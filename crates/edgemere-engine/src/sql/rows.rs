//! Rows that come batch by batch, wherever they come from: of a query that runs, or of one that ran
//! and whose rows are kept.

use super::batch::Batch;
use super::error::Error;
use super::stream::Query;
use crate::network::{Operator, Share, State};

/// Rows that come batch by batch.
pub trait Rows: Send {
    /// Why there are no more.
    type Error: From<Error>;

    /// No rows, with the columns that the rows have.
    fn no_rows(&self) -> Batch;

    /// What each operator does for them, or did; nothing when they are this node's.
    fn operators(&self) -> Vec<Share>;

    /// The operators whose rows are not among them, when a subset was asked for.
    fn missing(&self) -> Vec<Operator> {
        let shares = self.operators().into_iter();
        let missing = shares.filter(|share| share.state == State::Missing);
        missing.map(|share| share.operator).collect()
    }

    /// The next rows; none when there are no more, or after an error.
    fn next(&mut self) -> impl Future<Output = Option<Result<Batch, Self::Error>>> + Send;
}

impl Rows for Query {
    type Error = Error;

    fn no_rows(&self) -> Batch {
        Query::no_rows(self)
    }

    fn operators(&self) -> Vec<Share> {
        Query::operators(self)
    }

    async fn next(&mut self) -> Option<Result<Batch, Error>> {
        Query::next(self).await
    }
}
