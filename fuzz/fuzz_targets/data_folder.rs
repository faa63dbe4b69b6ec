//! Any damage to the manifest and to a Parquet file of a data folder: opening it and asking it never
//! panics.

#![cfg_attr(feature = "run", no_main)]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| edgemere_fuzz::data_folder::run(bytes));

// Without libFuzzer, which has a main of its own, the target only has to compile.
#[cfg(not(feature = "run"))]
fn main() {}
