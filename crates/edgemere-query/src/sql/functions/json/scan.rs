//! JSON in its text: values are found by reading over the text once, and are given as they stand in
//! it. Numbers keep all of their digits, and nothing is built in memory.

/// How deep arrays and objects may stand in each other.
const DEPTH_MAX: usize = 128;

/// A value of valid JSON, as it stands in the text, without the blanks around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Json<'a>(&'a str);

/// What kind of value it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Number,
    Boolean,
    Null,
}

impl<'a> Json<'a> {
    /// The value that a text is; none when it is not JSON.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let mut scanner = Scanner { text, at: 0 };
        scanner.blanks();
        let value = scanner.value(0)?;
        scanner.blanks();
        (scanner.at == text.len()).then_some(value)
    }

    /// The value as it stands in the text.
    pub(super) fn text(self) -> &'a str {
        self.0
    }

    pub(super) fn kind(self) -> Kind {
        match self.0.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// The text that a string stands for. None for other values, and for what is half of a character.
    pub(super) fn string(self) -> Option<String> {
        let inner = self.0.strip_prefix('"')?.strip_suffix('"')?;
        match inner.contains('\\') {
            true => serde_json::from_str(self.0).ok(),
            false => Some(inner.to_owned()),
        }
    }

    /// The elements of an array; none for other values.
    pub(super) fn elements(self) -> Option<Elements<'a>> {
        (self.kind() == Kind::Array)
            .then_some(Elements { scanner: Scanner { text: self.0, at: 1 }, is_first: true })
    }

    /// The keys and values of an object in their order; none for other values.
    pub(super) fn entries(self) -> Option<Entries<'a>> {
        (self.kind() == Kind::Object)
            .then_some(Entries { scanner: Scanner { text: self.0, at: 1 }, is_first: true })
    }

    /// The value of a key; the last one when the key is there several times.
    pub(super) fn field(self, key: &str) -> Option<Self> {
        let is_key = |name: &Json<'_>| match name.0.contains('\\') {
            true => name.string().is_some_and(|name| name == key),
            false => name.0.strip_prefix('"').and_then(|name| name.strip_suffix('"')) == Some(key),
        };
        let same = self.entries()?.filter(|(name, _)| is_key(name));
        same.last().map(|(_, value)| value)
    }

    /// The element at a place from 0; from the end when the place is negative.
    pub(super) fn element(self, place: i64) -> Option<Self> {
        let place = match usize::try_from(place) {
            Ok(place) => place,
            Err(_) => {
                let back = usize::try_from(place.unsigned_abs()).ok()?;
                self.elements()?.count().checked_sub(back)?
            }
        };
        self.elements()?.nth(place)
    }
}

/// The elements of an array.
#[derive(Debug)]
pub(super) struct Elements<'a> {
    scanner: Scanner<'a>,
    is_first: bool,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Json<'a>;

    fn next(&mut self) -> Option<Json<'a>> {
        self.scanner.next_item(&mut self.is_first)?;
        self.scanner.value(0)
    }
}

/// The keys and values of an object.
#[derive(Debug)]
pub(super) struct Entries<'a> {
    scanner: Scanner<'a>,
    is_first: bool,
}

impl<'a> Iterator for Entries<'a> {
    type Item = (Json<'a>, Json<'a>);

    fn next(&mut self) -> Option<(Json<'a>, Json<'a>)> {
        self.scanner.next_item(&mut self.is_first)?;
        self.scanner.entry(0)
    }
}

