//! What can go wrong before anything is served.

use std::{io, net::SocketAddr};

use crate::manifests::ManifestError;

/// Why a command line cannot be served. The author of the program, or who starts it, can act on it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A word that is no effect.
    #[error("\"{word}\" is no effect: there are read, write, destructive and secret")]
    Effect {
        /// The word.
        word: String,
    },
    /// A pattern that nothing can match.
    #[error(
        "the pattern \"{pattern}\" {problem}: write it like \"cloud token *\" or \"deploy --force\""
    )]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// What the author of the program gave.
    #[error("{message}")]
    Options {
        /// What is wrong with it.
        message: String,
    },
    /// Two commands whose tools would be called the same.
    #[error("\"{one}\" and \"{other}\" would both be the tool \"{tool}\": deny one of them")]
    SameName {
        /// The tool.
        tool: String,
        /// A command.
        one: String,
        /// Another command.
        other: String,
    },
    /// A handler for a command that there is not.
    #[error("there is a handler for \"{path}\", and no such command")]
    Handler {
        /// What was to be handled.
        path: String,
    },
    /// Secret commands would have to be offered.
    #[error("secret commands are never offered: allow write or destructive")]
    AllowSecret,
    /// Words beside `--serve` that lead to no command.
    #[error("there is no command \"{given}\": beside --serve stand only the words of one")]
    Command {
        /// The words.
        given: String,
    },
    /// What was given to `--serve`.
    #[error("\"{given}\" is nothing to serve at: give a port, an address and a port, or stdio")]
    Address {
        /// What was given.
        given: String,
    },
    /// An address that others can reach.
    #[error(
        "{address} can be reached from other machines, and nothing checks who asks: serve at 127.0.0.1 \
         and let a proxy or a tunnel that knows them pass them on"
    )]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be listened at.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The program does not know where it is.
    #[error("the program cannot find itself to run commands: {0}")]
    Executable(#[source] io::Error),
    /// The files around the working folder cannot be offered.
    #[error(transparent)]
    Manifests(#[from] ManifestError),
    /// A connection, a stream, or the runtime.
    #[error("serving ended: {0}")]
    Io(#[from] io::Error),
}
