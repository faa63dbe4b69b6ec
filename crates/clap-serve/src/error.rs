//! Errors before serving starts.

use std::{io, net::SocketAddr};

use crate::manifests::ManifestError;

/// Why a command line cannot be served. The author or the user of the program can correct it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An unknown effect.
    #[error("\"{word}\" is no effect: there are read, write, destructive and secret")]
    Effect {
        /// The word.
        word: String,
    },
    /// A pattern that can match nothing.
    #[error(
        "the pattern \"{pattern}\" {problem}: write it like \"cloud token *\" or \"deploy --force\""
    )]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The problem.
        problem: &'static str,
    },
    /// An invalid option of the author.
    #[error("{message}")]
    Options {
        /// The problem.
        message: String,
    },
    /// Two commands with the same tool name.
    #[error("\"{one}\" and \"{other}\" would both be the tool \"{tool}\": deny one of them")]
    SameName {
        /// The tool.
        tool: String,
        /// A command.
        one: String,
        /// Another command.
        other: String,
    },
    /// A handler for an unknown command.
    #[error("there is a handler for \"{path}\", and no such command")]
    Handler {
        /// The path of the command.
        path: String,
    },
    /// A policy that allows secret commands.
    #[error("secret commands are never offered: allow write or destructive")]
    AllowSecret,
    /// Words beside `--serve` that are no command.
    #[error("there is no command \"{given}\": beside --serve stand only the words of one")]
    Command {
        /// The words.
        given: String,
    },
    /// An invalid value of `--serve`.
    #[error("\"{given}\" is nothing to serve at: give a port, an address and a port, or stdio")]
    Address {
        /// The value.
        given: String,
    },
    /// An address that other machines can reach.
    #[error(
        "{address} can be reached from other machines, and nothing checks who asks: serve at 127.0.0.1 \
         and let a proxy or a tunnel that knows them pass them on"
    )]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// An address that cannot be listened on.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The program's own path is unknown.
    #[error("the program cannot find itself to run commands: {0}")]
    Executable(#[source] io::Error),
    /// The manifests cannot be served.
    #[error(transparent)]
    Manifests(#[from] ManifestError),
    /// An error of a connection, a stream or the runtime.
    #[error("serving ended: {0}")]
    Io(#[from] io::Error),
}
