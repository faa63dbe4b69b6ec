//! Why a job does not begin, or has no rows.

use std::io;
use std::sync::Arc;

use edgemere_query::sql;

/// What is wrong with a job. Clones tell the same: of one job, to everybody who asks.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Its query failed.
    #[error(transparent)]
    Query(Arc<sql::Error>),
    /// No such job, or not of who asks.
    #[error("no job \"{id}\"")]
    Unknown {
        /// Its id.
        id: String,
    },
    /// Somebody cancelled it.
    #[error("the job was cancelled")]
    Cancelled,
    /// It was forgotten while somebody read its rows.
    #[error("the rows of the job are not kept any more")]
    Forgotten,
    /// Its rows are more than those of one job may be.
    #[error("the rows of the job take more than the {limit_bytes} bytes that those of one job may")]
    TooLarge {
        /// How much they may take.
        limit_bytes: u64,
    },
    /// The rows of all jobs are as much as may be.
    #[error("the rows of all jobs would take more than the {limit_bytes} bytes that they may")]
    NoRoom {
        /// How much they may take.
        limit_bytes: u64,
    },
    /// As many jobs run as may.
    #[error("{limit} jobs run, and no more may")]
    TooMany {
        /// How many may run.
        limit: usize,
    },
    /// The disk does not do what it should.
    #[error("cannot {what} the rows of jobs")]
    File {
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: Arc<io::Error>,
    },
}

impl Error {
    pub(super) fn file(what: &'static str, source: io::Error) -> Self {
        Self::File { what, source: Arc::new(source) }
    }

    /// Whether there is no room, on the disk or by the limits.
    pub fn is_full(&self) -> bool {
        match self {
            Self::NoRoom { .. } => true,
            Self::File { source, .. } => {
                matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }

    /// What to do next, where there is something.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Query(error) => return error.hint(),
            Self::Unknown { .. } => {
                "GET /api/v1/jobs lists the jobs; one is forgotten some time after its end, when \
                 newer ones need its room, and when the node restarts"
            }
            Self::Cancelled => "send the query again with POST /api/v1/jobs",
            Self::Forgotten => "send the query again, and read its rows sooner",
            Self::TooLarge { .. } => {
                "ask for less, read it with POST /api/v1/sql, which keeps nothing, or start the \
                 node with more --job-disk"
            }
            Self::NoRoom { .. } => {
                "DELETE /api/v1/jobs/{id} of jobs that are not needed any more, or start the node \
                 with more --job-disk-total"
            }
            Self::TooMany { .. } => "wait for one to end, or DELETE /api/v1/jobs/{id}",
            Self::File { .. } if self.is_full() => "make room on the node's disk",
            Self::File { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

impl From<sql::Error> for Error {
    fn from(error: sql::Error) -> Self {
        match error {
            sql::Error::Cancelled => Self::Cancelled,
            other => Self::Query(Arc::new(other)),
        }
    }
}
