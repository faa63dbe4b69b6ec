//! Parts of a query that come by themselves, each proved to be no more than such a part.

use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer, Whitespace};

use super::postgres::Postgres;
use super::tokens::{Mended, mend};
use super::{nesting, parser, parser_message, syntax};
use crate::sql::error::Error;

/// A text that is one expression, without the comments in it.
pub fn condition(text: &str) -> Result<String, Error> {
    part(text, |parser| parser.parse_expr().map(|_| ()))
}

/// A text that may stand after SELECT: an expression, with a name or without, or several.
pub fn results(text: &str) -> Result<String, Error> {
    part(text, |parser| parser.parse_projection().map(|_| ()))
}

fn part(
    text: &str,
    parse: impl Fn(&mut Parser<'static>) -> Result<(), ParserError>,
) -> Result<String, Error> {
    let tokens = Tokenizer::new(&Postgres, text)
        .tokenize_with_location()
        .map_err(|error| syntax(text, &error.to_string()))?;
    nesting::check(&tokens)?;
    let without_comments: String = tokens.iter().map(|token| written(&token.token)).collect();
    let Mended { tokens, .. } = mend(text, tokens);
    let mut parser = parser().with_tokens_with_locations(tokens);
    parse(&mut parser).map_err(|error| syntax(text, &parser_message(&error)))?;
    let next = parser.peek_token();
    if next.token != Token::EOF {
        let message = format!("Expected: the end, found: {next}{}", next.span.start);
        return Err(syntax(text, &message));
    }
    Ok(without_comments.trim().to_owned())
}

/// A token as it was written; a blank in the place of a comment.
fn written(token: &Token) -> String {
    match token {
        Token::Whitespace(Whitespace::SingleLineComment { .. })
        | Token::Whitespace(Whitespace::MultiLineComment(_)) => " ".into(),
        other => other.to_string(),
    }
}
