//! Why a query is not run, or does not end.

use std::time::Duration;

use datafusion::error::DataFusionError;
use tokio::task::JoinError;

/// What is wrong with a query.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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
    /// The statement does something else than read.
    #[error("only queries are run: {what} is not one")]
    NotReadOnly {
        /// What the statement does.
        what: String,
    },
    /// A function of EdgeLake's is used wrongly.
    #[error("{name}: {reason}")]
    Function {
        /// The function.
        name: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// No such database.
    #[error("no database \"{dbms}\"")]
    UnknownDatabase {
        /// The database.
        dbms: String,
        /// The nearest that there is.
        near: Option<String>,
    },
    /// No such table.
    #[error("no table \"{table}\" in database \"{dbms}\"")]
    UnknownTable {
        /// The database.
        dbms: String,
        /// The table.
        table: String,
        /// The nearest that there is.
        near: Option<String>,
    },
    /// No such column.
    #[error("no column \"{column}\"")]
    UnknownColumn {
        /// The column.
        column: String,
        /// The nearest that there is.
        near: Option<String>,
    },
    /// The query took longer than it may.
    #[error("the query took longer than {} s", limit.as_secs_f32())]
    TimeOut {
        /// How long it may take.
        limit: Duration,
    },
    /// The query needs more memory than it may have.
    #[error("the query needs more memory than it may have")]
    OutOfMemory(#[source] DataFusionError),
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
    #[error("the query cannot be planned")]
    Plan(#[source] DataFusionError),
    /// The query failed while it ran.
    #[error("the query failed")]
    Execution(#[source] DataFusionError),
}

impl Error {
    /// What to do next, where there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownDatabase { near, .. }
            | Self::UnknownTable { near, .. }
            | Self::UnknownColumn { near, .. } => {
                near.as_ref().map(|near| format!("did you mean \"{near}\"?"))
            }
            Self::NotReadOnly { .. } => Some("send one SELECT".into()),
            Self::TimeOut { .. } => {
                Some("ask for less, or give it longer: max_time = SECONDS".into())
            }
            Self::OutOfMemory(_) => Some(
                "ask for fewer columns or rows, or start the node with more --query-memory and room \
                 on its disk"
                    .into(),
            ),
            _ => None,
        }
    }
}

fn place(position: &Option<(usize, usize)>) -> String {
    match position {
        Some((line, column)) => format!(" at line {line}, column {column} of the SQL"),
        None => String::new(),
    }
}
