//! Why an input as a whole is refused.

use arrow::error::ArrowError;

/// An error of an input.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing but white space.
    #[error("the input is empty")]
    Empty,
    /// The bytes are not text.
    #[error("the input is not UTF-8 at line {line}, column {column}")]
    NotUtf8 {
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
    },
    /// The text is not JSON, or ends too early.
    #[error("the input is not JSON: {reason} at line {line}, column {column}")]
    Json {
        /// What was expected or is wrong.
        reason: &'static str,
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
    },
    /// A quoted field of a CSV ends with the input.
    #[error("the quote at line {line}, column {column} is never closed")]
    OpenQuote {
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
    },
    /// A column's name is not one.
    #[error("column {position} has the name \"{name}\": {reason}")]
    Name {
        /// The position of the column, from 1.
        position: usize,
        /// The name as it was given.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Two columns become one when their names are made plain.
    #[error("the columns \"{first}\" and \"{second}\" have the same name")]
    SameName {
        /// The name of the first, as it was given.
        first: String,
        /// The name of the second, as it was given.
        second: String,
    },
    /// There is more than a limit allows.
    #[error("the input has more than {limit} {what}")]
    TooLarge {
        /// What there is too much of, in the plural.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The bytes are not an Arrow IPC stream, or not all of one.
    #[error("the input is not an Arrow stream: {reason}")]
    Arrow {
        /// What the reader says.
        reason: String,
    },
    /// A column of an Arrow stream has a type, or values, that no column of a table can hold.
    #[error("the column \"{column}\" cannot be stored: {reason}")]
    Column {
        /// The column.
        column: String,
        /// What is in the way.
        reason: String,
    },
    /// The rows did not fit together, which is a mistake of this module.
    #[error("the rows cannot be put together")]
    Batch(#[source] ArrowError),
}

impl Error {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Empty => Some("send a list of objects, an object, or an object a line"),
            Self::TooLarge { .. } => Some("send the rows in several parts"),
            Self::SameName { .. } | Self::Name { .. } => Some("rename the column"),
            Self::Column { .. } => Some("cast the column, to text for instance, before sending"),
            _ => None,
        }
    }

    pub(super) fn too_large(what: &'static str, limit: usize) -> Self {
        Self::TooLarge { what, limit }
    }

    pub(super) fn not_utf8(bytes: &[u8], at: usize) -> Self {
        let (line, column) = position(bytes, at);
        Self::NotUtf8 { line, column }
    }

    pub(super) fn json(text: &str, at: usize, reason: &'static str) -> Self {
        let (line, column) = position(text.as_bytes(), at);
        Self::Json { reason, line, column }
    }

    pub(super) fn open_quote(text: &str, at: usize) -> Self {
        let (line, column) = position(text.as_bytes(), at);
        Self::OpenQuote { line, column }
    }
}

/// The line and the column in bytes, both from 1, of an offset.
pub(super) fn position(bytes: &[u8], at: usize) -> (usize, usize) {
    let before = bytes.get(..at).unwrap_or(bytes);
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_from_one() {
        for (at, expected) in [(0, (1, 1)), (1, (1, 2)), (2, (2, 1)), (4, (3, 1)), (9, (3, 2))] {
            assert_eq!(position(b"a\nb\nc", at), expected, "{at}");
        }
    }
}
