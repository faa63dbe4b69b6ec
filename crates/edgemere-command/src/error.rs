//! What can go wrong with a command: what is wrong with its text, and whatever the service reports.

mod door;
mod hint;

use std::ops::Range;
use std::time::Duration;

use edgemere_service::Kind;
use serde_json::{Map, Value, json};

pub use self::door::{Door, Hint};
use crate::code::{Code, service_code};

/// A place in a command's text, in characters.
pub type Span = Range<usize>;

/// What is reported of a fault of ours. The rest is only in the log.
pub const INTERNAL_MESSAGE: &str = "internal error; the node's log has the details";

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is not a command: something else was expected at a place in it.
    #[error("expected {expected}, found {found}")]
    Syntax {
        /// What would have been right.
        expected: String,
        /// What stands there.
        found: String,
        /// Where.
        at: Span,
        /// The next step.
        hint: Option<String>,
    },
    /// No command begins like this.
    #[error("unknown command \"{text}\"")]
    UnknownCommand {
        /// How the text begins.
        text: String,
        /// Where the unknown begins.
        at: Span,
        /// Whether at least the first word is a command's.
        first_word_known: bool,
        /// The next step.
        hint: Option<String>,
    },
    /// A command's `where` lacks a key that it cannot do without.
    #[error("\"{command}\" needs \"{key} = …\" in its \"where\"")]
    MissingKey {
        /// The command.
        command: &'static str,
        /// The key.
        key: String,
        /// How the command is written.
        usage: &'static str,
    },
    /// A value that must be a policy is not JSON.
    #[error("the policy \"{text}\" is not JSON")]
    NotPolicy {
        /// The value.
        text: String,
        /// Why not.
        source: serde_json::Error,
    },
    /// A key has a value that it cannot have.
    #[error("\"{key}\" cannot be \"{value}\": expected {expected}")]
    BadValue {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// What it may be.
        expected: String,
        /// Where the value stands, when it was written in the command.
        at: Option<Span>,
    },
    /// A REST call used GET for what is more than a question.
    #[error("\"{command}\" cannot be sent with GET")]
    WrongMethod {
        /// The command.
        command: &'static str,
    },
    /// A variable holds a secret, which no command shows or uses.
    #[error("\"!{name}\" is a secret, or made of one: it is not shown")]
    Secret {
        /// The variable's name.
        name: String,
    },
    /// A body that may only give variables values has another command.
    #[error("the body may only give variables values, and has the command \"{command}\"")]
    NotAssignment {
        /// The command.
        command: &'static str,
    },
    /// A variable has no value.
    #[error("the variable \"!{name}\" has no value")]
    UnknownVariable {
        /// The variable's name.
        name: String,
        /// The next step.
        hint: Option<String>,
    },
    /// The ledger has no such table.
    #[error("no table \"{table}\" in database \"{dbms}\"")]
    UnknownTable {
        /// The database.
        dbms: String,
        /// The table.
        table: String,
        /// The next step.
        hint: Option<String>,
    },
    /// The node has no such database.
    #[error("no database \"{dbms}\" on this node")]
    UnknownDatabase {
        /// The database.
        dbms: String,
        /// The next step.
        hint: Option<String>,
    },
    /// No operator of the ledger has the name.
    #[error("no operator \"{name}\" in the ledger")]
    UnknownOperator {
        /// The name.
        name: String,
        /// The next step.
        hint: Option<String>,
    },
    /// The node follows no master.
    #[error("this node follows no master: there is no other ledger to take")]
    NoMaster,
    /// A database that is not this node's own storage.
    #[error("\"{dbms}\" cannot be connected: databases of type \"{kind}\" come later")]
    ExternalDatabase {
        /// The database.
        dbms: String,
        /// Its type.
        kind: String,
    },
    /// The columns of a table that is to be made cannot be read, or not be kept as they are.
    #[error("the table cannot have these columns")]
    Columns {
        /// Why.
        source: edgemere_query::DefinitionError,
    },
    /// No such Parquet file.
    #[error("no partition \"{name}\"")]
    NoPartition {
        /// Its name.
        name: String,
    },
    /// No such query, or not remembered any more.
    #[error("no query has the number {id}")]
    NoQuery {
        /// The number.
        id: u64,
    },
    /// No such result, or not any more.
    #[error("there is no result \"{id}\" any more, or it is not yours")]
    NoResult {
        /// Its id.
        id: String,
    },
    /// No such command to help with.
    #[error("no command is called \"{name}\"")]
    NoHelp {
        /// What was asked for.
        name: String,
        /// The next step.
        hint: Option<String>,
    },
    /// A table's policy does not define a table.
    #[error("the policy of table \"{table}\" does not define its columns")]
    BadTable {
        /// The table.
        table: String,
        /// Why.
        source: edgemere_query::DefinitionError,
    },
    /// The service refused, or failed.
    #[error(transparent)]
    Service(#[from] edgemere_service::Error),
    /// The text names no node to send a command to.
    #[error("cannot tell which nodes \"{destination}\" are")]
    NoDestination {
        /// The destination as given.
        destination: String,
        /// The next step.
        hint: String,
    },
    /// A caller who is no admin named an address that is no node's of the ledger.
    #[error("\"{address}\" is not the address of a node in the ledger")]
    UnknownAddress {
        /// The address.
        address: String,
    },
    /// The node does not keep the network's ledger.
    #[error("this node is not a master, which keeps the network's ledger")]
    NotMaster {
        /// The master that the node was started with.
        master: Option<String>,
    },
    /// Another node has the name.
    #[error("another node is named \"{name}\" and answers at {address}")]
    NameTaken {
        /// The name.
        name: String,
        /// Where the other node is.
        address: String,
    },
    /// A node wants to know the network key.
    #[error("node {address} does not take this node for one of its network: {reason}")]
    PeerDenied {
        /// The node's address.
        address: String,
        /// Why.
        reason: String,
        /// The next step.
        hint: &'static str,
    },
    /// A node speaks another protocol.
    #[error("node {address} speaks version {theirs} of the nodes' protocol, this one {ours}")]
    PeerVersion {
        /// The node's address.
        address: String,
        /// Its version.
        theirs: String,
        /// Our version.
        ours: &'static str,
    },
    /// A node did not take the call.
    #[error("node {address} cannot be reached: {reason}")]
    PeerUnreachable {
        /// The node's address.
        address: String,
        /// Why.
        reason: String,
    },
    /// A node took the call and did not answer in time.
    #[error("node {address} did not answer within {} s", timeout.as_secs_f32())]
    PeerTimeout {
        /// The node's address.
        address: String,
        /// How long it had.
        timeout: Duration,
    },
    /// A node answered with an error.
    #[error("node {address}: {message}")]
    PeerFailed {
        /// The node's address.
        address: String,
        /// The kind of its error.
        kind: Kind,
        /// Its error's EdgeLake code and text.
        code: Code,
        /// Its error's message.
        message: String,
    },
    /// A file or folder cannot be used.
    #[error("cannot use \"{path}\": {reason}")]
    File {
        /// The file or folder, as named by the caller.
        path: String,
        /// Why not.
        reason: String,
        /// Whether it is not there, or may not be read.
        kind: Kind,
        /// The next step.
        hint: Option<String>,
    },
    /// A line of a script failed.
    #[error("line {line} of the script \"{file}\"")]
    ScriptLine {
        /// The script.
        file: String,
        /// The line's number, from 1.
        line: usize,
        /// Why.
        source: Box<Error>,
    },
    /// Something grew over its limit.
    #[error("{what} is larger than the limit of {limit}")]
    Limit {
        /// What.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A fault of ours, or of the machine.
    #[error("{what}")]
    Internal {
        /// What failed.
        what: &'static str,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// What the crates below the service report comes as the service's error.
macro_rules! through_service {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::Service(error.into())
            }
        }
    )*};
}

