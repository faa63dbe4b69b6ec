//! Any text as SQL on an engine with a few tables: reading, validating and planning it never panics
//! and never overflows the stack, and makes no table and no row.

#![cfg_attr(feature = "run", no_main)]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| edgemere_fuzz::sql_parse::run(bytes));

// Without libFuzzer, which has a main of its own, the target only has to compile.
#[cfg(not(feature = "run"))]
fn main() {}