#[derive(Debug)]
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes over a byte, which must be there.
    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Goes to the next element of an array or an object whose text is valid; none at its end.
    fn next_item(&mut self, is_first: &mut bool) -> Option<()> {
        self.blanks();
        if matches!(self.peek(), None | Some(b']' | b'}')) {
            return None;
        }
        if !std::mem::take(is_first) {
            self.expect(b',')?;
            self.blanks();
        }
        Some(())
    }

    /// Goes over a value.
    fn value(&mut self, depth: usize) -> Option<Json<'a>> {
        let from = self.at;
        match self.peek()? {
            b'{' => self.nested(b'}', depth, |scanner| scanner.entry(depth + 1).map(drop))?,
            b'[' => self.nested(b']', depth, |scanner| scanner.value(depth + 1).map(drop))?,
            b'"' => self.string()?,
            b't' => self.word("true")?,
            b'f' => self.word("false")?,
            b'n' => self.word("null")?,
            _ => self.number()?,
        }
        self.text.get(from..self.at).map(Json)
    }

    /// A key, a colon and a value.
    fn entry(&mut self, depth: usize) -> Option<(Json<'a>, Json<'a>)> {
        let from = self.at;
        self.string()?;
        let key = self.text.get(from..self.at).map(Json)?;
        self.blanks();
        self.expect(b':')?;
        self.blanks();
        Some((key, self.value(depth)?))
    }

    fn nested(
        &mut self,
        end: u8,
        depth: usize,
        item: impl Fn(&mut Self) -> Option<()>,
    ) -> Option<()> {
        if depth == DEPTH_MAX {
            return None;
        }
        self.at += 1;
        self.blanks();
        if self.expect(end).is_some() {
            return Some(());
        }
        loop {
            item(self)?;
            self.blanks();
            if self.expect(end).is_some() {
                return Some(());
            }
            self.expect(b',')?;
            self.blanks();
        }
    }

    fn string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b'"' => return Some(()),
                b'\\' => self.escape()?,
                0..=0x1f => return None,
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => {
                let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
                self.at += 4;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(())
            }
            _ => None,
        }
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.text.get(self.at..)?.starts_with(word).then(|| self.at += word.len())
    }

    fn number(&mut self) -> Option<()> {
        let _ = self.expect(b'-');
        match self.peek()? {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits()?,
            _ => return None,
        }
        if self.expect(b'.').is_some() {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    /// One digit or more.
    fn digits(&mut self) -> Option<()> {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        (self.at > from).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_found_as_they_stand_in_the_text() {
        let json = Json::of(r#" {"a": [1, 2.50, {"b\u0041": "x\ny"}], "a2": 1e400, "é": null} "#);
        let json = json.unwrap();
        assert_eq!(json.field("a").unwrap().element(1).unwrap().text(), "2.50");
        let nested = json.field("a").unwrap().element(-1).unwrap();
        assert_eq!(nested.field("bA").unwrap().string().unwrap(), "x\ny");
        assert_eq!(json.field("a2").unwrap().text(), "1e400");
        assert_eq!(json.field("é").unwrap().kind(), Kind::Null);
        assert_eq!(json.field("a").unwrap().element(-4), None);
        assert_eq!(json.field("a").unwrap().element(i64::MIN), None);
        assert_eq!(json.element(0), None);
        assert_eq!(Json::of("[1]").unwrap().field("0"), None);
    }

    #[test]
    fn the_last_of_several_keys_counts() {
        assert_eq!(Json::of(r#"{"a":1,"a":2}"#).unwrap().field("a").unwrap().text(), "2");
    }

    #[test]
    fn what_is_nested_too_deeply_is_no_json() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Json::of(&nested(DEPTH_MAX)).is_some());
        assert_eq!(Json::of(&nested(DEPTH_MAX + 1)), None);
        assert_eq!(Json::of(&"[".repeat(1_000_000)), None);
    }

    proptest! {
        /// What serde_json reads is what is read here, and nothing else. It refuses numbers that no
        /// f64 holds, and halves of characters; both are distinguished by the test's alphabet.
        #[test]
        fn json_is_what_another_reader_takes_for_json(text in r#"[\[\]{}:,"a0-2.eE+\\ntrufalse -]{0,12}"#) {
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            prop_assert_eq!(Json::of(&text).is_some(), theirs.is_ok(), "{}", text);
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in any::<String>()) {
            let _ = Json::of(&text);
        }
    }
}
