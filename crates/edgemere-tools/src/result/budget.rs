//! How large an answer may be: rows, bytes and estimated tokens, whichever is reached first.

use edgemere_command::results;

use crate::tool::Limits;

/// How many rows an answer has when a tool does not say otherwise.
const ROWS: usize = 200;

/// How many bytes. Many clients show a model no more than 50,000 characters.
const BYTES: usize = 40_000;

/// About how many bytes of JSON a token is.
const TOKEN_BYTES: usize = 4;

/// How many bytes the text of an answer has at most, whatever its structured part has.
pub(crate) const TEXT_BYTES_MAX: usize = BYTES;

/// How large an answer may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
}

impl Budget {
    /// What a tool's limits leave.
    pub(crate) fn of(limits: &Limits) -> Self {
        let tokens = limits.tokens.map(|tokens| tokens.saturating_mul(TOKEN_BYTES));
        let bytes = match (limits.bytes, tokens) {
            (None, None) => BYTES,
            (bytes, tokens) => bytes.unwrap_or(usize::MAX).min(tokens.unwrap_or(usize::MAX)),
        };
        Self { rows: limits.rows.unwrap_or(ROWS), bytes }
    }

    /// The same for a page of rows.
    pub(crate) fn page(self) -> results::Budget {
        results::Budget { rows: self.rows, bytes: self.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_limit_holds() {
        assert_eq!(Budget::of(&Limits::default()), Budget { rows: ROWS, bytes: BYTES });
        let limits = Limits { tokens: Some(100), bytes: Some(1000), ..Limits::default() };
        assert_eq!(Budget::of(&limits), Budget { rows: ROWS, bytes: 400 });
        let limits = Limits { rows: Some(7), bytes: Some(90_000), ..Limits::default() };
        assert_eq!(Budget::of(&limits), Budget { rows: 7, bytes: 90_000 });
    }
}
