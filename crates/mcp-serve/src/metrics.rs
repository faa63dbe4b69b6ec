//! A server's metrics and its list of sessions.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use crate::{Client, Principal};

/// Counters and gauges of a server, from its start on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// Requests of all methods.
    pub requests: u64,
    /// Tool calls.
    pub calls: u64,
    /// Active tool calls.
    pub calls_open: u64,
    /// Calls that ended with a protocol error or an error result.
    pub calls_failed: u64,
    /// Calls whose client cancelled them or disconnected.
    pub calls_cancelled: u64,
    /// Calls that exceeded [`Limits::call_time_max`](crate::Limits).
    pub calls_timed_out: u64,
    /// Results that exceeded [`Limits::result_bytes_max`](crate::Limits).
    pub results_too_long: u64,
    /// Requests that a limit refused: on calls, sessions or the length of a body.
    pub refused_by_limit: u64,
    /// Requests that the check of `Host` and `Origin` refused.
    pub refused_by_origin: u64,
    /// Sessions opened.
    pub sessions_opened: u64,
    /// Open sessions.
    pub sessions_open: u64,
    /// Sessions closed because they were idle.
    pub sessions_expired: u64,
    /// Streams closed because their client did not read them.
    pub streams_cut: u64,
    /// Open streams of `subscriptions/listen`.
    pub listeners_open: u64,
    /// Tasks that are running, or whose result is still available.
    pub tasks_kept: u64,
    /// Bytes sent.
    pub bytes_out: u64,
}

/// A session, as [`Server::sessions`](crate::Server::sessions) lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// The first characters of its id: enough to recognise it, too few to use it.
    pub id: String,
    /// The principal that opened it.
    pub principal: Principal,
    /// The client program, once it has sent its name.
    pub client: Option<Client>,
    /// The protocol revision, once negotiated.
    pub protocol: Option<String>,
    /// Its transport.
    pub transport: Transport,
    /// Time since it was opened.
    pub age: Duration,
    /// Time since its last request.
    pub idle: Duration,
    /// The number of its tool calls.
    pub calls: u64,
}

/// The transport of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A reader and a writer, such as stdin and stdout.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE, the transport of revision 2024-11-05.
    Sse,
}

impl Transport {
    /// Its name, for lists and metric labels.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// The counters behind [`Metrics`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) requests: Counter,
    pub(crate) calls: Counter,
    pub(crate) calls_failed: Counter,
    pub(crate) calls_cancelled: Counter,
    pub(crate) calls_timed_out: Counter,
    pub(crate) results_too_long: Counter,
    pub(crate) refused_by_limit: Counter,
    pub(crate) refused_by_origin: Counter,
    pub(crate) sessions_opened: Counter,
    pub(crate) sessions_expired: Counter,
    pub(crate) streams_cut: Counter,
    pub(crate) listeners_open: Counter,
    pub(crate) bytes_out: Counter,
}

/// A counter for several threads.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

/// Keeps a gauge raised by one until it is dropped.
#[derive(Debug)]
pub(crate) struct GaugeGuard<'a>(&'a Counter);

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub(crate) fn hold(&self) -> GaugeGuard<'_> {
        self.add(1);
        GaugeGuard(self)
    }
}

impl Drop for GaugeGuard<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}

impl Counters {
    /// The current values, with gauges that are kept elsewhere.
    pub(crate) fn snapshot(&self, calls_open: u64, sessions: usize, tasks: usize) -> Metrics {
        Metrics {
            requests: self.requests.get(),
            calls: self.calls.get(),
            calls_open,
            calls_failed: self.calls_failed.get(),
            calls_cancelled: self.calls_cancelled.get(),
            calls_timed_out: self.calls_timed_out.get(),
            results_too_long: self.results_too_long.get(),
            refused_by_limit: self.refused_by_limit.get(),
            refused_by_origin: self.refused_by_origin.get(),
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
