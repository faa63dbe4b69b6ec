//! Sessions: their owners, subscriptions and lifetimes.

mod channel;
mod inline_reply;
mod rmcp_sessions;
mod stream;
mod streams;
mod table;

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rmcp::{RoleServer, model::ClientJsonRpcMessage, service::Peer};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

#[cfg(feature = "tasks")]
pub(crate) use self::table::random_id;
pub(crate) use self::{
    channel::{Channel, Outbox},
    inline_reply::{DuplicateRequestId, Reply, reply},
    rmcp_sessions::{PENDING_SESSION, PendingSession, RmcpSessions},
    streams::{Streams, mark},
    table::{SessionRefused, Sessions},
};
use crate::{
    Client, Level, Principal, SessionInfo, Transport,
    notifier::{Change, ResourceSubscription, Subscriber},
};

/// The number of characters of an id that may be shown.
const ID_SHOWN: usize = 8;

/// A session of one client.
pub(crate) struct Session {
    /// The secret that authorizes the use of the session.
    pub(crate) id: Arc<str>,
    pub(crate) principal: Principal,
    pub(crate) transport: Transport,
    /// Cancelled when the session ends.
    pub(crate) ended: CancellationToken,
    /// Cancelled when the client will send no more messages. Active requests still get their responses.
    pub(crate) input_closed: CancellationToken,
    /// The incoming messages.
    pub(crate) inbox: mpsc::Sender<ClientJsonRpcMessage>,
    /// The outgoing messages over Streamable HTTP.
    pub(crate) streams: Arc<Streams>,
    /// The connection to its client, from `initialize` on.
    peer: OnceLock<Peer<RoleServer>>,
    is_initialized: AtomicBool,
    opened: Instant,
    /// When it was last used, in milliseconds after `opened`.
    used_ms: AtomicU64,
    /// The requests after `initialize`.
    requests: AtomicU64,
    calls: AtomicU64,
    log_level: AtomicU8,
    /// The client program and the protocol revision.
    client: Mutex<(Option<Client>, Option<String>)>,
    subscriptions: Mutex<HashMap<String, ResourceSubscription>>,
    subscriber: Arc<Subscriber>,
}

impl Session {
    /// Marks the session as used.
    pub(crate) fn touch(&self) {
        self.touch_at(Instant::now());
    }

    pub(super) fn touch_at(&self, now: Instant) {
        let age = now.saturating_duration_since(self.opened);
        self.used_ms.store(u64::try_from(age.as_millis()).unwrap_or(u64::MAX), Relaxed);
    }

    /// The time since its last use.
    pub(super) fn idle(&self, now: Instant) -> Duration {
        let used = Duration::from_millis(self.used_ms.load(Relaxed));
        now.saturating_duration_since(self.opened).saturating_sub(used)
    }

    /// Sets the connection to its client.
    pub(crate) fn set_peer(&self, peer: Peer<RoleServer>) {
        let _ = self.peer.set(peer);
    }

    /// The connection to its client, from `initialize` on.
    pub(crate) fn peer(&self) -> Option<&Peer<RoleServer>> {
        self.peer.get()
    }

    /// Marks it as initialized. Returns whether it was not before.
    pub(crate) fn set_initialized(&self) -> bool {
        !self.is_initialized.swap(true, Relaxed)
    }

    /// Notes that the client will send no more messages.
    pub(crate) fn close_input(&self) {
        self.input_closed.cancel();
    }

    /// Whether its client reads messages, or may come back for a response.
    pub(crate) fn has_reader(&self) -> bool {
        self.transport != Transport::Http || self.streams.have_reader()
    }

    /// Counts a request after `initialize`.
    pub(crate) fn count_request(&self) {
        self.requests.fetch_add(1, Relaxed);
    }

    /// Whether it has had any request after `initialize`.
    pub(crate) fn is_used(&self) -> bool {
        self.requests.load(Relaxed) > 0
    }

    /// Counts a tool call.
    pub(crate) fn count_call(&self) {
        self.calls.fetch_add(1, Relaxed);
    }

    /// Sets the client program and the protocol revision.
    pub(crate) fn set_client(&self, client: Client, protocol: String) {
        *self.client.lock() = (Some(client), Some(protocol));
    }

    /// Sets the lowest level of log messages that the client wants.
    pub(crate) fn set_log_level(&self, level: Level) {
        self.log_level.store(level as u8, Relaxed);
    }

    /// Whether the client wants log messages of this level.
    pub(crate) fn wants_log(&self, level: Level) -> bool {
        level as u8 >= self.log_level.load(Relaxed)
    }

    /// Its subscriber for changes.
    pub(crate) fn subscriber(&self) -> &Arc<Subscriber> {
        &self.subscriber
    }

    /// Subscribes to a resource. Returns false if it has the maximum of subscriptions already.
    pub(crate) fn subscribe(
        &self,
        uri: &str,
        max: usize,
        subscribe: impl FnOnce() -> ResourceSubscription,
    ) -> bool {
        let mut all = self.subscriptions.lock();
        if all.contains_key(uri) {
            return true;
        }
        if all.len() >= max {
            return false;
        }
        all.insert(uri.to_owned(), subscribe());
        self.subscriber.subscribe(Change::Updated(uri.to_owned()));
        true
    }

    /// Ends the subscription to a resource.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        let subscription = self.subscriptions.lock().remove(uri);
        self.subscriber.unsubscribe(&Change::Updated(uri.to_owned()));
        drop(subscription);
    }

    /// Ends the session and cancels its active calls.
    pub(crate) fn end(&self) {
        self.ended.cancel();
        let subscriptions = std::mem::take(&mut *self.subscriptions.lock());
        drop(subscriptions);
    }

    /// Its public description.
    pub(crate) fn info(&self) -> SessionInfo {
        let (client, protocol) = self.client.lock().clone();
        SessionInfo {
            id: self.id.chars().take(ID_SHOWN).collect(),
            principal: self.principal.clone(),
            client,
            protocol,
            transport: self.transport,
            age: self.opened.elapsed(),
            idle: self.idle(Instant::now()),
            calls: self.calls.load(Relaxed),
        }
    }
}

/// Omits the secret: what is logged must not authorize anybody.
impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Session").field(&self.info()).finish()
    }
}
