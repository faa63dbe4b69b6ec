//! EdgeLake's own SQL, turned into what DataFusion understands.
//!
//! 0. `nesting` refuses what no stack would hold.
//! 1. `tokens` mends what no SQL parser reads: `now() - 1 day`, `-3d`, `period(…, and …)`,
//!    `x::timediff(now())`.
//! 2. The parser makes a statement of it, of which there must be one.
//! 3. `names` gives every result the name it was written with: `count(*)`, `avg(value)`.
//! 4. `period`, `casts` and `range` replace EdgeLake's functions by SQL that means the same, made of
//!    nodes (`build`) and never of text.
//! 5. `standard` writes out what the planner would take for less than SQL means by it.
//! 6. `increments` does so last: its automatic form asks the rows first how much time they span.

mod automatic;
mod build;
mod calls;
mod casts;
pub mod edgelake;
mod increments;
mod names;
mod nesting;
mod parts;
mod period;
mod postgres;
mod range;
mod request;
mod standard;
mod tokens;
mod units;

use datafusion::sql::sqlparser::ast::{Query, Statement};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{TokenWithSpan, Tokenizer};

pub(super) use self::automatic::TimeRange;
pub(super) use self::increments::HIDDEN;
pub use self::parts::{condition, results};
pub(super) use self::parts::{expression, grouping, ordering, projection, tokenize};
use self::postgres::Postgres;
pub(super) use self::request::{Explain, Like, Listed, Request, Show};
pub(super) use self::tokens::offset;
use self::tokens::{OwnCast, Rewritten, rewrite_tokens};
use crate::sql::error::Error;
use crate::sql::plan::visible::Internal;

/// How deep the parser goes; `nesting` lets through nothing that is deeper.
const DEPTH_MAX: usize = 2 * nesting::DEPTH_MAX;

/// A statement that was read, and is not yet all SQL.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    statement: Statement,
    /// The internal columns that it names.
    internal: Internal,
}

impl Reading {
    /// Reads one statement of EdgeLake's SQL that is a query, as that of a view is.
    pub(super) fn of(sql: &str) -> Result<Self, Error> {
        let (statement, casts, internal) = parse_tokens(sql, &read_tokens(sql)?)?;
        Self::new(statement, &casts, internal)
    }

    fn new(mut statement: Statement, casts: &[OwnCast], internal: Internal) -> Result<Self, Error> {
        if let Statement::Query(query) = &mut statement {
            rewrite(query, casts)?;
        }
        Ok(Self { statement, internal })
    }

    /// The internal columns that the statement names.
    pub(super) fn internal(&self) -> Internal {
        self.internal
    }

    /// The query, when the statement is one.
    pub(super) fn query(&self) -> Option<&Query> {
        match &self.statement {
            Statement::Query(query) => Some(query),
            _ => None,
        }
    }

    /// The query for the first and the last time of the rows, when that must be known first.
    pub(super) fn question(&self) -> Result<Option<Statement>, Error> {
        let Some(query) = self.query() else { return Ok(None) };
        let question = increments::question(query)?;
        Ok(question.map(|query| Statement::Query(Box::new(query))))
    }

    /// The statement in SQL.
    pub(super) fn finish(mut self, range: Option<TimeRange>) -> Result<Statement, Error> {
        if let Statement::Query(query) = &mut self.statement {
            increments::expand(query, range)?;
            calls::check_none_left(query)?;
        }
        Ok(self.statement)
    }
}

fn rewrite(query: &mut Query, casts: &[OwnCast]) -> Result<(), Error> {
    names::keep(query, casts);
    period::expand(query)?;
    casts::expand(query, casts)?;
    range::expand(query);
    standard::expand(query);
    Ok(())
}

fn parser() -> Parser<'static> {
    Parser::new(&Postgres).with_recursion_limit(DEPTH_MAX)
}

/// The tokens of a text, not nested too deeply to be parsed.
fn read_tokens(sql: &str) -> Result<Vec<TokenWithSpan>, Error> {
    let tokens = Tokenizer::new(&Postgres, sql)
        .tokenize_with_location()
        .map_err(|error| syntax(sql, &error.to_string()))?;
    nesting::check(&tokens)?;
    Ok(tokens)
}

/// The one statement that tokens of a text are.
fn parse_tokens(
    sql: &str,
    tokens: &[TokenWithSpan],
) -> Result<(Statement, Vec<OwnCast>, Internal), Error> {
    let internal = Internal::named_in(tokens);
    let Rewritten { tokens, casts } = rewrite_tokens(sql, tokens.to_vec());
    let mut statements = parser()
        .with_tokens_with_locations(tokens)
        .parse_statements()
        .map_err(|error| syntax(sql, &parser_message(&error)))?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok((statement, casts, internal)),
        (None, _) => Err(Error::Empty),
        (Some(_), false) => Err(Error::SeveralStatements),
    }
}

fn parser_message(error: &ParserError) -> String {
    match error {
        ParserError::ParserError(message) | ParserError::TokenizerError(message) => message.clone(),
        ParserError::RecursionLimitExceeded => "it is nested too deeply".into(),
    }
}

/// The parser says where in words: "… at Line: 1, Column: 8".
fn syntax(sql: &str, message: &str) -> Error {
    let (what, place) = message.rsplit_once(" at Line: ").unwrap_or((message, ""));
    let mut numbers = place.split(", Column: ").map(|number| number.trim().parse::<usize>().ok());
    let position = numbers.next().flatten().zip(numbers.next().flatten());
    Error::Syntax { message: what.to_owned(), position, sql: sql.to_owned() }
}
