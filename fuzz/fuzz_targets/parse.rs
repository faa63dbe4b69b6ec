//! Any text: the parser never panics, and what it understands it also prints so that it
//! understands it again.

#![cfg_attr(feature = "run", no_main)]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(command) = edgemere_command::parse(text) {
        let printed = command.to_string();
        match edgemere_command::parse(&printed) {
            Ok(again) => assert_eq!(again, command, "printed as {printed:?}"),
            Err(error) => panic!("{printed:?} does not parse again: {error}"),
        }
    }
});

// Without libFuzzer, which has a main of its own, the target only has to compile.
#[cfg(not(feature = "run"))]
fn main() {}
