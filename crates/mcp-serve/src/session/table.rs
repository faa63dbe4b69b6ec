//! All sessions: opened within the limits, found by who they belong to, ended when nobody uses them.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use rmcp::model::ClientJsonRpcMessage;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Session, Streams};
use crate::{
    Level, Limits, Principal, SessionInfo, Transport,
    figures::Counters,
    hub::{Change, Hub},
    lock::lock,
};

/// The messages of a client that wait until the session takes them.
const INBOX_MESSAGES: usize = 16;

/// The bytes of an id: nobody guesses 128 bits.
const ID_BYTES: usize = 16;

/// How often sessions are looked at that may have to end. Also of the shortest times that are set.
const SWEEP_MAX: Duration = Duration::from_secs(5);
const SWEEP_MIN: Duration = Duration::from_millis(20);

/// Why a session was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There are too many.
    Full,
    /// The server ends.
    Closing,
    /// The system has no random numbers.
    NoId,
}

/// All sessions.
pub(crate) struct Sessions {
    limits: Limits,
    counters: Arc<Counters>,
    hub: Arc<Hub>,
    closing: CancellationToken,
    open: Mutex<HashMap<Arc<str>, Arc<Session>>>,
    is_swept: AtomicBool,
}

impl Sessions {
    pub(crate) fn new(
        limits: Limits,
        counters: Arc<Counters>,
        hub: Arc<Hub>,
        closing: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            limits,
            counters,
            hub,
            closing,
            open: Mutex::default(),
            is_swept: AtomicBool::new(false),
        })
    }

    /// Opens a session. When there are too many, one ends that nobody misses, and without such a
    /// one the new session is refused: however many are begun, none that is in use ends for it.
    pub(crate) fn open(
        self: &Arc<Self>,
        principal: &Principal,
        transport: Transport,
    ) -> Result<(Arc<Session>, mpsc::Receiver<ClientJsonRpcMessage>), Refusal> {
        if self.closing.is_cancelled() {
            return Err(Refusal::Closing);
        }
        let id: Arc<str> = random_id().ok_or(Refusal::NoId)?.into();
        let spare = self.make_room(principal)?;
        if let Some(spare) = spare {
            self.close(&spare.id);
        }
        let (inbox, receiver) = mpsc::channel(INBOX_MESSAGES);
        let session = Arc::new(self.session(id.clone(), principal.clone(), transport, inbox));
        lock(&self.open).insert(id, session.clone());
        self.counters.sessions_opened.add(1);
        self.begin_to_sweep();
        Ok((session, receiver))
    }

    /// The session of this id, when it belongs to this principal.
    pub(crate) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        let open = lock(&self.open);
        let session = open.get(id).filter(|session| session.principal == *principal)?;
        session.touch();
        Some(session.clone())
    }

    /// The session of this id, whoever asks.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Session>> {
        lock(&self.open).get(id).cloned()
    }

    /// Ends a session.
    pub(crate) fn close(&self, id: &str) {
        let session = lock(&self.open).remove(id);
        if let Some(session) = session {
            session.end();
        }
    }

    /// Ends all sessions.
    pub(crate) fn close_all(&self) {
        let all: Vec<Arc<str>> = lock(&self.open).keys().cloned().collect();
        all.iter().for_each(|id| self.close(id));
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.open).len()
    }

    pub(crate) fn infos(&self) -> Vec<SessionInfo> {
        let mut infos: Vec<_> = lock(&self.open).values().map(|session| session.info()).collect();
        infos.sort_by_key(|info| std::cmp::Reverse(info.age));
        infos
    }

    fn session(
        &self,
        id: Arc<str>,
        principal: Principal,
        transport: Transport,
        inbox: mpsc::Sender<ClientJsonRpcMessage>,
    ) -> Session {
        Session {
            id,
            principal,
            transport,
            ended: self.closing.child_token(),
            hung_up: CancellationToken::new(),
            inbox,
            streams: Streams::new(&self.limits, self.counters.clone()),
            peer: OnceLock::new(),
            has_begun: AtomicBool::new(false),
            opened: Instant::now(),
            used_ms: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            level: AtomicU8::new(Level::Info as u8),
            about: Mutex::default(),
            subscriptions: Mutex::default(),
            watcher: self.hub.watcher([Change::Tools, Change::Prompts, Change::Resources]),
        }
    }

    /// The session that must end so that another one can begin, when there are too many.
    fn make_room(&self, principal: &Principal) -> Result<Option<Arc<Session>>, Refusal> {
        let open = lock(&self.open);
        let own = || open.values().filter(|session| session.principal == *principal);
        let has_room = open.len() < self.limits.sessions_max
            && own().count() < self.limits.sessions_per_principal_max;
        if has_room {
            return Ok(None);
        }
        // First those that were begun and never used; then those that nobody has used for a while.
        // Their clients get 404 and begin again, as they must know.
        let idle = self.limits.session_evict_after;
        let spare = own()
            .filter(|session| !session.is_attended())
            .filter(|session| !session.is_used() || session.idle() > idle)
            .max_by_key(|session| (!session.is_used(), session.idle()));
        match spare {
            Some(spare) => Ok(Some(spare.clone())),
            None => {
                self.counters.refused_by_limit.add(1);
                Err(Refusal::Full)
            }
        }
    }

    /// Looks after the sessions, as long as there are some.
    fn begin_to_sweep(self: &Arc<Self>) {
        if self.is_swept.swap(true, Relaxed) {
            return;
        }
        let shortest = self.limits.session_idle_max.min(self.limits.unread_time_max);
        let pause = (shortest / 4).clamp(SWEEP_MIN, SWEEP_MAX);
        tokio::spawn(sweep(Arc::downgrade(self), self.closing.clone(), pause));
    }

    /// Ends what nobody uses. Says whether there is something left to look after.
    fn sweep(&self) -> bool {
        let all: Vec<Arc<Session>> = lock(&self.open).values().cloned().collect();
        for session in all {
            for request in session.streams.abandoned() {
                let _ = session.inbox.try_send(request);
            }
            if !session.is_attended() && session.idle() > self.limits.session_idle_max {
                self.counters.sessions_expired.add(1);
                self.close(&session.id);
            }
        }
        let open = lock(&self.open);
        // Within the lock: who opens a session after this finds that nobody sweeps.
        self.is_swept.store(!open.is_empty(), Relaxed);
        !open.is_empty()
    }
}

async fn sweep(sessions: Weak<Sessions>, closing: CancellationToken, pause: Duration) {
    while closing.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
        match sessions.upgrade() {
            Some(sessions) if sessions.sweep() => {}
            _ => return,
        }
    }
}

/// An id that nobody guesses.
pub(crate) fn random_id() -> Option<String> {
    let mut bytes = [0_u8; ID_BYTES];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Without the ids: they are secrets.
impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").field("open", &self.len()).finish_non_exhaustive()
    }
}
