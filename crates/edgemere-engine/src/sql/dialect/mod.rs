//! EdgeLake's own SQL, turned into what DataFusion understands.
//!
//! 1. `tokens` mends what no SQL parser reads: `now() - 1 day`, `-3d`, `period(…, and …)`,
//!    `x::timediff(now())`.
//! 2. The parser makes a statement of it, of which there must be one.
//! 3. `names` gives every result the name it was written with: `count(*)`, `avg(value)`.
//! 4. `increments`, `period` and `casts` replace EdgeLake's functions by SQL that means the same.

mod casts;
mod increments;
mod names;
mod period;
mod tokens;

use datafusion::sql::sqlparser::ast::Statement;
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Tokenizer;

use super::error::Error;

/// How deep expressions may be nested.
const DEPTH_MAX: usize = 100;

/// Reads one statement of EdgeLake's SQL.
pub(super) fn parse(sql: &str) -> Result<Statement, Error> {
    let dialect = PostgreSqlDialect {};
    let tokens = Tokenizer::new(&dialect, sql)
        .tokenize_with_location()
        .map_err(|error| syntax(sql, &error.to_string()))?;
    let mut parser = Parser::new(&dialect)
        .with_recursion_limit(DEPTH_MAX)
        .with_tokens_with_locations(tokens::mend(tokens));
    let mut statements =
        parser.parse_statements().map_err(|error| syntax(sql, &parser_message(&error)))?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => rewrite(statement),
        (None, _) => Err(Error::Empty),
        (Some(_), false) => Err(Error::SeveralStatements),
    }
}

fn rewrite(mut statement: Statement) -> Result<Statement, Error> {
    if let Statement::Query(query) = &mut statement {
        names::keep(query);
        increments::expand(query)?;
        period::expand(query)?;
        casts::expand(query)?;
    }
    Ok(statement)
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
