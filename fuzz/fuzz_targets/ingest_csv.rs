//! Any bytes as CSV rows, for a new table and for one that is there: reading them never panics, every
//! row is accepted or rejected, and what was accepted fits the columns.

#![cfg_attr(feature = "run", no_main)]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| edgemere_fuzz::ingest::run_csv(bytes));

// Without libFuzzer, which has a main of its own, the target only has to compile.
#[cfg(not(feature = "run"))]
fn main() {}
