//! Rows that come in, in each of their forms.

use std::sync::LazyLock;

use edgemere_query::distributed::fuzzing;
use edgemere_storage::decode::{Input, Limits, decode as decode_rows};

use self::rows::decode;
use crate::damaged;

/// What must hold of them, which the engine's own tests look at, too.
#[path = "../ingest.rs"]
mod rows;

/// Rows of every type.
const JSON: &[u8] = br#"[{"a": 1, "d": 1.5e3, "e": true, "i": "it's", "j": null}, {"a": "x", "k": {"l": [1]}},
{"f": "2026-02-29", "g": "23:59:59.5", "h": "2026-01-01T00:00:00+02:00"}, {"c": 123456789012345678901234567890}]"#;

/// The same with commas and quotes.
const CSV: &[u8] =
    b"a,d,e,h,i\n1,1.5,true,2026-01-01 00:00:00,\"it's, \"\"quoted\"\"\"\n,,,,\nx,y\n";

/// Rows as an Arrow stream.
static ARROW: LazyLock<Vec<u8>> = LazyLock::new(|| fuzzing::arrow_stream().expect("rows"));

/// Reads the bytes as JSON, and as damage to true rows.
pub fn run_json(bytes: &[u8]) {
    decode(Input::Json, bytes);
    decode(Input::Json, &damaged(JSON, bytes));
}

/// Reads the bytes as CSV, and as damage to true rows.
pub fn run_csv(bytes: &[u8]) {
    decode(Input::Csv, bytes);
    decode(Input::Csv, &damaged(CSV, bytes));
}

/// Reads the bytes as an Arrow stream, and as damage to a true one.
pub fn run_arrow(bytes: &[u8]) {
    decode(Input::ArrowStream, bytes);
    decode(Input::ArrowStream, &damaged(&ARROW, bytes));
}

/// Whether all rows that are damaged are read when they are not.
pub fn is_sound() -> bool {
    let forms = [(Input::Json, JSON), (Input::Csv, CSV), (Input::ArrowStream, &ARROW)];
    let reads = |(input, bytes)| {
        decode_rows(input, bytes, None, &Limits::default()).is_ok_and(|rows| rows.accepted > 0)
    };
    forms.into_iter().all(reads)
}
