//! Mends, token by token, what no SQL parser reads: spans of time (`now() - 1 day`, `-3d`), the
//! `and` in `period(…, and …)`, and EdgeLake's casts, which are set aside for `casts`.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Word};

use crate::sql::dialect::calls::position;
use crate::sql::dialect::units::Unit;

/// The type under which EdgeLake's casts go through the parser, with the place of what was set
/// aside as its argument.
pub(super) const OWN_CAST: &str = "edgelake_cast";

/// EdgeLake's casts.
pub(super) const OWN_CASTS: [&str; 13] = [
    "float", "int", "str", "ljust", "rjust", "lstrip", "rstrip", "format", "datetime", "timezone",
    "timediff", "replace", "function",
];

/// A cast of EdgeLake's.
#[derive(Clone, Debug)]
pub(super) struct OwnCast {
    pub(super) name: &'static str,
    /// What stands in its parentheses, as it was written; none without parentheses.
    pub(super) text: Option<String>,
    /// The same as tokens, rewritten.
    pub(super) arguments: Vec<TokenWithSpan>,
    pub(super) position: Option<(usize, usize)>,
}

/// A statement's tokens, rewritten, and the casts that were set aside.
#[derive(Debug, Default)]
pub(super) struct Rewritten {
    pub(super) tokens: Vec<TokenWithSpan>,
    pub(super) casts: Vec<OwnCast>,
}

/// Mends a statement's tokens.
pub(super) fn rewrite_tokens(sql: &str, tokens: Vec<TokenWithSpan>) -> Rewritten {
    let tokens: Vec<_> =
        tokens.into_iter().filter(|t| !matches!(t.token, Token::Whitespace(_))).collect();
    let mut casts = Vec::new();
    let tokens = Rewriter { sql, casts: &mut casts, rewritten: Vec::new() }.rewrite(&tokens);
    Rewritten { tokens, casts }
}

struct Rewriter<'a> {
    sql: &'a str,
    casts: &'a mut Vec<OwnCast>,
    rewritten: Vec<TokenWithSpan>,
}

impl Rewriter<'_> {
    fn rewrite(mut self, tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
        let mut rest = tokens;
        let mut in_period = Vec::new();
        while let Some((token, after)) = rest.split_first() {
            rest = match &token.token {
                Token::Plus | Token::Minus => self.span_of_time(token, after),
                Token::DoubleColon => self.cast(token, after),
                Token::Comma if in_period.last() == Some(&true) => {
                    self.comma_of_period(token, after)
                }
                _ => {
                    note_parenthesis(token, &self.rewritten, &mut in_period);
                    self.rewritten.push(token.clone());
                    after
                }
            };
        }
        self.rewritten
    }

    /// `- 1 day` becomes `- INTERVAL '1 day'`, `now() -3d` becomes `now() - INTERVAL '3 day'`, and a
    /// `-3d` that follows no value becomes `now() - INTERVAL '3 day'`.
    fn span_of_time<'t>(
        &mut self,
        sign: &TokenWithSpan,
        after: &'t [TokenWithSpan],
    ) -> &'t [TokenWithSpan] {
        let Some((count, unit, rest)) = span_of_time(after) else {
            self.rewritten.push(sign.clone());
            return after;
        };
        let at = |token| TokenWithSpan { token, span: sign.span };
        if !self.rewritten.last().is_some_and(ends_value) {
            let now = [Token::make_word("now", None), Token::LParen, Token::RParen];
            self.rewritten.extend(now.map(at));
        }
        self.rewritten.push(sign.clone());
        self.rewritten.push(at(Token::make_keyword("INTERVAL")));
        self.rewritten.push(at(Token::SingleQuotedString(format!("{count} {}", unit.name))));
        rest
    }

    /// `period(…, and x = 1)`: the `and` only says that a condition follows.
    fn comma_of_period<'t>(
        &mut self,
        comma: &TokenWithSpan,
        after: &'t [TokenWithSpan],
    ) -> &'t [TokenWithSpan] {
        self.rewritten.push(comma.clone());
        match after.split_first() {
            Some((next, rest)) if is_word(next, "and") => rest,
            _ => after,
        }
    }

    /// `x::ljust(10)` becomes `x::edgelake_cast(N)`, where N is its place among those set aside.
    fn cast<'t>(
        &mut self,
        colons: &TokenWithSpan,
        after: &'t [TokenWithSpan],
    ) -> &'t [TokenWithSpan] {
        self.rewritten.push(colons.clone());
        let Some((word, after_word)) = after.split_first() else { return after };
        let Some(name) = OWN_CASTS.into_iter().find(|name| is_word(word, name)) else {
            return after;
        };
        let (inside, rest) = match after_word {
            [open, inside @ ..] if open.token == Token::LParen => {
                match matching_parenthesis(inside) {
                    Some(length) => (Some((open, inside, length)), inside.get(length + 1..)),
                    // The parser tells of the parenthesis that is missing.
                    None => return after,
                }
            }
            _ => (None, Some(after_word)),
        };
        let mut own = OwnCast {
            name,
            text: None,
            arguments: Vec::new(),
            position: position(word.span.start),
        };
        if let Some((open, inside, length)) = inside {
            let close = inside.get(length).map_or(open.span.end, |close| close.span.start);
            own.text = Some(between(self.sql, open.span.end, close).trim().to_owned());
            let arguments = inside.get(..length).unwrap_or_default();
            let nested = Rewriter { sql: self.sql, casts: self.casts, rewritten: Vec::new() };
            own.arguments = nested.rewrite(arguments);
        }
        let at = |token| TokenWithSpan { token, span: word.span };
        self.rewritten.extend([
            at(Token::make_word(OWN_CAST, None)),
            at(Token::LParen),
            at(Token::Number(self.casts.len().to_string(), false)),
            at(Token::RParen),
        ]);
        self.casts.push(own);
        rest.unwrap_or_default()
    }
}

