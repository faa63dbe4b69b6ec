//! Why a query is not run, or does not end.

use datafusion::error::DataFusionError;

use crate::network;

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
    #[error("the query took longer than {seconds} s")]
    TimeOut {
        /// How long it may take.
        seconds: u64,
    },
    /// An operator of the network failed.
    #[error(transparent)]
    Network(network::Error),
    /// The query needs more memory than it may have.
    #[error("the query needs more memory than it may have")]
    OutOfMemory(#[source] DataFusionError),
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
            Self::Network(error) => error.hint(),
            Self::NotReadOnly { .. } => Some("send one SELECT".into()),
            Self::TimeOut { .. } => {
                Some("ask for less, or give it longer: max_time = SECONDS".into())
            }
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
