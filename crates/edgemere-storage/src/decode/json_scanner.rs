//! Reads JSON text piece by piece, without making values of it.
//!
//! It takes what RFC 8259 takes and, as serde_json, refuses half a surrogate pair and nesting
//! beyond [`DEPTH_MAX`]. Numbers keep their text, so that none loses digits.

use super::cell::{self, Cell};

/// How deep lists and objects may nest.
pub const DEPTH_MAX: usize = 128;

/// Where the text is not JSON, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The offset in bytes.
    pub(super) at: usize,
    /// What was expected or is wrong.
    pub(super) reason: &'static str,
}

/// A position in JSON text.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Begins at an offset.
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    /// The offset.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next byte that is not white space, which stays the next one.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.byte() {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Steps over a byte, after white space, if it is the next one.
    pub(super) fn take(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    /// Steps over a byte, after white space, that must be the next one.
    pub(super) fn expect(&mut self, wanted: u8, reason: &'static str) -> Result<(), Fault> {
        if self.take(wanted) { Ok(()) } else { self.fail(reason) }
    }

    /// Makes sure that nothing follows.
    pub(super) fn end(&mut self) -> Result<(), Fault> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.fail("unexpected text after the value"),
        }
    }

    /// The next value.
    pub(super) fn value(&mut self) -> Result<Cell<'a>, Fault> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Cell::Bool(true)),
            Some(b'f') => self.word("false", Cell::Bool(false)),
            Some(b'n') => self.word("null", Cell::Null),
            Some(b'{' | b'[') => {
                let start = self.at;
                self.nested(1)?;
                Ok(Cell::Nested(self.since(start)))
            }
            _ => self.fail("expected a value"),
        }
    }

    /// The next string: its text if it has no escapes, otherwise as it stands.
    pub(super) fn string(&mut self) -> Result<Cell<'a>, Fault> {
        self.expect(b'"', "expected a text in quotes")?;
        let start = self.at;
        let mut escapes = false;
        loop {
            self.at += plain_length(self.text.as_bytes().get(self.at..).unwrap_or_default());
            match self.byte() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(_) => return self.fail("a control character must be escaped"),
                None => return self.fail("the input ends in a text"),
            }
            escapes = true;
        }
        let raw = self.since(start);
        self.at += 1;
        Ok(if escapes { Cell::Escaped(raw) } else { Cell::Text(raw) })
    }

    fn escape(&mut self) -> Result<(), Fault> {
        self.at += 1;
        match self.byte() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                let first = self.code()?;
                if (0xDC00..=0xDFFF).contains(&first) {
                    return self.fail("half of a surrogate pair");
                }
                if (0xD800..=0xDBFF).contains(&first) {
                    return self.low_surrogate();
                }
            }
            _ => return self.fail("not an escape"),
        }
        Ok(())
    }

    fn low_surrogate(&mut self) -> Result<(), Fault> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if !rest.starts_with("\\u") {
            return self.fail("half of a surrogate pair");
        }
        self.at += 2;
        match self.code()? {
            0xDC00..=0xDFFF => Ok(()),
            _ => self.fail("half of a surrogate pair"),
        }
    }

    fn code(&mut self) -> Result<u32, Fault> {
        let digits = self.text.get(self.at..self.at + 4).unwrap_or_default();
        if digits.len() < 4 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return self.fail("expected four hexadecimal digits");
        }
        self.at += 4;
        Ok(cell::code(digits))
    }

    /// The next number.
    pub(super) fn number(&mut self) -> Result<Cell<'a>, Fault> {
        let start = self.at;
        self.at += usize::from(self.byte() == Some(b'-'));
        let leading_zero = self.byte() == Some(b'0');
        if self.digits()? > 1 && leading_zero {
            return self.fail("a number with a leading zero");
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(Cell::Number(self.since(start)))
    }

    /// Steps over at least one digit.
    fn digits(&mut self) -> Result<usize, Fault> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { self.fail("expected a digit") } else { Ok(count) }
    }

    fn word(&mut self, word: &str, cell: Cell<'a>) -> Result<Cell<'a>, Fault> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return self.fail("expected a value");
        }
        self.at += word.len();
        Ok(cell)
    }

    fn nested(&mut self, depth: usize) -> Result<(), Fault> {
        if depth > DEPTH_MAX {
            return self.fail("lists and objects nest too deep");
        }
        if self.take(b'[') {
            return self.items(b']', "expected \",\" or \"]\"", |scanner| scanner.inner(depth));
        }
        self.expect(b'{', "expected a value")?;
        self.items(b'}', "expected \",\" or \"}\"", |scanner| {
            scanner.string()?;
            scanner.expect(b':', "expected \":\"")?;
            scanner.inner(depth)
        })
    }

    fn inner(&mut self, depth: usize) -> Result<(), Fault> {
        match self.peek() {
            Some(b'{' | b'[') => self.nested(depth + 1),
            _ => self.value().map(drop),
        }
    }

    /// Reads items with commas between them up to the closing byte.
    pub(super) fn items<E: From<Fault>>(
        &mut self,
        close: u8,
        reason: &'static str,
        mut item: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.take(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.take(close) {
                return Ok(());
            }
            self.expect(b',', reason)?;
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn fail<T>(&self, reason: &'static str) -> Result<T, Fault> {
        let reason = if self.at >= self.text.len() { "the input ends too early" } else { reason };
        Err(Fault { at: self.at.min(self.text.len()), reason })
    }
}

/// How many bytes stand for themselves in a string.
fn plain_length(bytes: &[u8]) -> usize {
    let special = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < 0x20;
    bytes.iter().position(special).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn scan(text: &str) -> Result<Cell<'_>, Fault> {
        let mut scanner = Scanner::new(text, 0);
        let cell = scanner.value()?;
        scanner.end().map(|()| cell)
    }

    #[test]
    fn values_keep_their_text() {
        for (text, cell) in [
            ("null", Cell::Null),
            (" true ", Cell::Bool(true)),
            ("-0.50e+7", Cell::Number("-0.50e+7")),
            ("123456789012345678901234567890", Cell::Number("123456789012345678901234567890")),
            ("\"a'é😀\"", Cell::Text("a'é😀")),
            (r#""a\"b""#, Cell::Escaped(r#"a\"b"#)),
            ("{\"a\" : [1]}", Cell::Nested("{\"a\" : [1]}")),
        ] {
            assert_eq!(scan(text), Ok(cell), "{text}");
        }
    }

    #[test]
    fn faults_say_where() {
        for (text, at, reason) in [
            ("[1,]", 3, "expected a value"),
            ("[1 2]", 3, "expected \",\" or \"]\""),
            ("{\"a\" 1}", 5, "expected \":\""),
            ("{a:1}", 1, "expected a text in quotes"),
            ("01", 2, "the input ends too early"),
            ("01 ", 2, "a number with a leading zero"),
            ("\"a\nb\"", 2, "a control character must be escaped"),
            (r#""\x""#, 2, "not an escape"),
            (r#""\ud800 ""#, 7, "half of a surrogate pair"),
            ("{\"a\":", 5, "the input ends too early"),
            ("1 x", 2, "unexpected text after the value"),
        ] {
            assert_eq!(scan(text), Err(Fault { at, reason }), "{text}");
        }
    }

    #[test]
    fn depth_is_limited() {
        let nest = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(scan(&nest(DEPTH_MAX)).is_ok());
        assert!(scan(&nest(DEPTH_MAX + 1)).is_err());
        assert!(scan(&"[{\"a\":".repeat(100_000)).is_err());
    }

    proptest! {
        /// The scanner takes what serde_json takes, except numbers that are too large for it.
        #[test]
        fn agrees_with_serde(text in r#"[\[\]{}",:\\0-9eE+.u a-f\-truefalsn\t\n]{0,24}"#) {
            let ours = scan(&text);
            match serde_json::from_str::<Value>(&text) {
                Ok(_) => prop_assert!(ours.is_ok(), "{text}: {ours:?}"),
                Err(error) if error.to_string().contains("out of range") => {}
                Err(error) => prop_assert!(ours.is_err(), "{text}: {error}"),
            }
        }

        #[test]
        fn strings_agree_with_serde(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(scan(&json).unwrap().text().unwrap(), text);
        }
    }
}
