//! Why a query is not run, or does not end.

use std::time::Duration;

use datafusion::error::DataFusionError;
use tokio::task::JoinError;

use crate::distributed;
use crate::sql::bounds::Excess;
use crate::sql::messages::{self, told};
use crate::sql::run::memory::is_taken_by_others;
use edgemere_storage::storage::{self, View};

/// What is wrong with a query.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is not SQL.
    #[error("the SQL is not valid: {message}{}", place(position))]
    Syntax {
        /// What the parser says.
        message: String,
        /// The line and the column, from 1, where it knows.
        position: Option<(usize, usize)>,
        /// The text.
        sql: String,
    },
    /// There is no statement.
    #[error("there is no SQL statement")]
    Empty,
    /// There is more than one statement.
    #[error("there is more than one SQL statement")]
    SeveralStatements,
    /// The statement is nested too deeply, or is made of too much.
    #[error("the query is too complex: it has more than {limit} {what}")]
    TooComplex {
        /// What there is too much of.
        what: &'static str,
        /// How much there may be.
        limit: usize,
    },
    /// The statement does something else than read.
    #[error("only queries are run: {what} is not one")]
    NotReadOnly {
        /// What the statement does.
        what: String,
    },
    /// An IN with a query in it stands where its unknown would be lost.
    #[error("IN (SELECT …) inside of another expression is not supported")]
    NotIn,
    /// A part of a query that is only about the rows at hand has a query of its own in it.
    #[error("there may be no query inside: only columns, values and functions")]
    QueryInside,
    /// A function of EdgeLake's is used wrongly.
    #[error("{name}: {reason}{}", place(position))]
    Function {
        /// The function.
        name: &'static str,
        /// What is wrong.
        reason: String,
        /// The line and the column, from 1, where it stands.
        position: Option<(usize, usize)>,
    },
    /// A cast of EdgeLake's is used wrongly.
    #[error("::{name}: {reason}{}", place(position))]
    Cast {
        /// The cast.
        name: &'static str,
        /// What is wrong.
        reason: String,
        /// The line and the column, from 1, where it stands.
        position: Option<(usize, usize)>,
    },
    /// No such cast.
    #[error("no type or cast \"{cast}\"")]
    UnknownCast {
        /// The cast.
        cast: String,
        /// The nearest that there is.
        near: Option<String>,
    },
    /// No such time zone.
    #[error("no time zone \"{zone}\"")]
    UnknownZone {
        /// The zone.
        zone: String,
    },
    /// The query cannot be asked of further tables.
    #[error("include: {reason}")]
    Include {
        /// Why not.
        reason: String,
    },
    /// The result has such a column already.
    #[error("extend: the query has a column \"{column}\" already")]
    Extend {
        /// The column.
        column: String,
    },
    /// No such database.
    #[error("no database \"{dbms}\"")]
    UnknownDatabase {
        /// The database.
        dbms: String,
        /// The nearest that there is.
        near: Option<String>,
        /// All that there are.
        known: Vec<String>,
    },
    /// The database does not answer.
    #[error("the database \"{dbms}\" is disconnected")]
    Disconnected {
        /// The database.
        dbms: String,
    },
    /// A view does not fit the tables any more.
    #[error("the view \"{dbms}.{view}\"{} cannot be used", below(asked))]
    View {
        /// The view's database.
        dbms: String,
        /// The view.
        view: String,
        /// The view that was asked for, when that is another one that stands on it.
        asked: Option<String>,
        /// What is wrong in it.
        source: Box<Error>,
    },
    /// Views stand on views, too many of them.
    #[error("more than {limit} views stand on each other")]
    ViewDepth {
        /// How many may.
        limit: usize,
    },
    /// Two columns of a view have the same name.
    #[error("a view cannot have two columns \"{column}\"")]
    SameColumn {
        /// The name.
        column: String,
    },
    /// `*` stands for internal columns, too, and they cannot be taken out of it.
    #[error("\"*\" over these tables cannot be told apart from {names}, which the query names")]
    Star {
        /// The internal columns that the query names.
        names: String,
    },
    /// Somebody cancelled the query.
    #[error("the query was cancelled")]
    Cancelled,
    /// No such table.
    #[error("no table \"{table}\" in database \"{dbms}\"")]
    UnknownTable {
        /// The database.
        dbms: String,
        /// The table.
        table: String,
        /// The nearest that there is.
        near: Option<String>,
        /// All that there are.
        known: Vec<String>,
    },
    /// No such column.
    #[error("no column \"{column}\"")]
    UnknownColumn {
        /// The column.
        column: String,
        /// The nearest that there is.
        near: Option<String>,
        /// All that there are.
        known: Vec<String>,
    },
    /// The query took longer than it may.
    #[error("the query took longer than {} s", limit.as_secs_f32())]
    TimeOut {
        /// How long it may take.
        limit: Duration,
    },
    /// An operator of the network failed.
    #[error(transparent)]
    Network(distributed::Error),
    /// Rows cannot be read from the disk.
    #[error(transparent)]
    Storage(storage::Error),
    /// Rows are missing that the reply could not name any more.
    #[error("the reply is without {}", missing.join(", "))]
    Missing {
        /// What is missing.
        missing: Vec<String>,
    },
    /// The query needs more memory than it may have.
    #[error("the query needs more memory than it may have")]
    OutOfMemory(DataFusionError),
    /// The node has too little memory left for it.
    #[error("the node is short of memory, and cannot answer this query now")]
    ShortOfMemory,
    /// An expression would make more than it may.
    #[error(transparent)]
    TooLarge(Excess),
    /// The query was ended because the node stops.
    #[error("the query was stopped")]
    Stopped,
    /// A fault of ours ended the query.
    #[error("the query failed for a fault of the node")]
    Fault(#[source] JoinError),
    /// There are no threads for queries.
    #[error("cannot start the threads for queries")]
    Threads(#[source] std::io::Error),
    /// What a crash left of queries cannot be removed.
    #[error("cannot clear the folder for what queries write to disk")]
    Spill(#[source] std::io::Error),
    /// The query cannot be planned.
    #[error("{}", told(.0).message)]
    Plan(DataFusionError),
    /// The query failed while it ran.
    #[error("{}", told(.0).message)]
    Execution(DataFusionError),
}

impl Error {
    /// The error of something inside a view.
    pub(super) fn in_view(self, outer: &View) -> Self {
        match self {
            Self::View { dbms, view, source, .. } => {
                let asked = Some(format!("{}.{}", outer.dbms, outer.name));
                Self::View { dbms, view, asked, source }
            }
            // That is of all of them together.
            Self::ViewDepth { .. } => self,
            other => Self::View {
                dbms: outer.dbms.clone(),
                view: outer.name.clone(),
                asked: None,
                source: Box::new(other),
            },
        }
    }

    /// Writes to the log what a caller is not told.
    pub(super) fn log(&self) {
        match self {
            Self::Plan(error) | Self::Execution(error) => messages::log(error),
            Self::View { source, .. } => source.log(),
            _ => {}
        }
    }

    /// When to ask again, where the node has too little memory for a while.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::ShortOfMemory | Self::Network(distributed::Error::OutOfMemory { .. }) => {
                Some(MEMORY_RETRY)
            }
            Self::OutOfMemory(error) if is_taken_by_others(error) => Some(MEMORY_RETRY),
            _ => None,
        }
    }

    /// What to do next, where there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownDatabase { near, known, .. } => instead(near, "databases", known),
            Self::UnknownTable { near, known, .. } => instead(near, "tables", known),
            Self::UnknownColumn { near, known, .. } => instead(near, "columns", known),
            Self::UnknownCast { near, .. } => instead(near, "", &[]),
            Self::Disconnected { dbms } => {
                Some(format!("\"connect dbms {dbms} where type = edgemere\" brings it back"))
            }
            Self::View { source, .. } if matches!(**source, Self::Disconnected { .. }) => {
                source.hint()
            }
            Self::View { dbms, view, .. } => {
                Some(format!("\"drop view {view} where dbms = {dbms}\" removes it"))
            }
            Self::SameColumn { .. } => Some("name one of them otherwise with AS".into()),
            Self::UnknownZone { .. } => {
                Some("use utc, local, pt, mt, ct, et or a name as Europe/Rome".into())
            }
            Self::Extend { .. } => {
                Some("give it another name in the result: extend = (@ip as NAME)".into())
            }
            Self::Network(error) => error.hint(),
            Self::Storage(error) => error.hint(),
            Self::Missing { .. } => {
                Some("ask for format = json, which names at its end what is missing".into())
            }
            Self::Star { .. } => {
                Some("write TABLE.* for each table, or the columns by name, in the place of *".into())
            }
            Self::NotReadOnly { .. } => Some(
                "send one SELECT; SHOW DATABASES, SHOW TABLES and DESCRIBE TABLE tell what there is, and \
                 EXPLAIN SELECT … how a query is run"
                    .into(),
            ),
            Self::Plan(error) | Self::Execution(error) => told(error).hint,
            Self::NotIn => {
                Some("join it with AND, OR and NOT only, or write EXISTS (SELECT …)".into())
            }
            Self::TooComplex { .. } => {
                Some("ask in parts, and write long lists of values as IN (…)".into())
            }
            Self::TimeOut { .. } => {
                Some("ask for less, or give it longer: max_time = SECONDS".into())
            }
            Self::ShortOfMemory => Some("ask again in a few seconds, or ask for less".into()),
            Self::TooLarge(_) => Some(
                "make shorter texts or lists, or fewer of them in one query: each step of a query may \
                 make so much of a batch of rows"
                    .into(),
            ),
            Self::OutOfMemory(error) if is_taken_by_others(error) => Some(
                "other queries have the memory now: ask again in a few seconds, or ask for fewer \
                 columns or rows"
                    .into(),
            ),
            Self::OutOfMemory(_) => Some(
                "ask for fewer columns or rows, or start the node with more --query-memory and room \
                 on its disk"
                    .into(),
            ),
            _ => None,
        }
    }
}

/// After what time others may have given back the memory that they have.
const MEMORY_RETRY: Duration = Duration::from_secs(5);

/// How many names a hint has.
const NAMES_MAX: usize = 30;

/// What could have been meant: the nearest, and all that there are.
fn instead(near: &Option<String>, what: &str, known: &[String]) -> Option<String> {
    let near = near.as_ref().map(|near| format!("did you mean \"{near}\"?"));
    let mut names = known.iter().take(NAMES_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    if known.len() > NAMES_MAX {
        names.push_str(&format!(" and {} more", known.len() - NAMES_MAX));
    }
    let known = (!known.is_empty()).then(|| format!("the {what} are {names}"));
    match (near, known) {
        (Some(near), Some(known)) => Some(format!("{near} {known}")),
        (near, known) => near.or(known),
    }
}

fn below(asked: &Option<String>) -> String {
    asked.as_ref().map(|asked| format!(", which \"{asked}\" stands on,")).unwrap_or_default()
}

fn place(position: &Option<(usize, usize)>) -> String {
    match position {
        Some((line, column)) => format!(" at line {line}, column {column} of the SQL"),
        None => String::new(),
    }
}
