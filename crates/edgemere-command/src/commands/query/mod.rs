//! `query …`: the queries that run on this node, and those that ran.

pub(super) mod asked;
pub(super) mod destination;
pub(super) mod explain;
pub(super) mod fetch;
pub(super) mod status;
pub(super) mod told;

use std::fmt;

use edgemere_query::distributed::OperatorProgress;
use edgemere_query::sql::{State, Status};

use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use edgemere_service::Effect;
use edgemere_service::Principal;

/// What is shown in place of what another caller asked.
const NOT_YOURS: &str = "(another caller's)";

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

    /// The queries, the oldest first, as the caller may see them.
    pub(super) fn find(self, context: &Context<'_>) -> Result<Vec<Status>, Error> {
        let queries = context.sql().queries().clone();
        let found = match self {
            Self::Last => queries.last().into_iter().collect(),
            Self::All => queries.all(),
            Self::One(id) => vec![queries.get(id).ok_or(Error::NoQuery { id })?],
        };
        Ok(found.into_iter().map(|query| seen(query, context.principal)).collect())
    }
}

/// A query as a caller may see it: callers see their own, admins see all. Of the others' there are only the
/// figures: what they ask for, and why it failed, may be nobody else's business.
fn seen(query: Status, principal: &Principal) -> Status {
    if query.caller == principal.label() || principal.may(Effect::Destructive) {
        return query;
    }
    let state = match query.state {
        State::Failed(_) => State::Failed(NOT_YOURS.to_owned()),
        state => state,
    };
    let hidden = || NOT_YOURS.to_owned();
    let operators =
        query.operators.into_iter().map(|share| OperatorProgress { error: None, ..share });
    Status {
        caller: hidden(),
        dbms: hidden(),
        sql: hidden(),
        state,
        plan: None,
        operators: operators.collect(),
        ..query
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
