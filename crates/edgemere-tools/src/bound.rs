//! What a call asks for: one command, or one program, with every value in its place.

use std::time::Duration;

use clap_serve::program::Program;
use edgemere_command::CommandText;
use serde_json::{Map, Value};

/// What a call is, with its arguments in place.
#[derive(Clone, Debug)]
pub enum Ready {
    /// A command of a node.
    Command(Bound),
    /// A program of this machine.
    Program(Box<BoundProgram>),
    /// Nothing: this is the answer.
    Answer(Value),
}

impl Ready {
    /// The command that it is, when it is one.
    pub fn command(self) -> Option<Bound> {
        match self {
            Self::Command(bound) => Some(bound),
            Self::Program(_) | Self::Answer(_) => None,
        }
    }

    /// The program that it is, when it is one.
    pub fn program(self) -> Option<BoundProgram> {
        match self {
            Self::Command(_) | Self::Answer(_) => None,
            Self::Program(bound) => Some(*bound),
        }
    }
}

/// A program that is ready to be run.
#[derive(Clone, Debug)]
pub struct BoundProgram {
    /// The program with its words: every value is one of them, or a part of one.
    pub program: Program,
    /// The arguments that it was made of, with defaults.
    pub arguments: Map<String, Value>,
}

/// A command that is ready to be carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The command's text, printed from tokens: every value is one of them.
    pub command: CommandText,
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
