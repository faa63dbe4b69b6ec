//! Limits on everything that clients can make the server spend.

use std::time::Duration;

/// What clients may use. [`Limits::default`] suits a server for one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The size of a message from a client.
    pub body_bytes_max: usize,
    /// The size of a result on the wire. A larger one becomes an error result.
    pub result_bytes_max: usize,
    /// The duration of a call.
    pub call_time_max: Duration,
    /// The concurrent calls of a principal.
    pub concurrent_calls_max: usize,
    /// The calls that a principal may start per second, on average. A principal that was idle for a second
    /// may start as many at once.
    pub calls_per_second_max: u32,
    /// The open sessions of all principals.
    pub sessions_max: usize,
    /// The open sessions of a principal.
    pub sessions_per_principal_max: usize,
    /// How long a session without requests and open streams stays open.
    pub session_idle_max: Duration,
    /// How long a session must have been idle before it is evicted for a new one at the limit. A session
    /// without any request after `initialize` is evicted at once.
    pub session_evict_after: Duration,
    /// How long a client may leave a message unread before its stream is closed.
    pub unread_time_max: Duration,
    /// The unread messages that are buffered for one stream.
    pub unread_messages_max: usize,
    /// After what time a response is sent as an event stream instead of as plain JSON. JSON is cheaper for
    /// both sides; a stream has keep-alives and can be resumed, which slow calls are worth. Zero makes
    /// every response a stream, also outside of sessions.
    pub stream_after: Duration,
    /// The resource subscriptions of a session, or of a stream of `subscriptions/listen`.
    pub subscriptions_max: usize,
    /// The tasks of all principals: running, or with a result to fetch.
    pub tasks_max: usize,
    /// The tasks of a principal.
    pub tasks_per_principal_max: usize,
    /// After what time a call becomes a task, if its tool and its client support tasks.
    pub task_after: Duration,
    /// How long a task and its result are available, from its creation.
    pub task_ttl: Duration,
    /// The entries of a page of a list.
    pub page_entries_max: usize,
    /// How long a client may cache a list.
    pub list_ttl: Duration,
    /// The interval of keep-alives on an idle stream.
    pub keep_alive: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes_max: 4 << 20,
            result_bytes_max: 4 << 20,
            call_time_max: Duration::from_secs(300),
            concurrent_calls_max: 64,
            calls_per_second_max: 100_000,
            sessions_max: 1024,
            sessions_per_principal_max: 512,
            session_idle_max: Duration::from_secs(30 * 60),
            session_evict_after: Duration::from_secs(5 * 60),
            unread_time_max: Duration::from_secs(30),
            unread_messages_max: 64,
            stream_after: Duration::from_millis(100),
            subscriptions_max: 256,
            tasks_max: 256,
            tasks_per_principal_max: 32,
            task_after: Duration::from_secs(2),
            task_ttl: Duration::from_secs(600),
            page_entries_max: 200,
            list_ttl: Duration::from_secs(60),
            keep_alive: Duration::from_secs(15),
        }
    }
}
