//! What a server has done, as numbers and as a list of sessions.

use std::time::Duration;

use crate::{Client, Principal};

/// What a server has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// Requests of all methods.
    pub requests: u64,
    /// Calls of tools.
    pub calls: u64,
    /// Calls that are under way.
    pub calls_open: u64,
    /// Calls that ended with a fault or an error result.
    pub calls_failed: u64,
    /// Calls that the client cancelled or left.
    pub calls_cancelled: u64,
    /// Calls that took too long.
    pub calls_timed_out: u64,
    /// Results that were too long.
    pub results_too_long: u64,
    /// Requests that a limit refused: of calls, of sessions, of a body's length.
    pub refused_by_limit: u64,
    /// Requests that the `Host` or `Origin` check refused.
    pub refused_foreign: u64,
    /// Sessions that were opened.
    pub sessions_opened: u64,
    /// Sessions that are open.
    pub sessions_open: u64,
    /// Sessions that were closed because nobody used them.
    pub sessions_expired: u64,
    /// Streams that were cut off because nobody read them.
    pub streams_cut: u64,
    /// Streams of `subscriptions/listen` that are open.
    pub listeners_open: u64,
    /// Bytes of messages that were sent.
    pub bytes_out: u64,
}

/// A session, for a list of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// The beginning of its id: enough to tell it apart, too little to use it.
    pub id: String,
    /// Whose it is.
    pub principal: Principal,
    /// The program at the other end, when it has said so.
    pub client: Option<Client>,
    /// The revision of the protocol, when it has been agreed on.
    pub protocol: Option<String>,
    /// How it is connected.
    pub transport: Transport,
    /// How long it has been there.
    pub age: Duration,
    /// How long nothing has been asked.
    pub idle: Duration,
    /// The tools that were called in it.
    pub calls: u64,
}

/// How a session is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A reader and a writer, such as stdin and stdout.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE, of the protocol's first revision.
    Sse,
}

impl Transport {
    /// Its name, for lists and labels.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}
