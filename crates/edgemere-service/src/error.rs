//! Why the service refuses or fails a request, with the one classification that every door follows.
//!
//! [`Error::kind`] matches every variant of every lower crate by name: a new variant does not compile until
//! somebody decides whose fault it is.

use std::time::Duration;

use edgemere_ledger::Error as LedgerError;
use edgemere_query::Error as EngineError;
use edgemere_query::distributed::Error as NetworkError;
use edgemere_query::sql::Error as SqlError;
use edgemere_storage::Error as PutError;
use edgemere_storage::storage::Error as StorageError;

use crate::access::Effect;
use crate::jobs::Error as JobError;
use crate::kind::Kind;

/// Why a request was refused, or failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The principal has not the permission.
    #[error("{principal} may not run \"{operation}\": it needs the permission to {effect}")]
    Denied {
        /// The principal's name.
        principal: String,
        /// The operation, as the door calls it.
        operation: &'static str,
        /// The effect that is not permitted.
        effect: Effect,
    },
    /// As many requests are in flight as the node admits.
    #[error("the node has too many requests in flight")]
    Busy,
    /// The node holds no rows.
    #[error("this node is not an operator, which holds rows; nothing was stored")]
    NotOperator,
    /// The same content was stored in the same table before.
    #[error(
        "the same content was stored in \"{table}\" before ({rows} rows, hash {hash}); nothing was \
         stored"
    )]
    SameContent {
        /// The table, with its database.
        table: String,
        /// How many rows were stored then.
        rows: usize,
        /// The content's hash.
        hash: String,
    },
    /// Rows could not be stored, or a table could not be changed.
    #[error(transparent)]
    Storage(#[from] EngineError),
    /// A query was refused, or failed.
    #[error(transparent)]
    Query(#[from] SqlError),
    /// A query that this node cannot run, and the network can.
    #[error("{0} on this node")]
    OnlyOnNetwork(SqlError),
    /// A job was refused, or has no rows.
    #[error(transparent)]
    Job(#[from] JobError),
    /// There is no such cursor, or not any more.
    #[error("there is no cursor \"{cursor}\" any more, or it is not yours")]
    NoCursor {
        /// The cursor.
        cursor: String,
    },
    /// The rows that were left under a cursor could not be kept until a client wanted them.
    #[error("the rows that were left could not be kept")]
    CursorDropped {
        /// Why not.
        source: JobError,
    },
    /// The ledger refused.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl From<StorageError> for Error {
    fn from(error: StorageError) -> Self {
        Self::Storage(error.into())
    }
}

impl From<PutError> for Error {
    fn from(error: PutError) -> Self {
        Self::Storage(error.into())
    }
}

impl Error {
    /// What kind of failure it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Denied { .. } => Kind::Denied,
            Self::Busy => Kind::Unavailable,
            Self::NotOperator | Self::SameContent { .. } => Kind::Conflict,
            Self::Storage(error) => engine_kind(error),
            Self::Query(error) | Self::OnlyOnNetwork(error) => query_kind(error),
            Self::Job(error) => job_kind(error),
            Self::NoCursor { .. } | Self::CursorDropped { .. } => Kind::NotFound,
            Self::Ledger(error) => ledger_kind(error),
        }
    }

    /// When to try again, of a node that lacks room or memory for a while.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Storage(error) => error.retry_after(),
            Self::Query(error) | Self::OnlyOnNetwork(error) => error.retry_after(),
            Self::Job(JobError::Query(error)) => error.retry_after(),
            Self::Denied { .. }
            | Self::Busy
            | Self::NotOperator
            | Self::SameContent { .. }
            | Self::Job(_)
            | Self::NoCursor { .. }
            | Self::CursorDropped { .. }
            | Self::Ledger(_) => None,
        }
    }

    /// The HTTP status of a reply with it: that of its kind, or a closer one.
    pub fn http_status(&self) -> u16 {
        match self {
            Self::Storage(error) if error.retry_after().is_some() => 429,
            Self::Storage(error) if error.is_disk_full() => 507,
            Self::Job(error) if error.is_full() => 507,
            Self::Job(_) if self.kind() == Kind::Conflict => 410,
            _ => self.kind().http_status(),
        }
    }
}

/// The kind of a refusal of the ledger.
fn ledger_kind(error: &LedgerError) -> Kind {
    match error {
        LedgerError::DuplicateId { .. }
        | LedgerError::NotUnique { .. }
        | LedgerError::Quota { .. }
        | LedgerError::OtherIdentity { .. }
        | LedgerError::Backwards { .. }
        | LedgerError::IsCopy { .. }
        | LedgerError::HistoryRefused { .. } => Kind::Conflict,
        LedgerError::NotSigned { .. } => Kind::Denied,
        LedgerError::NotFound { .. } | LedgerError::MissingCluster { .. } => Kind::NotFound,
        LedgerError::Io { .. }
        | LedgerError::Locked { .. }
        | LedgerError::ReadOnly { .. }
        | LedgerError::BadPage { .. } => Kind::Unavailable,
        LedgerError::Corrupt { .. } | LedgerError::Diverged { .. } => Kind::Internal,
        LedgerError::Root { .. }
        | LedgerError::EmptyName { .. }
        | LedgerError::MissingAttribute { .. }
        | LedgerError::WrongType { .. }
        | LedgerError::Invisible { .. }
        | LedgerError::IdMismatch { .. }
        | LedgerError::KindMismatch { .. }
        | LedgerError::ClusterFull { .. }
        | LedgerError::TooLarge { .. } => Kind::Input,
    }
}

