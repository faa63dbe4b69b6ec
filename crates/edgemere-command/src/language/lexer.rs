//! The lexer: the next token of a command's text, from any place in it. It works on demand, so
//! that a command may take the rest of the text as it stands (SQL, a message).

use std::ops::Range;

/// The characters that end a bare word.
const ENDS_WORD: &[char] = &['(', ')', '[', ']', '{', '}', '<', '>', '=', '!', ',', '"', '\''];

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A bare word: `get`, `127.0.0.1:32048`, `bring.json`, `*`.
    Word(String),
    /// A quoted text, without its quotes and with its escapes resolved.
    Quoted(String),
    /// `!name`.
    Variable(String),
    /// `(`, `)`, `[`, `]`, `{`, `}` or `,`.
    Symbol(char),
    /// `=`, `!=`, `<`, `<=`, `>`, `>=`.
    Operator(&'static str),
    /// A quoted text that does not end, or a character that begins nothing.
    Invalid(&'static str),
    /// The end of the text.
    End,
}

/// A token and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lexeme {
    pub(crate) token: Token,
    /// Where, in bytes.
    pub(crate) span: Range<usize>,
}

impl Lexeme {
    /// The token for an error message.
    pub(crate) fn describe(&self) -> String {
        match &self.token {
            Token::Word(text) | Token::Quoted(text) => format!("\"{text}\""),
            Token::Variable(name) => format!("\"!{name}\""),
            Token::Symbol(symbol) => format!("\"{symbol}\""),
            Token::Operator(operator) => format!("\"{operator}\""),
            Token::Invalid(reason) => (*reason).to_string(),
            Token::End => "the end of the command".into(),
        }
    }
}

/// The token at or after `offset`, white space and comments left out.
pub(crate) fn lexeme_at(source: &str, offset: usize) -> Lexeme {
    let start = skip_blank(source, offset);
    let rest = source.get(start..).unwrap_or_default();
    let (token, length) = token(rest);
    Lexeme { token, span: start..start + length }
}

/// Where the next token begins: white space is skipped, and `#` to the end of its line.
pub(crate) fn skip_blank(source: &str, offset: usize) -> usize {
    let mut at = offset;
    loop {
        let rest = source.get(at..).unwrap_or_default();
        let blank = rest.len() - rest.trim_start().len();
        at += blank;
        let rest = rest.get(blank..).unwrap_or_default();
        if !rest.starts_with('#') {
            return at;
        }
        at += rest.find('\n').unwrap_or(rest.len());
    }
}

fn token(rest: &str) -> (Token, usize) {
    let Some(first) = rest.chars().next() else { return (Token::End, 0) };
    match first {
        '"' | '\'' => quoted(rest, first),
        '(' | ')' | '[' | ']' | '{' | '}' | ',' => (Token::Symbol(first), first.len_utf8()),
        '=' if rest.starts_with("==") => (Token::Operator("="), 2),
        '=' => (Token::Operator("="), 1),
        '!' if rest.starts_with("!=") => (Token::Operator("!="), 2),
        '!' => variable(rest),
        '<' if rest.starts_with("<=") => (Token::Operator("<="), 2),
        '<' if rest.starts_with("<>") => (Token::Operator("!="), 2),
        '<' => (Token::Operator("<"), 1),
        '>' if rest.starts_with(">=") => (Token::Operator(">="), 2),
        '>' => (Token::Operator(">"), 1),
        _ => {
            let length = word_length(rest);
            (Token::Word(rest.get(..length).unwrap_or_default().to_owned()), length)
        }
    }
}

fn word_length(rest: &str) -> usize {
    rest.find(|c: char| c.is_whitespace() || ENDS_WORD.contains(&c)).unwrap_or(rest.len())
}

fn variable(rest: &str) -> (Token, usize) {
    let name = rest.get(1..).unwrap_or_default();
    match name.find(|c: char| !is_name_character(c)).unwrap_or(name.len()) {
        0 => (Token::Invalid("a \"!\" without a variable's name"), 1),
        length => (Token::Variable(name.get(..length).unwrap_or_default().to_owned()), length + 1),
    }
}

fn quoted(rest: &str, quote: char) -> (Token, usize) {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            c if c == quote => return (Token::Quoted(text), at + c.len_utf8()),
            '\\' => match characters.next() {
                Some((_, escaped)) => push_escaped(&mut text, escaped),
                None => break,
            },
            c => text.push(c),
        }
    }
    (Token::Invalid("a quoted text that does not end"), rest.len())
}

/// `\n`, `\t`, `\r` are control characters; `\"`, `\'`, `\\` the character itself; any other
/// backslash is only a backslash, as in a path.
fn push_escaped(text: &mut String, escaped: char) {
    match escaped {
        'n' => text.push('\n'),
        't' => text.push('\t'),
        'r' => text.push('\r'),
        '"' | '\'' | '\\' => text.push(escaped),
        other => text.extend(['\\', other]),
    }
}

/// Whether a variable's name may have the character.
pub(crate) fn is_name_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a text can be written as a bare word and is read back as the same word.
pub(crate) fn is_bare_word(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('#') && word_length(text) == text.len()
}

/// A text in quotes, as the lexer reads it back.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// A text as a bare word where that is possible, else in quotes.
pub(crate) fn word_or_quote(text: &str) -> String {
    if is_bare_word(text) { text.to_owned() } else { quote(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(source: &str) -> Vec<Token> {
        let mut at = 0;
        std::iter::from_fn(|| {
            let lexeme = lexeme_at(source, at);
            at = lexeme.span.end;
            (lexeme.token != Token::End).then_some(lexeme.token)
        })
        .collect()
    }

    fn word(text: &str) -> Token {
        Token::Word(text.into())
    }

    #[test]
    fn words_values_and_operators_come_apart_without_spaces() {
        assert_eq!(
            tokens("table[dbms]=\"a b\" and port>=!p"),
            [
                word("table"),
                Token::Symbol('['),
                word("dbms"),
                Token::Symbol(']'),
                Token::Operator("="),
                Token::Quoted("a b".into()),
                word("and"),
                word("port"),
                Token::Operator(">="),
                Token::Variable("p".into()),
            ]
        );
    }

    #[test]
    fn comments_and_white_space_count_for_nothing() {
        assert_eq!(tokens("get # all of it\n  status # now"), [word("get"), word("status")]);
        assert_eq!(tokens("  \n\t "), []);
    }

    #[test]
    fn escapes_are_resolved_and_paths_keep_their_backslashes() {
        assert_eq!(tokens(r#""a\"b\n""#), [Token::Quoted("a\"b\n".into())]);
        assert_eq!(tokens(r#""C:\dir\x""#), [Token::Quoted(r"C:\dir\x".into())]);
    }

    #[test]
    fn what_begins_nothing_is_invalid_and_not_skipped() {
        assert!(matches!(tokens("'abc").as_slice(), [Token::Invalid(_)]));
        assert!(matches!(tokens("! x").as_slice(), [Token::Invalid(_), Token::Word(_)]));
    }
}
