//! Mends, token by token, what no SQL parser reads.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The units of time, as they are written and as SQL calls them.
const UNITS: [(&str, &str); 16] = [
    ("second", "second"),
    ("seconds", "second"),
    ("minute", "minute"),
    ("minutes", "minute"),
    ("hour", "hour"),
    ("hours", "hour"),
    ("day", "day"),
    ("days", "day"),
    ("week", "week"),
    ("weeks", "week"),
    ("month", "month"),
    ("months", "month"),
    ("year", "year"),
    ("years", "year"),
    ("milliseconds", "millisecond"),
    ("millisecond", "millisecond"),
];

/// The units of `-3d`.
const SHORT_UNITS: [(&str, &str); 7] = [
    ("s", "second"),
    ("m", "minute"),
    ("h", "hour"),
    ("d", "day"),
    ("w", "week"),
    ("t", "minute"),
    ("y", "year"),
];

/// The casts whose arguments are no types' arguments in any SQL.
const WRAPPED_CASTS: [&str; 4] = ["format", "datetime", "timezone", "timediff"];

/// Mends a statement's tokens.
pub(super) fn mend(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let tokens: Vec<_> =
        tokens.into_iter().filter(|t| !matches!(t.token, Token::Whitespace(_))).collect();
    let mut mended = Vec::with_capacity(tokens.len());
    let mut rest = tokens.as_slice();
    let mut in_period = Vec::new();
    while let Some((token, after)) = rest.split_first() {
        rest = match &token.token {
            Token::Plus | Token::Minus => span_of_time(token, after, &mut mended),
            Token::DoubleColon => cast(token, after, &mut mended),
            Token::Comma if in_period.last() == Some(&true) => {
                comma_of_period(token, after, &mut mended)
            }
            _ => {
                note_parenthesis(token, &mended, &mut in_period);
                mended.push(token.clone());
                after
            }
        };
    }
    mended
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

/// `- 1 day` becomes `- INTERVAL '1 day'`, and a lone `-3d` becomes `now() - INTERVAL '3 day'`.
fn span_of_time<'a>(
    sign: &TokenWithSpan,
    after: &'a [TokenWithSpan],
    mended: &mut Vec<TokenWithSpan>,
) -> &'a [TokenWithSpan] {
    let [number, unit, rest @ ..] = after else {
        mended.push(sign.clone());
        return after;
    };
    let (Token::Number(count, _), Token::Word(word)) = (&number.token, &unit.token) else {
        mended.push(sign.clone());
        return after;
    };
    let word = word.value.to_lowercase();
    let named = |units: &[(&str, &'static str)]| {
        units.iter().find(|(name, _)| *name == word).map(|(_, unit)| *unit)
    };
    let follows_value = mended.last().is_some_and(ends_value);
    let unit_name = match (named(&UNITS), named(&SHORT_UNITS)) {
        (Some(name), _) => Some(name),
        (None, short) if !follows_value => short,
        _ => None,
    };
    let Some(name) = unit_name else {
        mended.push(sign.clone());
        return after;
    };
    let at = |token| TokenWithSpan { token, span: sign.span };
    if !follows_value {
        mended.extend([at(Token::make_word("now", None)), at(Token::LParen), at(Token::RParen)]);
    }
    mended.push(sign.clone());
    mended.push(at(Token::make_keyword("INTERVAL")));
    mended.push(at(Token::SingleQuotedString(format!("{count} {name}"))));
    rest
}

/// Whether a value ends here, so that a sign that follows joins it with another.
fn ends_value(token: &TokenWithSpan) -> bool {
    match &token.token {
        Token::RParen | Token::Number(..) | Token::SingleQuotedString(_) | Token::RBracket => true,
        Token::Word(Word { keyword, .. }) => {
            *keyword == datafusion::sql::sqlparser::keywords::Keyword::NoKeyword
        }
        _ => false,
    }
}

/// `period(…, and x = 1)`: the `and` only says that a condition follows.
fn comma_of_period<'a>(
    comma: &TokenWithSpan,
    after: &'a [TokenWithSpan],
    mended: &mut Vec<TokenWithSpan>,
) -> &'a [TokenWithSpan] {
    mended.push(comma.clone());
    match after.split_first() {
        Some((next, rest)) if is_word(next, "and") => rest,
        _ => after,
    }
}

/// `x::timediff(now())` becomes `x::timediff('now()')`.
fn cast<'a>(
    colons: &TokenWithSpan,
    after: &'a [TokenWithSpan],
    mended: &mut Vec<TokenWithSpan>,
) -> &'a [TokenWithSpan] {
    mended.push(colons.clone());
    let [name, open, inside @ ..] = after else { return after };
    let is_wrapped = WRAPPED_CASTS.iter().any(|cast| is_word(name, cast));
    if !is_wrapped || open.token != Token::LParen {
        return after;
    }
    let Some(length) = matching_parenthesis(inside) else { return after };
    let (arguments, rest) = inside.split_at(length);
    // "datetime" is a type of SQL's own, with other arguments.
    let name = TokenWithSpan { token: Token::make_word(&own_name(name), None), span: name.span };
    mended.extend([name, open.clone()]);
    match arguments {
        [only @ TokenWithSpan { token: Token::SingleQuotedString(_), .. }] => {
            mended.push(only.clone())
        }
        _ => {
            let text: String = arguments.iter().map(|token| token.token.to_string()).collect();
            let token = Token::SingleQuotedString(text);
            mended.push(TokenWithSpan { token, span: open.span });
        }
    }
    rest
}

/// The name under which a cast of EdgeLake's goes through the parser.
fn own_name(name: &TokenWithSpan) -> String {
    format!("edgelake_{}", name.token.to_string().to_lowercase())
}

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
