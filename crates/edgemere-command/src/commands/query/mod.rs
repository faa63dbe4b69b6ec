//! `query …`: the queries that run on this node, and those that ran.

pub(super) mod asked;
pub(super) mod destination;
pub(super) mod explain;
pub(super) mod fetch;
pub(super) mod status;
pub(super) mod told;

use std::fmt;

use edgemere_engine::sql::{Queries, Status};

use crate::error::Error;
use crate::language::cursor::Cursor;

/// Which queries are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The last that was asked.
    Last,
    /// All that are remembered.
    All,
    /// The one of that number.
    One(u64),
}

impl Which {
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        match cursor.peek_keyword().as_deref() {
            None | Some("where") => Ok(Self::Last),
            Some("all") => {
                cursor.take();
                Ok(Self::All)
            }
            Some(_) => number(cursor, "the number of a query, \"all\" or \"where\"").map(Self::One),
        }
    }

    /// The queries, the oldest first.
    pub(super) fn find(self, queries: &Queries) -> Result<Vec<Status>, Error> {
        match self {
            Self::Last => Ok(queries.last().into_iter().collect()),
            Self::All => Ok(queries.all()),
            Self::One(id) => Ok(vec![queries.get(id).ok_or(Error::NoQuery { id })?]),
        }
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Last => Ok(()),
            Self::All => f.write_str(" all"),
            Self::One(id) => write!(f, " {id}"),
        }
    }
}

/// Takes the number of a query.
pub(super) fn number(cursor: &mut Cursor<'_>, expected: &str) -> Result<u64, Error> {
    let number = cursor.peek_keyword().and_then(|word| word.parse().ok());
    let number = number.ok_or_else(|| cursor.expected(expected))?;
    cursor.take();
    Ok(number)
}
