//! Ingest: bytes in, typed rows and rejected rows out. It knows no HTTP and no storage.
//!
//! 1. `json` (with `scan`), `csv` and `stream` read the input. Text becomes cells that point
//!    into the input; nothing is copied yet.
//! 2. `keys` and `names` say which column a key belongs to, and `rows` gathers the cells by column.
//! 3. The columns of a known table are made into arrays by `convert`, for which `number` and `time`
//!    read texts. A value that does not fit rejects its row, and only that.
//! 4. The columns that are new get a type from all the rows that are left, in `infer`, and are
//!    made into arrays too.
//! 5. `verdicts` takes the rejected rows out and keeps what is to be said about them.
//!
//! No row is lost unnoticed: `accepted` and `rejected_total` add up to the rows of the input. The
//! input as a whole is refused only when it cannot be read.
//!
//! # Rules
//! - **Names** are trimmed and in lower case; what is not a letter, a digit or `_` becomes `_`. Two
//!   keys of one object that become the same name reject the row; in a CSV header or an Arrow schema
//!   they refuse the input. The same key twice in one object: the last one holds.
//! - **System columns** in the input, from rows that were read before, are left out and listed.
//! - **Types of new columns**, from all rows: see `infer`. **Values of known columns**: see
//!   `convert`.
//! - Times are kept in UTC and in microseconds; more digits of a fraction are cut off.
//! - A new column that only rejected rows have is not added.

mod cell;
mod convert;
mod csv;
mod error;
mod infer;
mod json;
mod keys;
mod lengths;
mod limits;
mod names;
mod number;
mod rows;
mod scan;
mod stream;
mod time;
mod verdicts;

use arrow::array::RecordBatch;

use crate::schema::{Column, Schema};

pub use error::Error;
pub use infer::CHAR_LENGTH_MAX;
pub(crate) use lengths::{Body, check_message, is_compressed};
pub use limits::Limits;
pub use scan::DEPTH_MAX;
pub use verdicts::{Rejected, VALUE_CHARS_MAX};

/// What the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A list of objects, one object, or an object a line: told apart by how the text begins.
    Json,
    /// An object a line. A line that is not one rejects its row, and only that.
    Lines,
    /// Lines of values with commas between them, after a line of names.
    Csv,
    /// An Arrow IPC stream.
    ArrowStream,
}

/// The rows of an input.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// The table's columns after these rows: the given ones, then new ones.
    pub schema: Schema,
    /// The columns that are new against the given ones.
    pub added: Vec<Column>,
    /// The accepted rows, with the columns of `schema`.
    pub batch: RecordBatch,
    /// How many rows were accepted.
    pub accepted: usize,
    /// The rejected rows, in the input's order; the first ones when there are many.
    pub rejected: Vec<Rejected>,
    /// How many rows were rejected in all.
    pub rejected_total: usize,
    /// The system columns that the input had and that were left out.
    pub ignored: Vec<String>,
}

/// Reads the rows of an input for a table with the known columns, or for a new table.
///
/// # Errors
/// When the input as a whole cannot be read, or is larger than the limits. A row that does not fit
/// is no error: it is in [`Decoded::rejected`].
pub fn decode(
    input: Input,
    bytes: &[u8],
    known: Option<&Schema>,
    limits: &Limits,
) -> Result<Decoded, Error> {
    if bytes.len() > limits.bytes_max {
        return Err(Error::too_large("bytes", limits.bytes_max));
    }
    match input {
        Input::Json => json::decode(text(bytes)?, known, limits),
        Input::Lines => json::decode_lines(text(bytes)?, known, limits),
        Input::Csv => csv::decode(text(bytes)?, known, limits),
        Input::ArrowStream => stream::decode(bytes, known, limits),
    }
}

/// Whether a text is one JSON value: where it is not, in bytes, and why.
pub(crate) fn check_json(text: &str) -> Result<(), (usize, &'static str)> {
    let mut scanner = scan::Scanner::new(text, 0);
    let checked = scanner.value().and_then(|_| scanner.end());
    checked.map_err(|fault| (fault.at, fault.reason))
}

/// The input as text, without the mark that some editors put in front.
fn text(bytes: &[u8]) -> Result<&str, Error> {
    let text =
        str::from_utf8(bytes).map_err(|error| Error::not_utf8(bytes, error.valid_up_to()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_ascii().is_empty() { Err(Error::Empty) } else { Ok(text) }
}
