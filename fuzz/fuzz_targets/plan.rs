//! Any bytes, and any damage to a true plan, as a plan of a peer: an operator that reads it never panics.

#![cfg_attr(feature = "run", no_main)]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| edgemere_fuzz::plan::run(bytes));

// Without libFuzzer, which has a main of its own, the target only has to compile.
#[cfg(not(feature = "run"))]
fn main() {}
