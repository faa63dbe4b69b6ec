//! Where a row of a CSV ends, exactly as `ingest` reads it: a field is in quotes when it begins with
//! one, and lines inside quotes are the field's. After a closing quote with text behind it the row
//! is broken, and ends with its line.

/// What was read last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scan {
    #[default]
    FieldStart,
    Plain,
    Quoted,
    /// A quote in a quoted field: its end, unless another one follows.
    Quote,
    /// The rest of a line that has text after a closing quote.
    Broken,
}

impl Scan {
    /// How many of these bytes belong to the row, if it ends in them.
    pub(super) fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            *self = match (*self, byte) {
                (Self::Quoted, b'"') => Self::Quote,
                (Self::Quoted, _) | (Self::Quote, b'"') => Self::Quoted,
                (_, b'\n') => return Some(at + 1),
                (Self::Broken, _) => Self::Broken,
                (Self::FieldStart, b'"') => Self::Quoted,
                (_, b',') => Self::FieldStart,
                (Self::Quote, _) => Self::Broken,
                (Self::FieldStart | Self::Plain, _) => Self::Plain,
            };
        }
        None
    }

    /// Whether a text that ends here lacks a quote.
    pub(super) fn is_open(self) -> bool {
        self == Self::Quoted
    }
}
