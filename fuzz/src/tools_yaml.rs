//! Files of tools.

use edgemere_tools::{Surroundings, Toolbox};

use crate::damaged;

/// A file with all that such files have.
const TRUE: &[u8] = include_bytes!("../../crates/edgemere-tools/tools.yaml");

/// Reads the bytes as a file, and as damage to a true one.
pub fn run(bytes: &[u8]) {
    read(bytes);
    read(&damaged(TRUE, bytes));
}

fn read(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    // A file that is refused is as good as one that is read; a panic is not.
    let _ = Toolbox::from_text("tools.yaml", &text, &Surroundings::empty());
}
