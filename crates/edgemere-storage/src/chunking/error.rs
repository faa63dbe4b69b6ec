//! Why a file cannot be cut into pieces, with the line.

use std::io;

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot be read")]
    Io(#[source] io::Error),
    /// The bytes are not text.
    #[error("not UTF-8 at line {line}, column {column}")]
    NotUtf8 {
        /// The line, from 1.
        line: u64,
        /// The column in bytes, from 1.
        column: u64,
    },
    /// The text is not JSON, or ends too early.
    #[error("not JSON at line {line}, column {column}: {reason}")]
    Json {
        /// What was expected or is wrong.
        reason: &'static str,
        /// The line, from 1.
        line: u64,
        /// The column in bytes, from 1.
        column: u64,
    },
    /// A quoted field of a CSV ends with the file.
    #[error("a quote in the row at line {line} is never closed")]
    OpenQuote {
        /// The line that the row begins in, from 1.
        line: u64,
    },
    /// A row is too long to be one.
    #[error("the row at line {line} is longer than {} MiB", limit >> 20)]
    TooLong {
        /// The line that it begins in, from 1.
        line: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// The bytes are not Parquet, or damaged.
    #[error("not Parquet that can be read: {reason}")]
    Parquet {
        /// What the reader says.
        reason: String,
    },
    /// A column has a type, or values, that no table can hold.
    #[error("the column \"{column}\" cannot be stored: {reason}")]
    Column {
        /// The column.
        column: String,
        /// What is in the way.
        reason: String,
    },
}

impl Error {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotUtf8 { .. } => Some("convert it first: iconv -f LATIN1 -t UTF-8 FILE"),
            Self::Json { .. } => {
                Some("if it has an object a line, --format ndjson leaves out the bad lines only")
            }
            Self::TooLong { .. } => Some("is there a quote or a bracket that is never closed?"),
            Self::Column { .. } => Some("cast the column, to text for instance, before importing"),
            _ => None,
        }
    }
}