through_service!(
    edgemere_ledger::Error,
    edgemere_query::Error,
    edgemere_query::sql::Error,
    edgemere_service::jobs::Error,
    edgemere_storage::Error,
    edgemere_storage::storage::Error,
);

impl Error {
    /// What kind of failure it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Syntax { .. }
            | Self::UnknownCommand { .. }
            | Self::MissingKey { .. }
            | Self::NotPolicy { .. }
            | Self::BadValue { .. }
            | Self::WrongMethod { .. }
            | Self::NotAssignment { .. }
            | Self::NoDestination { .. }
            | Self::ExternalDatabase { .. }
            | Self::Columns { .. }
            | Self::Limit { .. } => Kind::Input,
            Self::UnknownVariable { .. }
            | Self::UnknownTable { .. }
            | Self::UnknownDatabase { .. }
            | Self::UnknownOperator { .. }
            | Self::NoPartition { .. }
            | Self::NoQuery { .. }
            | Self::NoResult { .. }
            | Self::NoHelp { .. } => Kind::NotFound,
            Self::Secret { .. } | Self::UnknownAddress { .. } | Self::PeerDenied { .. } => {
                Kind::Denied
            }
            Self::NameTaken { .. }
            | Self::PeerVersion { .. }
            | Self::NotMaster { .. }
            | Self::NoMaster
            | Self::BadTable { .. } => Kind::Conflict,
            Self::PeerUnreachable { .. } | Self::PeerTimeout { .. } => Kind::Unavailable,
            Self::PeerFailed { kind, .. } | Self::File { kind, .. } => *kind,
            Self::ScriptLine { source, .. } => source.kind(),
            Self::Service(error) => error.kind(),
            Self::Internal { .. } => Kind::Internal,
        }
    }

    /// The code under which EdgeLake's clients know the failure.
    pub fn code(&self) -> Code {
        match self {
            Self::Syntax { .. }
            | Self::UnknownCommand { first_word_known: true, .. }
            | Self::MissingKey { .. }
            | Self::NotAssignment { .. }
            | Self::NotPolicy { .. } => Code::STRUCTURE,
            Self::UnknownCommand { .. } | Self::NoHelp { .. } => Code::UNRECOGNIZED,
            Self::BadValue { .. } => Code::WRONG_VALUE,
            Self::WrongMethod { .. } => Code::WRONG_METHOD,
            Self::Secret { .. } | Self::UnknownAddress { .. } | Self::PeerDenied { .. } => {
                Code::UNAUTHORIZED
            }
            Self::NameTaken { .. } => Code::NOT_UNIQUE,
            Self::PeerVersion { .. } => Code::PEER_REFUSED,
            Self::UnknownVariable { .. } => Code::UNINITIALIZED,
            Self::UnknownTable { .. } => Code::TABLE_NOT_DECLARED,
            Self::Service(error) => service_code(error),
            Self::BadTable { .. } | Self::Columns { .. } => Code::TABLE_STRUCTURE,
            Self::UnknownDatabase { .. } => Code::WRONG_DBMS,
            Self::UnknownOperator { .. } => Code::NO_POLICY,
            Self::NoMaster => Code::NO_LEDGER_TABLE,
            Self::ExternalDatabase { .. } => Code::WRONG_DBMS_TYPE,
            Self::NoPartition { .. } => Code::NO_PARTITION,
            Self::NoQuery { .. } | Self::NoResult { .. } => Code::WRONG_JOB,
            Self::NoDestination { .. } => Code::NO_DESTINATION,
            Self::NotMaster { .. } => Code::NO_LEDGER_TABLE,
            Self::PeerUnreachable { .. } => Code::PEER_REFUSED,
            Self::PeerTimeout { .. } => Code::TIME_OUT,
            Self::PeerFailed { code, .. } => code.clone(),
            Self::File { .. } => Code::NO_FILE,
            Self::ScriptLine { source, .. } => source.code(),
            Self::Limit { .. } => Code::LARGE_COMMAND,
            Self::Internal { .. } => Code::PROCESS,
        }
    }

    /// When to try again, of a node that cannot take more rows, or has no memory for a query, for a
    /// while.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Service(error) => error.retry_after(),
            Self::ScriptLine { source, .. } => source.retry_after(),
            _ => None,
        }
    }

    /// The HTTP status of a reply that tells it: that of its kind, or a closer one.
    pub fn http_status(&self) -> u16 {
        match self {
            Self::Service(error) => error.http_status(),
            Self::ScriptLine { source, .. } => source.http_status(),
            _ => self.kind().http_status(),
        }
    }

    /// The failure as it is reported to programs: EdgeLake's code and text, what is wrong, and the hint.
    pub fn to_object(&self) -> Map<String, Value> {
        let code = self.code();
        let message = match self.kind() {
            Kind::Internal => INTERNAL_MESSAGE.to_owned(),
            _ => self.message(),
        };
        let mut object = Map::new();
        object.insert("err_code".into(), code.number.into());
        object.insert("err_text".into(), code.text.into_owned().into());
        object.insert("local_msg".into(), message.into());
        if let Some(hint) = self.hint() {
            object.insert("hint".into(), hint.at(Door::Rest).into());
            if !hint.is_text() {
                object.insert("next".into(), json!(hint));
            }
        }
        object
    }

    /// The place in the command's text that the failure is about, where there is one.
    pub fn at(&self) -> Option<Span> {
        match self {
            Self::Syntax { at, .. } | Self::UnknownCommand { at, .. } => Some(at.clone()),
            Self::BadValue { at, .. } => at.clone(),
            _ => None,
        }
    }

    /// The message with the place, for people who see it without the text beside it.
    pub fn message(&self) -> String {
        let mut message = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            message.push_str(": ");
            message.push_str(&error.to_string());
            source = error.source();
        }
        if let Some(at) = self.at() {
            message.push_str(&format!(" at column {}", at.start + 1));
        }
        message
    }
}
