//! Parts of a query that come by themselves, each proved to be no more than such a part.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Query, Visit, Visitor};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Whitespace};

use crate::sql::dialect::nesting;
use crate::sql::dialect::parser;
use crate::sql::dialect::parser_message;
use crate::sql::dialect::postgres::Postgres;
use crate::sql::dialect::syntax;
use crate::sql::dialect::tokens::{Rewritten, offset, rewrite_tokens};
use crate::sql::error::Error;

/// A text that is one expression, without the comments in it.
pub fn condition(text: &str) -> Result<String, Error> {
    part(text, Parser::parse_expr).map(|(text, _)| text)
}

/// A text that may stand after SELECT: an expression, with a name or without, or several.
pub fn results(text: &str) -> Result<String, Error> {
    part(text, Parser::parse_projection).map(|(text, _)| text)
}

/// The same as [`condition`], and no query is in it: it is about the rows at hand and nothing else.
pub(in crate::sql) fn expression(text: &str) -> Result<String, Error> {
    without_queries(text, Parser::parse_expr)
}

/// The same as [`results`], and no query is in it.
pub(in crate::sql) fn projection(text: &str) -> Result<String, Error> {
    without_queries(text, Parser::parse_projection)
}

/// A text that may stand after GROUP BY, and no query is in it.
pub(in crate::sql) fn grouping(text: &str) -> Result<String, Error> {
    without_queries(text, |parser| parser.parse_comma_separated(Parser::parse_expr))
}

/// A text that may stand after ORDER BY, and no query is in it.
pub(in crate::sql) fn ordering(text: &str) -> Result<String, Error> {
    without_queries(text, |parser| parser.parse_comma_separated(Parser::parse_order_by_expr))
}

fn without_queries<T: Visit>(
    text: &str,
    parse: impl Fn(&mut Parser<'static>) -> Result<T, ParserError>,
) -> Result<String, Error> {
    let (text, tree) = part(text, parse)?;
    match tree.visit(&mut NoQuery) {
        ControlFlow::Continue(()) => Ok(text),
        ControlFlow::Break(()) => Err(Error::QueryInside),
    }
}

struct NoQuery;

impl Visitor for NoQuery {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

fn part<T>(
    text: &str,
    parse: impl Fn(&mut Parser<'static>) -> Result<T, ParserError>,
) -> Result<(String, T), Error> {
    let tokens = tokenize(text)?;
    nesting::check(&tokens)?;
    let plain = without_comments(text, &tokens)?;
    let Rewritten { tokens, .. } = rewrite_tokens(text, tokens);
    let mut parser = parser().with_tokens_with_locations(tokens);
    let tree = parse(&mut parser).map_err(|error| syntax(text, &parser_message(&error)))?;
    let next = parser.peek_token();
    if next.token != Token::EOF {
        let message = format!("Expected: the end, found: {next}{}", next.span.start);
        return Err(syntax(text, &message));
    }
    Ok((plain, tree))
}

pub(in crate::sql) fn tokenize(text: &str) -> Result<Vec<TokenWithSpan>, Error> {
    let tokens = Tokenizer::new(&Postgres, text).tokenize_with_location();
    tokens.map_err(|error| syntax(text, &error.to_string()))
}

/// The text as it is written, with a blank in the place of each comment. A token's own text would
/// not do: quotes that are doubled in the text are single in it.
fn without_comments(text: &str, tokens: &[TokenWithSpan]) -> Result<String, Error> {
    let mut plain = String::with_capacity(text.len());
    let mut at = 0;
    for comment in tokens.iter().filter(|token| is_comment(&token.token)) {
        plain.push_str(text.get(at..offset(text, comment.span.start)).unwrap_or_default());
        plain.push(' ');
        at = offset(text, comment.span.end);
    }
    plain.push_str(text.get(at..).unwrap_or_default());
    let plain = plain.trim().to_owned();
    // What is taken for the text must be read as the same, or it would mean something else.
    let read_again = tokenize(&plain)?;
    match words(&read_again).eq(words(tokens)) {
        true => Ok(plain),
        false => Err(syntax(text, "its comments cannot be taken out")),
    }
}

fn is_comment(token: &Token) -> bool {
    matches!(
        token,
        Token::Whitespace(Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_))
    )
}

fn words(tokens: &[TokenWithSpan]) -> impl Iterator<Item = &Token> {
    let tokens = tokens.iter().map(|token| &token.token);
    tokens.filter(|token| !matches!(token, Token::Whitespace(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_stays_as_it_is_written_but_for_its_comments() {
        for text in
            ["a = 'it''s'", "a = 'x'' or 1 = 1 --'", "\"a\"\"b\" > 1.50", "ts > now() - 1 day"]
        {
            assert_eq!(condition(text).unwrap(), text);
        }
        assert_eq!(condition(" a /* b */ = 1 -- c").unwrap(), "a   = 1");
        assert_eq!(condition("a -- '\n = 1").unwrap(), "a   = 1");
        assert_eq!(results("avg(a) as b, c::float(2)").unwrap(), "avg(a) as b, c::float(2)");
        assert_eq!(ordering("a desc nulls last, 2").unwrap(), "a desc nulls last, 2");
        assert_eq!(grouping("a, date_trunc('day', ts)").unwrap(), "a, date_trunc('day', ts)");
    }

    #[test]
    fn a_part_is_no_more_than_itself() {
        let wrong = [
            "",
            "a = 1; drop table t",
            "a = 1) or (1 = 1",
            "1 = 1 union select 1",
            "a = 'x",
            "a = 1 /*",
            "a = 1 limit 5",
            "a = $$x",
        ];
        for text in wrong {
            assert!(condition(text).is_err(), "{text}");
            assert!(expression(text).is_err(), "{text}");
        }
        assert!(ordering("a desc limit 1").is_err());
        assert!(grouping("a having b").is_err());
        assert!(projection("a from t").is_err());
    }

    #[test]
    fn what_is_about_the_rows_at_hand_has_no_query_in_it() {
        for text in [
            "a in (select b from t)",
            "exists (select 1)",
            "(select 1) = 1",
            "a = any (select b from t)",
            "abs((select max(b) from t)) > 1",
            "a in (values (1))",
            "a = (with x as (select 1) select * from x)",
        ] {
            assert!(
                matches!(expression(text), Err(Error::QueryInside | Error::Syntax { .. })),
                "{text}"
            );
            assert!(
                matches!(projection(text), Err(Error::QueryInside | Error::Syntax { .. })),
                "{text}"
            );
            assert!(
                matches!(ordering(text), Err(Error::QueryInside | Error::Syntax { .. })),
                "{text}"
            );
        }
        expression("\"select\" = 'select 1' and a in (1, 2)").unwrap();
    }
}
