//! The codes under which EdgeLake's clients know failures.

use std::borrow::Cow;
use std::fmt;

use edgemere_ledger::Error as Ledger;
use edgemere_query::Error as Engine;
use edgemere_query::distributed::Error as Network;
use edgemere_query::sql::Error as Sql;
use edgemere_service::Error as Service;
use edgemere_service::jobs::Error as Job;
use edgemere_storage::Error as Rows;
use edgemere_storage::storage::Error as Storage;

/// EdgeLake's number and text of a failure. Its clients look at the number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The number, `err_code`.
    pub number: u16,
    /// The text, `err_text`.
    pub text: Cow<'static, str>,
}

impl Code {
    pub(crate) const STRUCTURE: Self = Self::new(2, "Error Command Structure");
    pub(crate) const PROCESS: Self = Self::new(3, "Error Process Failure");
    pub(crate) const IO: Self = Self::new(4, "Error IO");
    pub(crate) const WRONG_DBMS: Self = Self::new(5, "Wrong DBMS Name or DBMS not connected");
    pub(crate) const NO_FILE: Self = Self::new(12, "File does not exists");
    pub(crate) const SQL_NOT_SUPPORTED: Self = Self::new(18, "SQL stmt not supported");
    pub(crate) const WRONG_JOB: Self = Self::new(23, "Wrong job ID");
    pub(crate) const DBMS_ERROR: Self = Self::new(24, "DBMS error");
    pub(crate) const WRONG_TABLE: Self = Self::new(28, "Wrong table name");
    pub(crate) const NO_TABLE_METADATA: Self =
        Self::new(45, "Failed to load table metadata from blockchain");
    pub(crate) const SQL_SYNTAX: Self = Self::new(46, "Failed to parse SQL statement");
    pub(crate) const NOT_CONNECTED: Self = Self::new(50, "DBMS not connected");
    pub(crate) const INSERT_FAILED: Self = Self::new(52, "Insert new row failed");
    pub(crate) const NO_OPERATOR: Self = Self::new(192, "Operator processes not enabled");
    pub(crate) const UNKNOWN_CAST: Self = Self::new(195, "Non supported casting");
    pub(crate) const QUERY_TIME: Self = Self::new(76, "Query processing time above limit");
    pub(crate) const QUERY_VOLUME: Self = Self::new(77, "Query data volume above limit");
    pub(crate) const QUERY_FAILED: Self = Self::new(165, "Failed query process");
    pub(crate) const TIME_OUT: Self = Self::new(26, "Time Out");
    pub(crate) const TABLE_STRUCTURE: Self = Self::new(66, "Table structure not available");
    pub(crate) const BAD_LEDGER: Self = Self::new(69, "Wrong blockchain structure");
    pub(crate) const DUPLICATE_ID: Self = Self::new(70, "Duplicate blockchain object id");
    pub(crate) const NO_PARTITION: Self = Self::new(79, "Missing partition information");
    pub(crate) const DUPLICATE_FILE: Self = Self::new(86, "Duplicate JSON File");
    pub(crate) const WRONG_DBMS_TYPE: Self = Self::new(104, "Wrong DBMS type");
    pub(crate) const DROP_DBMS_FAILED: Self = Self::new(111, "Drop DBMS failed");
    pub(crate) const JOB_STOPPED: Self = Self::new(168, "Job terminated by caller");
    pub(crate) const NO_RESOURCES: Self = Self::new(108, "Failed to allocate resources for task");
    pub(crate) const WRONG_POLICY: Self = Self::new(87, "Wrong policy structure");
    pub(crate) const NO_LEDGER_TABLE: Self = Self::new(109, "Blockchain table not on local DBMS");
    pub(crate) const NO_POLICY: Self = Self::new(113, "Needed Policy is not available");
    pub(crate) const INCOMPLETE_POLICY: Self = Self::new(114, "Incomplete Policy");
    pub(crate) const TABLE_NOT_DECLARED: Self =
        Self::new(132, "Local table not declared in blockchain");
    pub(crate) const UNINITIALIZED: Self = Self::new(138, "Uninitialized variable");
    pub(crate) const UNRECOGNIZED: Self = Self::new(141, "Unrecognized Command");
    pub(crate) const NO_DESTINATION: Self = Self::new(155, "Failed to determine destination node");
    pub(crate) const WRONG_METHOD: Self = Self::new(156, "Wrong HTTP method used");
    pub(crate) const WRONG_VALUE: Self = Self::new(175, "Wrong value assigned to a key");
    pub(crate) const NOT_UNIQUE: Self = Self::new(180, "Non unique policy values");
    pub(crate) const PEER_REFUSED: Self = Self::new(208, "Network connection to peer refused");
    pub(crate) const UNAUTHORIZED: Self = Self::new(212, "Unauthorized command");
    pub(crate) const MISSING_CLUSTER: Self = Self::new(222, "Missing cluster policy");
    pub(crate) const LARGE_COMMAND: Self = Self::new(230, "Error large command");
    pub(crate) const ID_MISMATCH: Self =
        Self::new(247, "Provided policy id does not match the policy");

