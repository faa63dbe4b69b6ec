//! Queries for a node of EdgeLake: one SELECT, printed anew from its tree in the few forms that EdgeLake
//! answers rightly. All else is refused, with the reason.
//!
//! EdgeLake takes statements apart as text: it sends LIMIT to the operators below aggregates, ignores
//! HAVING, OFFSET and arithmetic, reads times in parentheses wrongly, and takes what stands in front of
//! SELECT for options. So nothing of a statement is passed on as it was written:
//!
//! 1. `select` reads the tree, and refuses every part that it does not know.
//! 2. `condition` makes of WHERE a list of ANDs with ORs between them, without parentheses (`logic`).
//! 3. `value` prints literals and names of letters that EdgeLake gives no meaning.
//! 4. `finish` does here, on the rows that come back, what EdgeLake does wrongly: HAVING, the order and
//!    the LIMIT of groups, OFFSET, names of results.
//!
//! Who asks, and how, is not known here.

mod condition;
mod finish;
mod item;
mod logic;
mod select;
#[cfg(test)]
mod tests;
mod value;

use datafusion::sql::sqlparser::ast::Statement;

use self::finish::Finish;
pub use self::finish::{Rows, Strange};
use crate::sql::dialect::parse_tokens;
use crate::sql::dialect::read_tokens;
use crate::sql::error::Error;

/// A query as EdgeLake is asked it, and what is left to do with its rows.
#[derive(Clone, Debug)]
pub struct Query {
    sql: String,
    finish: Finish,
}

/// Why a query is not asked of EdgeLake.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It is not a query that could be asked of any node.
    #[error(transparent)]
    Sql(#[from] Error),
    /// EdgeLake would fail, or answer wrongly.
    #[error("not asked of EdgeLake: {what}")]
    Known {
        /// What it has that EdgeLake does not do.
        what: String,
        /// What to do instead.
        hint: String,
    },
}

impl Refused {
    /// The next step.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Sql(error) => error.hint(),
            Self::Known { hint, .. } => Some(hint.clone()),
        }
    }
}

fn refused(what: impl Into<String>, hint: impl Into<String>) -> Refused {
    Refused::Known { what: what.into(), hint: hint.into() }
}

impl Query {
    /// The query that a text is, for a database of EdgeLake.
    pub fn of(sql: &str, dbms: &str) -> Result<Self, Refused> {
        let (statement, casts, _) = parse_tokens(sql, &read_tokens(sql)?)?;
        let Statement::Query(query) = &statement else {
            let words = statement.to_string();
            let what = words.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
            return Err(Error::NotReadOnly { what }.into());
        };
        select::read(query, &casts, dbms)
    }

    /// What is sent.
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// The rows of the query, of those that EdgeLake gave for what was sent.
    pub fn finish(
        &self,
        rows: Vec<serde_json::Map<String, serde_json::Value>>,
    ) -> Result<Rows, Strange> {
        self.finish.apply(rows)
    }
}

/// Whether EdgeLake gives a text no other meaning: neither that of a variable (`!name`, `$name`, also
/// in quotes) nor that of a sign or word of its language.
pub fn is_plain(text: &str) -> bool {
    value::is_plain(text)
}