/// A number and a unit of time: `1 day`, or `3d` in one word.
fn span_of_time(tokens: &[TokenWithSpan]) -> Option<(&str, Unit, &[TokenWithSpan])> {
    let [number, word, rest @ ..] = tokens else { return None };
    let (Token::Number(count, _), Token::Word(unit)) = (&number.token, &word.token) else {
        return None;
    };
    let is_one_word = number.span.end == word.span.start;
    let lettered = || Unit::lettered(&unit.value).filter(|_| is_one_word);
    let unit = Unit::named(&unit.value).or_else(lettered)?;
    Some((count, unit, rest))
}

/// Keeps count of which open parentheses are those of `period(`.
fn note_parenthesis(token: &TokenWithSpan, before: &[TokenWithSpan], in_period: &mut Vec<bool>) {
    match token.token {
        Token::LParen => in_period.push(before.last().is_some_and(|last| is_word(last, "period"))),
        Token::RParen => {
            in_period.pop();
        }
        _ => {}
    }
}

/// Whether a value ends here, so that a sign that follows joins it with another.
fn ends_value(token: &TokenWithSpan) -> bool {
    match &token.token {
        Token::RParen | Token::Number(..) | Token::SingleQuotedString(_) | Token::RBracket => true,
        Token::Word(Word { keyword, quote_style, .. }) => {
            quote_style.is_some() || !AWAITS_VALUE.contains(keyword)
        }
        _ => false,
    }
}

/// The keywords that a value follows. All others may be the names of columns.
const AWAITS_VALUE: [Keyword; 18] = [
    Keyword::SELECT,
    Keyword::DISTINCT,
    Keyword::ALL,
    Keyword::WHERE,
    Keyword::HAVING,
    Keyword::ON,
    Keyword::BY,
    Keyword::AND,
    Keyword::OR,
    Keyword::NOT,
    Keyword::IN,
    Keyword::BETWEEN,
    Keyword::CASE,
    Keyword::WHEN,
    Keyword::THEN,
    Keyword::ELSE,
    Keyword::LIKE,
    Keyword::IS,
];

/// How many tokens stand before the parenthesis that closes the one already open.
fn matching_parenthesis(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 1_usize;
    tokens.iter().position(|token| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

fn is_word(token: &TokenWithSpan, wanted: &str) -> bool {
    matches!(&token.token, Token::Word(word) if word.value.eq_ignore_ascii_case(wanted))
}

/// The text between two places.
fn between(sql: &str, start: Location, end: Location) -> &str {
    sql.get(offset(sql, start)..offset(sql, end)).unwrap_or_default()
}

/// A place in bytes.
pub(in crate::sql) fn offset(sql: &str, place: Location) -> usize {
    let mut at = Location { line: 1, column: 1 };
    for (offset, character) in sql.char_indices() {
        if at.line == place.line && at.column == place.column {
            return offset;
        }
        match character {
            '\n' => at = Location { line: at.line + 1, column: 1 },
            _ => at.column += 1,
        }
    }
    sql.len()
}