    const fn new(number: u16, text: &'static str) -> Self {
        Self { number, text: Cow::Borrowed(text) }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number, self.text)
    }
}

/// The code of what the service reports.
pub(crate) fn service_code(error: &Service) -> Code {
    match error {
        Service::Denied { .. } => Code::UNAUTHORIZED,
        Service::Busy => Code::NO_RESOURCES,
        Service::NotOperator => Code::NO_OPERATOR,
        Service::SameContent { .. } => Code::DUPLICATE_FILE,
        Service::Storage(error) => engine_code(error),
        Service::Query(error) | Service::OnlyOnNetwork(error) => sql_code(error),
        Service::Job(error) => job_code(error),
        Service::NoCursor { .. } | Service::CursorDropped { .. } => Code::WRONG_JOB,
        Service::Ledger(error) => ledger_code(error),
    }
}

/// The code of a refusal of the ledger.
fn ledger_code(error: &Ledger) -> Code {
    match error {
        Ledger::DuplicateId { .. } => Code::DUPLICATE_ID,
        Ledger::NotUnique { .. } => Code::NOT_UNIQUE,
        Ledger::NotFound { .. } => Code::NO_POLICY,
        Ledger::MissingCluster { .. } => Code::MISSING_CLUSTER,
        Ledger::MissingAttribute { .. } | Ledger::WrongType { .. } => Code::INCOMPLETE_POLICY,
        Ledger::IdMismatch { .. } => Code::ID_MISMATCH,
        Ledger::Io { .. } | Ledger::Locked { .. } | Ledger::ReadOnly { .. } => Code::IO,
        Ledger::Corrupt { .. } | Ledger::Diverged { .. } | Ledger::BadPage { .. } => {
            Code::BAD_LEDGER
        }
        _ => Code::WRONG_POLICY,
    }
}

/// The code of what is wrong with a query.
fn sql_code(error: &Sql) -> Code {
    match error {
        Sql::UnknownDatabase { .. } | Sql::UnknownTable { .. } => Code::NO_TABLE_METADATA,
        Sql::NotReadOnly { .. } => Code::SQL_NOT_SUPPORTED,
        Sql::UnknownCast { .. } => Code::UNKNOWN_CAST,
        Sql::TimeOut { .. } => Code::QUERY_TIME,
        Sql::OutOfMemory(_) | Sql::TooLarge(_) => Code::QUERY_VOLUME,
        Sql::ShortOfMemory => Code::NO_RESOURCES,
        Sql::Disconnected { .. } => Code::NOT_CONNECTED,
        Sql::View { source, .. } => sql_code(source),
        Sql::Cancelled => Code::JOB_STOPPED,
        Sql::Execution(_)
        | Sql::Stopped
        | Sql::Fault(_)
        | Sql::Storage(_)
        | Sql::Missing { .. } => Code::QUERY_FAILED,
        Sql::Threads(_) | Sql::Spill(_) => Code::PROCESS,
        Sql::Network(error) => network_code(error),
        _ => Code::SQL_SYNTAX,
    }
}

/// The code of what went wrong with an operator.
fn network_code(error: &Network) -> Code {
    match error {
        Network::Denied { .. } => Code::UNAUTHORIZED,
        Network::Version { .. } | Network::Unreachable { .. } => Code::PEER_REFUSED,
        Network::Silent { .. } => Code::TIME_OUT,
        Network::NoOperator { .. } => Code::NO_OPERATOR,
        Network::OutOfMemory { .. } => Code::QUERY_VOLUME,
        Network::NoneLeft { first } => network_code(first),
        _ => Code::QUERY_FAILED,
    }
}

/// The code of what is wrong with a job.
fn job_code(error: &Job) -> Code {
    match error {
        Job::Query(error) => sql_code(error),
        Job::Unknown { .. } | Job::Forgotten => Code::WRONG_JOB,
        Job::Cancelled => Code::JOB_STOPPED,
        Job::TooLarge { .. } => Code::QUERY_VOLUME,
        Job::NoRoom { .. } | Job::TooMany { .. } => Code::NO_RESOURCES,
        _ => Code::IO,
    }
}

/// The code of what kept rows from being stored, or tables from being changed.
fn engine_code(error: &Engine) -> Code {
    match error {
        Engine::Sql(error) => sql_code(error),
        Engine::Storage(Rows::Storage(error)) => match error {
            Storage::NoDatabase { .. } => Code::WRONG_DBMS,
            Storage::Disconnected { .. } => Code::NOT_CONNECTED,
            Storage::Connected { .. } => Code::DROP_DBMS_FAILED,
            Storage::NotFound { .. } | Storage::NoView { .. } => Code::WRONG_TABLE,
            Storage::Taken { .. } => Code::DBMS_ERROR,
            Storage::Name { .. } => Code::WRONG_VALUE,
            Storage::Columns { .. } | Storage::Value { .. } => Code::TABLE_STRUCTURE,
            _ => Code::INSERT_FAILED,
        },
        Engine::Storage(Rows::Ingest(_) | Rows::NoColumns | Rows::Contended { .. }) => {
            Code::INSERT_FAILED
        }
    }
}
