//! What a call asks for: one command, with every value in its place.

use std::time::Duration;

use serde_json::{Map, Value};

/// A command that is ready to be carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The command's text, printed from tokens: every value is one of them.
    pub command: String,
    /// The nodes that it is for, as in the REST header; none is this node.
    pub destination: Option<String>,
    /// Whether the answers of some nodes will do when others do not answer.
    pub subset: bool,
    /// How long each node has.
    pub timeout: Option<Duration>,
    /// The arguments that it was made of, with defaults.
    pub arguments: Map<String, Value>,
    /// The declared name of the command. Whoever runs it checks that the text is still this one.
    pub expected: &'static str,
}
