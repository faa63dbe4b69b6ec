//! The arguments of a call on their way to a command line: checked, written as words, and parsed again
//! by clap itself, which proves that the words mean what was given and nothing else.

mod given;
mod proof;
#[cfg(test)]
mod properties;
mod words;

use clap::ArgMatches;
use serde_json::{Map, Value};

use crate::tree::Leaf;

/// A call that may run.
#[derive(Debug)]
pub(crate) struct Ready {
    /// The words after the program's name.
    pub(crate) words: Vec<String>,
    /// What clap reads in them.
    pub(crate) matches: ArgMatches,
}

/// Makes a call of a command out of arguments; or says, for a model, all that is wrong with them.
pub(crate) fn ready(leaf: &Leaf, arguments: &Map<String, Value>) -> Result<Ready, String> {
    let given = given::check(leaf, arguments)?;
    let words = words::words(leaf, &given);
    let matches = proof::parse(leaf, &words, &given)?;
    Ok(Ready { words, matches })
}
