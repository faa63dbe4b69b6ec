//! What a server has done, as numbers and as a list of sessions.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

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
    /// Tasks that run, or are kept for their result.
    pub tasks_kept: u64,
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

/// The figures as they are counted.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) requests: Counter,
    pub(crate) calls: Counter,
    pub(crate) calls_failed: Counter,
    pub(crate) calls_cancelled: Counter,
    pub(crate) calls_timed_out: Counter,
    pub(crate) results_too_long: Counter,
    pub(crate) refused_by_limit: Counter,
    pub(crate) refused_foreign: Counter,
    pub(crate) sessions_opened: Counter,
    pub(crate) sessions_expired: Counter,
    pub(crate) streams_cut: Counter,
    pub(crate) listeners_open: Counter,
    pub(crate) bytes_out: Counter,
}

/// A number that many count at once.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

/// Something that is there, and counted, until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted<'a>(&'a Counter);

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub(crate) fn hold(&self) -> Counted<'_> {
        self.add(1);
        Counted(self)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}

impl Counters {
    /// The figures now, with so many calls, sessions and tasks.
    pub(crate) fn figures(&self, calls_open: u64, sessions: usize, tasks: usize) -> Figures {
        Figures {
            requests: self.requests.get(),
            calls: self.calls.get(),
            calls_open,
            calls_failed: self.calls_failed.get(),
            calls_cancelled: self.calls_cancelled.get(),
            calls_timed_out: self.calls_timed_out.get(),
            results_too_long: self.results_too_long.get(),
            refused_by_limit: self.refused_by_limit.get(),
            refused_foreign: self.refused_foreign.get(),
            sessions_opened: self.sessions_opened.get(),
            sessions_open: sessions as u64,
            sessions_expired: self.sessions_expired.get(),
            streams_cut: self.streams_cut.get(),
            listeners_open: self.listeners_open.get(),
            tasks_kept: tasks as u64,
            bytes_out: self.bytes_out.get(),
        }
    }
}
