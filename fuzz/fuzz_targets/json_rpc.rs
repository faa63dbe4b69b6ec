//! Any bytes as messages of a client of MCP: the server answers or ends, and never panics.

#![cfg_attr(feature = "run", no_main)]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| edgemere_fuzz::json_rpc::run(bytes));

// Without libFuzzer, which has a main of its own, the target only has to compile.
#[cfg(not(feature = "run"))]
fn main() {}
