//! A value of the input before it has a type: what it looks like, and where its text is.
//!
//! A cell points into the input and is cheap to copy. Escapes are resolved when the text is asked
//! for, which is once for most values.

use std::borrow::Cow;

/// A value of the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    /// The row has no such key.
    Missing,
    /// A null, or an empty field.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, by its own text.
    Number(&'a str),
    /// A text as it stands in the input.
    Text(&'a str),
    /// A JSON text with escapes, which the scanner has checked.
    Escaped(&'a str),
    /// A CSV text with doubled quotes.
    Doubled(&'a str),
    /// A list or an object, by its JSON text.
    Nested(&'a str),
}

impl<'a> Cell<'a> {
    /// The text of a text cell.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(Cow::Borrowed(text)),
            Self::Escaped(raw) => Some(Cow::Owned(unescape(raw))),
            Self::Doubled(raw) => Some(Cow::Owned(raw.replace("\"\"", "\""))),
            _ => None,
        }
    }

    /// What a text column keeps of the cell.
    pub(super) fn kept(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Missing | Self::Null => None,
            Self::Bool(flag) => Some(Cow::Borrowed(if flag { "true" } else { "false" })),
            Self::Number(text) => Some(Cow::Borrowed(text)),
            Self::Nested(json) => Some(Cow::Owned(compact(json))),
            Self::Text(_) | Self::Escaped(_) | Self::Doubled(_) => self.text(),
        }
    }
}

/// Resolves the escapes of a JSON text. The scanner lets no other escapes through.
pub(super) fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let (char, tail) = escaped(after);
        text.push(char);
        rest = tail;
    }
    text.push_str(rest);
    text
}

/// The character of an escape, and what comes after it.
fn escaped(after: &str) -> (char, &str) {
    let mut chars = after.chars();
    let char = match chars.next() {
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('u') => return unicode(chars.as_str()),
        Some(char) => char,
        None => char::REPLACEMENT_CHARACTER,
    };
    (char, chars.as_str())
}

/// The character of four hexadecimal digits, or of two such escapes that make a pair.
fn unicode(after: &str) -> (char, &str) {
    let (first, rest) = (code(after), after.get(4..).unwrap_or_default());
    if let Some(char) = char::from_u32(first) {
        return (char, rest);
    }
    let second = code(rest.get(2..).unwrap_or_default());
    let char = char::decode_utf16([first, second].map(|code| u16::try_from(code).unwrap_or(0)));
    let char = char.flatten().next().unwrap_or(char::REPLACEMENT_CHARACTER);
    (char, rest.get(6..).unwrap_or_default())
}

/// The number of the four hexadecimal digits at the beginning.
pub(super) fn code(digits: &str) -> u32 {
    digits.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0xD800)
}

/// JSON without the white space between its parts.
pub(super) fn compact(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    // Every second part between quotes is inside a string; an escaped quote does not end one.
    let mut rest = json;
    while let Some((outside, after)) = rest.split_once('"') {
        push_without_space(&mut text, outside);
        let length = string_length(after);
        let (string, tail) = after.split_at_checked(length).unwrap_or((after, ""));
        text.push('"');
        text.push_str(string);
        text.push('"');
        rest = tail.strip_prefix('"').unwrap_or(tail);
    }
    push_without_space(&mut text, rest);
    text
}

fn push_without_space(text: &mut String, part: &str) {
    text.extend(part.chars().filter(|char| !matches!(char, ' ' | '\t' | '\n' | '\r')));
}

/// The length in bytes of a string whose opening quote is behind.
fn string_length(after: &str) -> usize {
    let mut escaped = false;
    let ends = |byte: u8| {
        let end = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        end
    };
    after.bytes().position(ends).unwrap_or(after.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved() {
        for (raw, text) in [
            ("", ""),
            (r"a\nb", "a\nb"),
            (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r"\u00e9\u0000", "é\0"),
            (r"x\ud83d\ude00y", "x😀y"),
            (r"\\u0041", "\\u0041"),
            ("😀", "😀"),
        ] {
            assert_eq!(unescape(raw), text, "{raw}");
        }
    }

    #[test]
    fn json_is_made_compact() {
        for (json, expected) in [
            ("{ \"a\" : [ 1 ,\n 2 ] }", r#"{"a":[1,2]}"#),
            (r#"{"a b": "c  \" d", "e": 1.50}"#, r#"{"a b":"c  \" d","e":1.50}"#),
            (r#"["\\", "x y"]"#, r#"["\\","x y"]"#),
            ("[ ]", "[]"),
        ] {
            assert_eq!(compact(json), expected);
        }
    }

    #[test]
    fn text_columns_keep_everything() {
        for (cell, kept) in [
            (Cell::Missing, None),
            (Cell::Null, None),
            (Cell::Bool(true), Some("true")),
            (Cell::Number("1.50"), Some("1.50")),
            (Cell::Text("a"), Some("a")),
            (Cell::Escaped(r"\t"), Some("\t")),
            (Cell::Doubled("a\"\"b"), Some("a\"b")),
            (Cell::Nested("[ 1 ]"), Some("[1]")),
        ] {
            assert_eq!(cell.kept().as_deref(), kept);
        }
    }
}
