//! Any bytes, and any damage to a true page, as what a master tells of its history: a node that
//! follows takes it or refuses it, and its ledger opens again.

#![cfg_attr(feature = "run", no_main)]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| edgemere_fuzz::ledger_page::run(bytes));

// Without libFuzzer, which has a main of its own, the target only has to compile.
#[cfg(not(feature = "run"))]
fn main() {}
