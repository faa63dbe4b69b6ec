//! Any bytes as JSON rows, for a new table and for one that is there: reading them never panics, every
//! row is accepted or rejected, and what was accepted fits the columns.

#![no_main]

use edgemere_engine::ingest::Input;
use libfuzzer_sys::fuzz_target;

#[path = "../ingest.rs"]
mod ingest;

fuzz_target!(|bytes: &[u8]| ingest::decode(Input::Json, bytes));
