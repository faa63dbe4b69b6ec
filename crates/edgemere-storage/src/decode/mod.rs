//! Ingest: bytes in, typed rows and rejected rows out. It knows no HTTP and no storage.
//!
//! 1. `json` (with `scan`), `csv` and `stream` read the input. Text becomes cells that point
//!    into the input; nothing is copied yet.
//! 2. `keys` and `names` say which column a key belongs to, and `rows` gathers the cells by column.
//! 3. The columns of a known table are made into arrays by `convert`, for which `number` and `time`
//!    read texts. A value that does not fit rejects its row, and only that.
//!    A column of whole numbers becomes wider when numbers come that it does not hold: `widen`.
//! 4. The columns that are new get a type from all the rows that are left, in `infer`, and are
//!    made into arrays too.
//! 5. `verdicts` takes the rejected rows out and keeps what is to be said about them.
//!
//! No row is lost unnoticed: `accepted` and `rejected_total` add up to the rows of the input. The
//! input as a whole is refused only when it cannot be read. A column that no table can hold, as some of
//! Arrow's, is left out and told, or, where nothing may be left out, refuses the input.
//!
//! # Rules
//! - **Names** are made plain: see `names`. Two keys of one row that have one plain name are two
//!   columns, and the later one's name gets a number. The same key twice in one object: the last one holds; in
//!   a CSV header or an Arrow schema it refuses the input.
//! - **System columns** in the input, from rows that were read before, are left out and listed.
//! - **Types of new columns**, from all rows: see `infer`. **Values of known columns**: see
//!   `convert`.
//! - Times are kept in UTC, in microseconds or, where one has more digits, in nanoseconds. They are cut
//!   off where a column also has times that cannot be counted so.
//! - A new column that only rejected rows have is not added.

mod arrow_ipc;
mod arrow_lengths;
mod cell;
mod column_keys;
mod column_names;
mod convert;
mod csv;
mod error;
mod infer;
mod json;
mod json_scanner;
mod limits;
mod number;
mod rejections;
mod row_builder;
mod time;
mod widen;

use arrow::array::RecordBatch;

use crate::schema::{Column, Schema};

pub(crate) use arrow_ipc::retyped;
pub use arrow_lengths::{Body, check_message, is_compressed};
pub use error::Error;
pub use infer::{CHAR_LENGTH_MAX, Mixed};
pub use json_scanner::DEPTH_MAX;
pub use limits::Limits;
pub use rejections::{Rejection, VALUE_CHARS_MAX};

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
    /// The table's columns after these rows: the given ones, of which some may be wider, then new ones.
    pub schema: Schema,
    /// The columns that are new against the given ones.
    pub added: Vec<Column>,
    /// The accepted rows, with the columns of `schema`.
    pub batch: RecordBatch,
    /// How many rows were accepted.
    pub accepted: usize,
    /// The rejected rows, in the input's order; the first ones when there are many.
    pub rejected: Vec<Rejection>,
    /// How many rows were rejected in all.
    pub rejected_total: usize,
    /// The system columns that the input had and that were left out.
    pub ignored: Vec<String>,
    /// The new columns that are text because of single values.
    pub notes: Vec<Note>,
    /// The columns that no column of a table can hold, and that were left out.
    pub left_out: Vec<LeftOut>,
}

/// That a new column is text because of a value, where other values are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The column.
    pub column: String,
    /// The row, from 1, in the input's order.
    pub row: usize,
    /// The value, shortened.
    pub value: String,
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { column, row, value } = self;
        write!(f, "{column} is text because of row {row}: \"{value}\"")
    }
}

/// A column of an input that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The column, as it is named in the input.
    pub column: String,
    /// What is in the way.
    pub reason: String,
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
    decode_mixed(input, bytes, known, limits, Mixed::default())
}

/// The same, where it is said what becomes of a new column of a CSV with values of several sorts.
///
/// # Errors
/// As [`decode`].
pub fn decode_mixed(
    input: Input,
    bytes: &[u8],
    known: Option<&Schema>,
    limits: &Limits,
    mixed: Mixed,
) -> Result<Decoded, Error> {
    if bytes.len() > limits.bytes_max {
        return Err(Error::too_large("bytes", limits.bytes_max));
    }
    match input {
        Input::Json => json::decode(text(bytes)?, known, limits),
        Input::Lines => json::decode_lines(text(bytes)?, known, limits),
        Input::Csv => csv::decode(text(bytes)?, known, limits, mixed),
        Input::ArrowStream => arrow_ipc::decode(bytes, known, limits),
    }
}

/// The plain names that a column of that name may have: the one it gets, and the one that it got before.
pub fn plain_names(name: &str) -> Vec<String> {
    let mut names = vec![column_names::plain(name), column_names::plain_before(name)];
    names.dedup();
    names
}

/// Whether a text is one JSON value: where it is not, in bytes, and why.
pub(crate) fn check_json(text: &str) -> Result<(), (usize, &'static str)> {
    let mut scanner = json_scanner::Scanner::new(text, 0);
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