/// The kind of a query's failure.
fn query_kind(error: &SqlError) -> Kind {
    match error {
        SqlError::UnknownDatabase { .. }
        | SqlError::UnknownTable { .. }
        | SqlError::UnknownColumn { .. } => Kind::NotFound,
        SqlError::NotReadOnly { .. } => Kind::Denied,
        SqlError::Disconnected { .. } | SqlError::View { .. } => Kind::Conflict,
        SqlError::TimeOut { .. }
        | SqlError::OutOfMemory(_)
        | SqlError::ShortOfMemory
        | SqlError::Cancelled
        | SqlError::Stopped
        | SqlError::Storage(_)
        | SqlError::Missing { .. } => Kind::Unavailable,
        SqlError::Fault(_) | SqlError::Threads(_) | SqlError::Spill(_) => Kind::Internal,
        SqlError::Network(error) => network_kind(error),
        SqlError::Syntax { .. }
        | SqlError::Empty
        | SqlError::SeveralStatements
        | SqlError::TooComplex { .. }
        | SqlError::NotIn
        | SqlError::QueryInside
        | SqlError::Function { .. }
        | SqlError::Cast { .. }
        | SqlError::UnknownCast { .. }
        | SqlError::UnknownZone { .. }
        | SqlError::Include { .. }
        | SqlError::Extend { .. }
        | SqlError::ViewDepth { .. }
        | SqlError::SameColumn { .. }
        | SqlError::Star { .. }
        | SqlError::TooLarge(_)
        | SqlError::Plan(_)
        | SqlError::Execution(_) => Kind::Input,
    }
}

/// The kind of an operator's failure.
fn network_kind(error: &NetworkError) -> Kind {
    match error {
        NetworkError::Denied { .. } => Kind::Denied,
        NetworkError::Version { .. } | NetworkError::Another { .. } => Kind::Conflict,
        NetworkError::Failed { .. } => Kind::Input,
        NetworkError::NoOperator { .. } => Kind::NotFound,
        NetworkError::NoneLeft { first } => network_kind(first),
        NetworkError::Unreachable { .. }
        | NetworkError::Silent { .. }
        | NetworkError::Lost { .. }
        | NetworkError::Ahead { .. }
        | NetworkError::OutOfMemory { .. }
        | NetworkError::Damaged { .. } => Kind::Unavailable,
    }
}

/// The kind of a job's failure.
fn job_kind(error: &JobError) -> Kind {
    match error {
        JobError::Query(error) => query_kind(error),
        JobError::Unknown { .. } => Kind::NotFound,
        JobError::Cancelled | JobError::Forgotten => Kind::Conflict,
        JobError::TooLarge { .. }
        | JobError::NoRoom { .. }
        | JobError::TooMany { .. }
        | JobError::File { .. } => Kind::Unavailable,
    }
}

/// The kind of a failure to store rows or to change a table.
fn engine_kind(error: &EngineError) -> Kind {
    match error {
        EngineError::Storage(PutError::Ingest(_) | PutError::NoColumns) => Kind::Input,
        EngineError::Storage(PutError::Contended { .. }) => Kind::Unavailable,
        EngineError::Storage(PutError::Storage(error)) => storage_kind(error),
        EngineError::Sql(error) => query_kind(error),
    }
}

fn storage_kind(error: &StorageError) -> Kind {
    match error {
        StorageError::Name { .. }
        | StorageError::Columns { .. }
        | StorageError::Value { .. }
        | StorageError::TooLarge { .. } => Kind::Input,
        StorageError::NotFound { .. }
        | StorageError::NoDatabase { .. }
        | StorageError::NoView { .. } => Kind::NotFound,
        StorageError::Conflict { .. }
        | StorageError::KeyReused { .. }
        | StorageError::Older { .. }
        | StorageError::Taken { .. }
        | StorageError::Disconnected { .. }
        | StorageError::Connected { .. }
        | StorageError::Unfit { .. } => Kind::Conflict,
        StorageError::Damaged { .. } => Kind::Internal,
        StorageError::Busy { .. }
        | StorageError::DiskReserve { .. }
        | StorageError::Locked { .. }
        | StorageError::Closed
        | StorageError::Unreadable { .. }
        | StorageError::Forgotten { .. }
        | StorageError::Io { .. } => Kind::Unavailable,
    }
}
