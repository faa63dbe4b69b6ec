//! From the arguments of a call to a command line: validated, written as an argv, and parsed by clap, which
//! verifies that the argv means the arguments of the call and nothing else.

mod arguments;
mod argv;
#[cfg(test)]
mod tests;
mod verify;

use clap::ArgMatches;
use serde_json::{Map, Value};

use crate::tree::Leaf;

/// A verified call.
#[derive(Debug)]
pub(crate) struct ParsedCall {
    /// The argv after the program's name.
    pub(crate) argv: Vec<String>,
    /// The argv, parsed by clap.
    pub(crate) matches: ArgMatches,
}

/// Turns arguments into a call of a command; or lists, for a model, all problems.
pub(crate) fn parse(leaf: &Leaf, arguments: &Map<String, Value>) -> Result<ParsedCall, String> {
    let arguments = arguments::check(leaf, arguments)?;
    let argv = argv::argv(leaf, &arguments);
    let matches = verify::parse(leaf, &argv, &arguments)?;
    Ok(ParsedCall { argv, matches })
}
