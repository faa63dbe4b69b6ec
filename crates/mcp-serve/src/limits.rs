//! Everything a client can make the server spend, with its bound.

use std::time::Duration;

/// What clients may use. [`Limits::default`] is for a server of one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The length of one message from a client.
    pub body_bytes_max: usize,
    /// The length of one result, as it is sent. A longer one is answered as an error result.
    pub result_bytes_max: usize,
    /// How long one call may take.
    pub call_time_max: Duration,
    /// The calls that one principal may have under way.
    pub calls_at_once_max: usize,
    /// The calls that one principal may begin in a second, on average.
    pub calls_per_second_max: u32,
    /// The sessions that there may be, of all principals.
    pub sessions_max: usize,
    /// The sessions that one principal may have.
    pub sessions_per_principal_max: usize,
    /// How long a session is kept that nothing is asked in and nobody listens to.
    pub session_idle_max: Duration,
    /// How long nothing was asked in a session, and nobody listened to it, before it may end so that
    /// another can begin where there are too many. One in which nothing was ever asked may at once.
    pub session_evict_after: Duration,
    /// How long a reader may leave a message unread before its stream is cut off.
    pub unread_time_max: Duration,
    /// The messages that wait for one reader.
    pub unread_messages_max: usize,
    /// How long an answer in a session is waited for before a stream is begun for it. One that comes
    /// sooner, with nothing before it, is sent alone, as JSON: less work for both sides. A stream says
    /// that it is alive, and can be gone back to; what takes its time is worth one. With zero every
    /// answer has one, also those to clients without a session.
    pub stream_after: Duration,
    /// The resources that one session, or one stream, may be subscribed to.
    pub subscriptions_max: usize,
    /// The tasks that there may be, of all principals, running or kept for their result.
    pub tasks_max: usize,
    /// The tasks that one principal may have.
    pub tasks_per_principal_max: usize,
    /// After what time a call becomes a task, when its tool and its client know tasks.
    pub task_after: Duration,
    /// How long a task can be asked for, from its beginning.
    pub task_ttl: Duration,
    /// The entries of one page of a list.
    pub page_entries_max: usize,
    /// How long a client may keep a list before it asks again.
    pub list_ttl: Duration,
    /// How often a silent stream says that it is alive.
    pub keep_alive: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes_max: 4 << 20,
            result_bytes_max: 4 << 20,
            call_time_max: Duration::from_secs(300),
            calls_at_once_max: 64,
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
