//! Sessions: who they belong to, what they are subscribed to, and when they end.

mod answering;
mod channel;
mod manager;
mod stream;
mod streams;
mod table;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use rmcp::{RoleServer, model::ClientJsonRpcMessage, service::Peer};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub(crate) use self::{
    answering::{Reply, Twice, answer},
    channel::{Channel, Out},
    manager::{Manager, OPENED, Opened},
    streams::{Streams, mark},
    table::{Refusal, Sessions, random_id},
};
use crate::{
    Client, Level, Principal, SessionInfo, Transport,
    hub::{Change, Watch, Watcher},
    lock::lock,
};

/// The beginning of an id that may be shown.
const ID_SHOWN: usize = 8;

/// One client that is connected, or that will come back with its id.
pub(crate) struct Session {
    /// The secret by which a client shows that the session is its own.
    pub(crate) id: Arc<str>,
    pub(crate) principal: Principal,
    pub(crate) transport: Transport,
    /// Cancelled when the session ends, whoever ends it.
    pub(crate) ended: CancellationToken,
    /// Cancelled when no more messages will come: what is under way is still answered.
    pub(crate) hung_up: CancellationToken,
    /// Where its messages go in.
    pub(crate) inbox: mpsc::Sender<ClientJsonRpcMessage>,
    /// Where its messages go out, when there are several ways.
    pub(crate) streams: Arc<Streams>,
    /// The way to its client, from when the two know each other.
    peer: OnceLock<Peer<RoleServer>>,
    has_begun: AtomicBool,
    opened: Instant,
    used_ms: AtomicU64,
    /// The requests after the one that began it.
    asked: AtomicU64,
    calls: AtomicU64,
    level: AtomicU8,
    about: Mutex<(Option<Client>, Option<String>)>,
    subscriptions: Mutex<HashMap<String, Watch>>,
    watcher: Arc<Watcher>,
}

impl Session {
    /// Notes that it is used.
    pub(crate) fn touch(&self) {
        let now = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.used_ms.store(now, Relaxed);
    }

    /// How long it has not been used.
    pub(crate) fn idle(&self) -> Duration {
        let used = Duration::from_millis(self.used_ms.load(Relaxed));
        self.opened.elapsed().saturating_sub(used)
    }

    /// Notes the way to its client.
    pub(crate) fn meet(&self, peer: Peer<RoleServer>) {
        let _ = self.peer.set(peer);
    }

    /// The way to its client, from when the two know each other.
    pub(crate) fn peer(&self) -> Option<&Peer<RoleServer>> {
        self.peer.get()
    }

    /// Notes that its client has begun. Says no when it had before.
    pub(crate) fn begins(&self) -> bool {
        !self.has_begun.swap(true, Relaxed)
    }

    /// No more messages will come.
    pub(crate) fn hang_up(&self) {
        self.hung_up.cancel();
    }

    /// Whether somebody waits for its messages.
    pub(crate) fn is_attended(&self) -> bool {
        self.transport != Transport::Http || self.streams.are_read()
    }

    /// Notes a request or a stream of its client, after it has begun.
    pub(crate) fn count_request(&self) {
        self.asked.fetch_add(1, Relaxed);
    }

    /// Whether its client has asked for anything since it began.
    pub(crate) fn is_used(&self) -> bool {
        self.asked.load(Relaxed) > 0
    }

    /// Notes a call of a tool.
    pub(crate) fn count_call(&self) {
        self.calls.fetch_add(1, Relaxed);
    }

    /// Notes who is at the other end.
    pub(crate) fn introduce(&self, client: Client, protocol: String) {
        *lock(&self.about) = (Some(client), Some(protocol));
    }

    /// The gravest messages only, from now on.
    pub(crate) fn set_level(&self, level: Level) {
        self.level.store(level as u8, Relaxed);
    }

    /// Whether messages as grave as this are wanted.
    pub(crate) fn wants_log(&self, level: Level) -> bool {
        level as u8 >= self.level.load(Relaxed)
    }

    /// Who is told of changes in its name.
    pub(crate) fn watcher(&self) -> &Arc<Watcher> {
        &self.watcher
    }

    /// Subscribes to a resource; says no when it has too many already.
    pub(crate) fn subscribe(&self, uri: &str, max: usize, watch: impl FnOnce() -> Watch) -> bool {
        let mut all = lock(&self.subscriptions);
        if all.contains_key(uri) {
            return true;
        }
        if all.len() >= max {
            return false;
        }
        all.insert(uri.to_owned(), watch());
        self.watcher.want(Change::Updated(uri.to_owned()));
        true
    }

    /// Ends the subscription to a resource.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        let watch = lock(&self.subscriptions).remove(uri);
        self.watcher.unwant(&Change::Updated(uri.to_owned()));
        drop(watch);
    }

    /// Ends it: nothing more goes in or out, and calls that are under way stop.
    pub(crate) fn end(&self) {
        self.ended.cancel();
        let subscriptions = std::mem::take(&mut *lock(&self.subscriptions));
        drop(subscriptions);
    }

    /// What may be shown of it.
    pub(crate) fn info(&self) -> SessionInfo {
        let (client, protocol) = lock(&self.about).clone();
        SessionInfo {
            id: self.id.chars().take(ID_SHOWN).collect(),
            principal: self.principal.clone(),
            client,
            protocol,
            transport: self.transport,
            age: self.opened.elapsed(),
            idle: self.idle(),
            calls: self.calls.load(Relaxed),
        }
    }
}

/// Without the secret: what is logged must not open a session.
impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Session").field(&self.info()).finish()
    }
}
