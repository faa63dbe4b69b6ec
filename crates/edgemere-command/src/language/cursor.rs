//! The cursor that commands are parsed with: it stands at a place in the text, takes what is
//! expected there, and says what was expected when something else stands there.

use std::ops::Range;

use super::json;
use super::lexer::{Lexeme, Token, lexeme_at, skip_blank};
use super::term::Term;
use crate::error::{Error, Span};
use crate::near;

/// A place in a command's text.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    source: &'a str,
    offset: usize,
    depth: usize,
}

/// How deep commands, conditions and JSON may be nested in a command. It keeps hostile text from
/// exhausting the stack.
const DEPTH_MAX: usize = 64;

impl<'a> Cursor<'a> {
    /// A cursor at the beginning of the text.
    pub(crate) fn new(source: &'a str) -> Self {
        Self { source, offset: 0, depth: 0 }
    }

    /// The next token, without taking it.
    pub(crate) fn peek(&self) -> Lexeme {
        lexeme_at(self.source, self.offset)
    }

    /// Takes the next token.
    pub(crate) fn take(&mut self) -> Lexeme {
        let lexeme = self.peek();
        self.offset = lexeme.span.end;
        lexeme
    }

    /// Takes all of the text that is left, without the white space around it.
    pub(crate) fn take_rest(&mut self) -> &'a str {
        let start = skip_blank(self.source, self.offset);
        self.offset = self.source.len();
        self.source.get(start..).unwrap_or_default().trim_end()
    }

    /// The whole text and where in it the cursor stands.
    pub(crate) fn source(&self) -> (&'a str, usize) {
        (self.source, skip_blank(self.source, self.offset))
    }

    /// Moves on to a place that somebody else read to.
    pub(crate) fn advance_to(&mut self, offset: usize) {
        self.offset = offset;
    }

    /// Whether the next token follows the last without a space.
    pub(crate) fn is_adjacent(&self) -> bool {
        self.peek().span.start == self.offset
    }

    /// Whether nothing is left.
    pub(crate) fn at_end(&self) -> bool {
        self.peek().token == Token::End
    }

    /// The next token as a keyword, in lower case, without taking it.
    pub(crate) fn peek_keyword(&self) -> Option<String> {
        match self.peek().token {
            Token::Word(word) => Some(word.to_lowercase()),
            _ => None,
        }
    }

    /// Takes a keyword if it is next.
    pub(crate) fn keyword(&mut self, keyword: &str) -> bool {
        let is_next = self.peek_keyword().as_deref() == Some(keyword);
        if is_next {
            self.take();
        }
        is_next
    }

    /// Takes a keyword that must be next.
    pub(crate) fn expect_keyword(&mut self, keyword: &str) -> Result<(), Error> {
        if self.keyword(keyword) {
            return Ok(());
        }
        let hint = match self.peek().token {
            Token::Word(word) => near::hint(&word, [keyword]),
            _ => None,
        };
        Err(self.expected_with_hint(&format!("\"{keyword}\""), hint))
    }

    /// Takes a symbol if it is next.
    pub(crate) fn symbol(&mut self, symbol: char) -> bool {
        let is_next = self.peek().token == Token::Symbol(symbol);
        if is_next {
            self.take();
        }
        is_next
    }

    /// Takes a symbol that must be next.
    pub(crate) fn expect_symbol(&mut self, symbol: char) -> Result<(), Error> {
        if self.symbol(symbol) { Ok(()) } else { Err(self.expected(&format!("\"{symbol}\""))) }
    }

    /// Takes an operator if it is next.
    pub(crate) fn operator(&mut self, operator: &str) -> bool {
        let is_next = matches!(self.peek().token, Token::Operator(next) if next == operator);
        if is_next {
            self.take();
        }
        is_next
    }

    /// Takes an operator that must be next.
    pub(crate) fn expect_operator(&mut self, operator: &str) -> Result<(), Error> {
        if self.operator(operator) {
            Ok(())
        } else {
            Err(self.expected(&format!("\"{operator}\"")))
        }
    }

    /// Takes a name: a bare word or a quoted text.
    pub(crate) fn name(&mut self, what: &str) -> Result<String, Error> {
        match self.peek().token {
            Token::Word(name) | Token::Quoted(name) => {
                self.take();
                Ok(name)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// Takes a value: a bare word, a quoted text, a variable or JSON.
    pub(crate) fn term(&mut self, what: &str) -> Result<Term, Error> {
        let lexeme = self.peek();
        let term = match lexeme.token {
            Token::Word(word) => Term::Word(word),
            Token::Quoted(text) => Term::Quoted(text),
            Token::Variable(name) => Term::Variable(name),
            Token::Symbol('{' | '[') => return json::parse(self).map(Term::Json),
            _ => return Err(self.expected(what)),
        };
        self.take();
        Ok(term)
    }

    /// Fails unless everything was taken.
    pub(crate) fn end(&self) -> Result<(), Error> {
        if self.at_end() { Ok(()) } else { Err(self.expected("the end of the command")) }
    }

    /// Goes one level deeper while `parse` runs.
    pub(crate) fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.depth == DEPTH_MAX {
            return Err(Error::Limit { what: "the nesting of the command", limit: DEPTH_MAX });
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// The error that something else was expected here.
    pub(crate) fn expected(&self, expected: &str) -> Error {
        self.expected_with_hint(expected, None)
    }

    /// The error that something else was expected here, with a next step.
    pub(crate) fn expected_with_hint(&self, expected: &str, hint: Option<String>) -> Error {
        let lexeme = self.peek();
        let found = lexeme.describe();
        let at = self.characters(&lexeme.span);
        Error::Syntax { expected: expected.into(), found, at, hint }
    }

    /// A place in bytes as one in characters, of at least one, so that the end can be pointed at.
    pub(crate) fn characters(&self, bytes: &Range<usize>) -> Span {
        let count =
            |range: Range<usize>| self.source.get(range).unwrap_or_default().chars().count();
        let start = count(0..bytes.start);
        start..start + count(bytes.clone()).max(1)
    }
}
