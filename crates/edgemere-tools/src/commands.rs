//! What carries out the commands of tools: the node that they belong to, or another one that is asked
//! over the network. Tools know nothing else of it.

use edgemere_command::results::{self, Budget, ResultRows};
use edgemere_command::sql::ResultColumn;
use edgemere_command::sync::LedgerAge;
use edgemere_command::{Door, Error, INTERNAL_MESSAGE, Kind, Principal, Rendered, Request};
use futures_util::stream::BoxStream;
use mcp_serve::BoxFuture;

use crate::result::rows::Given;

/// Carries out commands.
pub trait Commands: Send + Sync + 'static {
    /// Carries out a command. The rows of a query are left to whoever takes them where that is
    /// possible; a node that is asked from afar gives them as they are wanted.
    fn answer<'a>(
        &'a self,
        request: &'a Request,
        wanted: Wanted,
    ) -> BoxFuture<'a, Result<Answer, Failure>>;

    /// Carries out a command, and gives the reply the looks that the command asks for.
    fn reply<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Rendered, Failure>>;

    /// The columns of a query's result, without running it; none when its tables are not there, or
    /// nobody can say.
    fn columns<'a>(
        &'a self,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Option<Vec<ResultColumn>>, Failure>>;

    /// Keeps rows for who asked, and gives the cursor that `query fetch` takes.
    fn keep_rest(&self, principal: &Principal, rest: ResultRows) -> String;

    /// Where all rows of a query can be read as a stream; none when there is no such place.
    fn link(&self, request: &Request) -> Option<String>;

    /// The version of what is known of the network, where that costs nothing: when it differs, there
    /// may be other tables.
    fn version(&self) -> Option<String> {
        None
    }

    /// How old what the node knows of the network is; none when it keeps the ledger itself, or when
    /// that is not known.
    fn ledger_age(&self) -> Option<LedgerAge> {
        None
    }

    /// Whether a command, by its declared name, can ever be carried out there for the caller. A tool of which
    /// none can is not offered.
    fn has(&self, command: &str, principal: &Principal) -> bool {
        let _ = (command, principal);
        true
    }

    /// The name of the node that answers.
    fn node_name(&self) -> String;
}

/// How the rows of a query are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// As many as fit.
    Page(Budget),
    /// All of them as events, as many as fit where there are no events.
    Events(Budget),
}

impl Wanted {
    /// How many rows fit.
    pub fn budget(self) -> Budget {
        match self {
            Self::Page(budget) | Self::Events(budget) => budget,
        }
    }
}

/// What a command answers.
pub enum Answer {
    /// A reply with its looks.
    Reply(Rendered),
    /// The rows of a query that runs here.
    Rows(Box<ResultRows>),
    /// Rows that another node gave.
    Given(Box<Given>),
    /// Rows that another node sends while they come.
    Events(Events),
}

/// Rows that are sent while they come, as the messages of `format = events`.
pub struct Events {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// A message each, the last of which says that it was all, or why not.
    pub messages: BoxStream<'static, Result<String, Failure>>,
}

impl From<results::Answer> for Answer {
    fn from(answer: results::Answer) -> Self {
        match answer {
            results::Answer::Reply(reply) => Self::Reply(reply),
            results::Answer::Rows(rows) => Self::Rows(rows),
        }
    }
}

/// Why a command was not carried out, in words for an agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The kind of it.
    pub kind: Kind,
    /// What is wrong.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
}

impl Failure {
    /// What is wrong, and the next step.
    pub fn new(kind: Kind, message: impl Into<String>, hint: Option<String>) -> Self {
        Self { kind, message: message.into(), hint }
    }

    /// All of it as text. A fault of ours is only told in the log.
    pub fn text(&self) -> String {
        let message = match self.kind {
            Kind::Internal => INTERNAL_MESSAGE,
            _ => &self.message,
        };
        match &self.hint {
            Some(hint) => format!("{message}\nNext step: {hint}"),
            None => message.to_owned(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let hint = error.hint().map(|hint| hint.at(Door::Agent));
        Self { kind: error.kind(), message: error.message(), hint }
    }
}
