//! How much one input may hold. What is larger is refused as a whole and can be sent in parts.

/// The limits of one input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the input.
    pub bytes_max: usize,
    /// Rows, rejected ones too.
    pub rows_max: usize,
    /// Columns of the table, the new ones too.
    pub columns_max: usize,
    /// Rows times columns: a row with many keys makes all others as wide.
    pub cells_max: usize,
    /// Characters of a column's name. A longer one rejects the row.
    pub name_chars_max: usize,
    /// Rejected rows that are listed; all of them are counted.
    pub rejected_max: usize,
    /// Known columns that must not become wider, whatever values come.
    pub fixed: Vec<String>,
    /// Whether a column that no table can hold refuses the input, and is not left out of it.
    pub strict: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes_max: 64 << 20,
            rows_max: 1_000_000,
            columns_max: 1_000,
            cells_max: 10_000_000,
            name_chars_max: 128,
            rejected_max: 100,
            fixed: Vec::new(),
            strict: false,
        }
    }
}
