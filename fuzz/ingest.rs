//! What must hold of rows that come in, whatever the bytes are.

use edgemere_storage::decode::{Decoded, Input, Limits, decode as decode_rows};
use edgemere_storage::schema::{Column, Kind, Schema};

/// Decodes bytes for a new table, for one with a column of each type, and again for the table that
/// the first ones make.
pub(crate) fn decode(input: Input, bytes: &[u8]) {
    let limits = Limits { bytes_max: 1 << 16, rows_max: 1000, ..Limits::default() };
    let _ = decode_rows(input, bytes, Some(&every_kind()), &limits).map(check);
    if let Ok(decoded) = decode_rows(input, bytes, None, &limits) {
        let (rows, schema) = (decoded.accepted + decoded.rejected_total, decoded.schema.clone());
        check(decoded);
        // The same rows again, for the table that they have made: as many, and no new columns.
        let again = decode_rows(input, bytes, Some(&schema), &limits).expect("reads again");
        assert_eq!(again.accepted + again.rejected_total, rows);
        assert!(again.added.is_empty(), "{:?}", again.added);
        check(again);
    }
}

fn check(decoded: Decoded) {
    assert_eq!(decoded.batch.num_rows(), decoded.accepted);
    assert_eq!(decoded.batch.schema(), decoded.schema.arrow());
    assert!(decoded.rejected.len() <= decoded.rejected_total);
}

fn every_kind() -> Schema {
    let kinds = [
        Kind::Int,
        Kind::BigInt,
        Kind::HUGE,
        Kind::Decimal,
        Kind::Boolean,
        Kind::Date,
        Kind::Time,
        Kind::Timestamp,
        Kind::Char(3),
        Kind::Varchar,
    ];
    let column = |(name, kind): (char, Kind)| Column::new(name, kind);
    Schema { columns: ('a'..).zip(kinds).map(column).collect() }
}
