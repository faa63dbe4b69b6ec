//! Any bytes as an Arrow stream, which is also what blocks of rows are on disk: reading them never
//! panics.

#![no_main]

use edgemere_engine::ingest::Input;
use libfuzzer_sys::fuzz_target;

#[path = "../ingest.rs"]
mod ingest;

fuzz_target!(|bytes: &[u8]| ingest::decode(Input::ArrowStream, bytes));
