//! Rows that come batch by batch, wherever they come from: of a query that runs, or of one that ran
//! and whose rows are kept.

use crate::distributed::{OperatorProgress, State};
use crate::sql::error::Error;
use crate::sql::output::batch::Batch;
use crate::sql::run::stream::Query;

/// Rows that come batch by batch.
pub trait Rows: Send {
    /// Why there are no more.
    type Error: From<Error>;

    /// No rows, with the columns that the rows have.
    fn no_rows(&self) -> Batch;

    /// What each operator does for them, or did; nothing when they are this node's.
    fn operators(&self) -> Vec<OperatorProgress>;

    /// The rows that are not among them because their files are damaged.
    fn missing_rows(&self) -> Vec<String>;

    /// What is not among them, when a subset was asked for: the rows of operators, and of damaged
    /// files.
    fn missing(&self) -> Vec<String> {
        let shares = self.operators().into_iter();
        let missing = shares.filter(|share| share.state == State::Missing);
        missing.map(|share| share.operator.to_string()).chain(self.missing_rows()).collect()
    }

    /// The next rows; none when there are no more, or after an error.
    fn next(&mut self) -> impl Future<Output = Option<Result<Batch, Self::Error>>> + Send;
}

impl Rows for Query {
    type Error = Error;

    fn no_rows(&self) -> Batch {
        Query::no_rows(self)
    }

    fn operators(&self) -> Vec<OperatorProgress> {
        Query::operators(self)
    }

    fn missing_rows(&self) -> Vec<String> {
        Query::missing_rows(self)
    }

    async fn next(&mut self) -> Option<Result<Batch, Error>> {
        Query::next(self).await
    }
}
