//! The table of sessions: opens them within the limits, finds them for their principal, and closes idle
//! ones.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rmcp::model::ClientJsonRpcMessage;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{PendingSession, Session, Streams};
use crate::{
    Level, Limits, Principal, SessionInfo, Transport,
    metrics::Counters,
    notifier::{Change, Notifier},
};

/// The incoming messages that are queued for a session.
const INBOX_MESSAGES: usize = 16;

/// The bytes of an id. 128 random bits cannot be guessed.
const ID_BYTES: usize = 16;

/// The bounds of the interval at which idle sessions are closed: a quarter of the shortest limit.
const SWEEP_INTERVAL_MAX: Duration = Duration::from_secs(5);
const SWEEP_INTERVAL_MIN: Duration = Duration::from_millis(20);

/// Why no session was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionRefused {
    /// The limit is reached, and no session may be evicted.
    Full,
    /// The server is closing.
    Closing,
    /// The system has no random numbers.
    NoId,
}

/// All sessions.
pub(crate) struct Sessions {
    limits: Limits,
    counters: Arc<Counters>,
    notifier: Arc<Notifier>,
    closing: CancellationToken,
    open: Mutex<HashMap<Arc<str>, Arc<Session>>>,
    is_sweeping: AtomicBool,
}

impl Sessions {
    pub(crate) fn new(
        limits: Limits,
        counters: Arc<Counters>,
        notifier: Arc<Notifier>,
        closing: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            limits,
            counters,
            notifier,
            closing,
            open: Mutex::default(),
            is_sweeping: AtomicBool::new(false),
        })
    }

    /// Opens a session. At the limit it evicts an idle session of the same principal, and refuses if there is
    /// none: however many sessions are opened, none in use is evicted for them.
    pub(crate) fn open(
        self: &Arc<Self>,
        principal: &Principal,
        transport: Transport,
    ) -> Result<PendingSession, SessionRefused> {
        let opened = self.open_at(principal, transport, Instant::now())?;
        self.start_sweeper();
        Ok(opened)
    }

    fn open_at(
        &self,
        principal: &Principal,
        transport: Transport,
        now: Instant,
    ) -> Result<PendingSession, SessionRefused> {
        if self.closing.is_cancelled() {
            return Err(SessionRefused::Closing);
        }
        let id: Arc<str> = random_id().ok_or(SessionRefused::NoId)?.into();
        if let Some(evicted) = self.to_evict(principal, now)? {
            self.close(&evicted.id);
        }
        let (inbox, receiver) = mpsc::channel(INBOX_MESSAGES);
        let session = Arc::new(self.session(id.clone(), principal.clone(), transport, inbox, now));
        self.open.lock().insert(id, session.clone());
        self.counters.sessions_opened.add(1);
        Ok((session, receiver))
    }

    /// The session with this id, if it belongs to this principal. Marks it as used.
    pub(crate) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        let open = self.open.lock();
        let session = open.get(id).filter(|session| session.principal == *principal)?;
        session.touch();
        Some(session.clone())
    }

    /// The session with this id, of any principal.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Session>> {
        self.open.lock().get(id).cloned()
    }

    /// Closes a session.
    pub(crate) fn close(&self, id: &str) {
        let session = self.open.lock().remove(id);
        if let Some(session) = session {
            session.end();
        }
    }

    /// Closes all sessions.
    pub(crate) fn close_all(&self) {
        let all: Vec<Arc<str>> = self.open.lock().keys().cloned().collect();
        all.iter().for_each(|id| self.close(id));
    }

    pub(crate) fn len(&self) -> usize {
        self.open.lock().len()
    }

    pub(crate) fn infos(&self) -> Vec<SessionInfo> {
        let mut infos: Vec<_> = self.open.lock().values().map(|session| session.info()).collect();
        infos.sort_by_key(|info| std::cmp::Reverse(info.age));
        infos
    }

    fn session(
        &self,
        id: Arc<str>,
        principal: Principal,
        transport: Transport,
        inbox: mpsc::Sender<ClientJsonRpcMessage>,
        now: Instant,
    ) -> Session {
        Session {
            id,
            principal,
            transport,
            ended: self.closing.child_token(),
            input_closed: CancellationToken::new(),
            inbox,
            streams: Streams::new(&self.limits, self.counters.clone()),
            peer: OnceLock::new(),
            is_initialized: AtomicBool::new(false),
            opened: now,
            used_ms: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            log_level: AtomicU8::new(Level::Info as u8),
            client: Mutex::default(),
            subscriptions: Mutex::default(),
            subscriber: self.notifier.subscriber([
                Change::Tools,
                Change::Prompts,
                Change::Resources,
            ]),
        }
    }

    /// The session to evict for a new one; none below the limit.
    fn to_evict(
        &self,
        principal: &Principal,
        now: Instant,
    ) -> Result<Option<Arc<Session>>, SessionRefused> {
        let open = self.open.lock();
        let own = || open.values().filter(|session| session.principal == *principal);
        let has_room = open.len() < self.limits.sessions_max
            && own().count() < self.limits.sessions_per_principal_max;
        if has_room {
            return Ok(None);
        }
        // Sessions that were never used come first, then those that have been idle for a while. Their
        // clients get 404 and open a new session, as the specification says.
        let evict_after = self.limits.session_evict_after;
        let candidate = own()
            .filter(|session| !session.has_reader())
            .filter(|session| !session.is_used() || session.idle(now) > evict_after)
            .max_by_key(|session| (!session.is_used(), session.idle(now)));
        match candidate {
            Some(session) => Ok(Some(session.clone())),
            None => {
                self.counters.refused_by_limit.add(1);
                Err(SessionRefused::Full)
            }
        }
    }

    /// Closes idle sessions in the background, as long as there are sessions.
    fn start_sweeper(self: &Arc<Self>) {
        if self.is_sweeping.swap(true, Relaxed) {
            return;
        }
        let shortest = self.limits.session_idle_max.min(self.limits.unread_time_max);
        let interval = (shortest / 4).clamp(SWEEP_INTERVAL_MIN, SWEEP_INTERVAL_MAX);
        tokio::spawn(sweep(Arc::downgrade(self), self.closing.clone(), interval));
    }

    /// Closes idle sessions and abandoned streams. Returns whether any session is left.
    fn sweep(&self, now: Instant) -> bool {
        let all: Vec<Arc<Session>> = self.open.lock().values().cloned().collect();
        for session in all {
            for request in session.streams.remove_abandoned(now) {
                let _ = session.inbox.try_send(request);
            }
            if !session.has_reader() && session.idle(now) > self.limits.session_idle_max {
                self.counters.sessions_expired.add(1);
                self.close(&session.id);
            }
        }
        let open = self.open.lock();
        // Under the lock: a session that is opened after this starts a new sweeper.
        self.is_sweeping.store(!open.is_empty(), Relaxed);
        !open.is_empty()
    }
}

async fn sweep(sessions: Weak<Sessions>, closing: CancellationToken, interval: Duration) {
    while closing.run_until_cancelled(tokio::time::sleep(interval)).await.is_some() {
        match sessions.upgrade() {
            Some(sessions) if sessions.sweep(Instant::now()) => {}
            _ => return,
        }
    }
}

/// A random id.
pub(crate) fn random_id() -> Option<String> {
    let mut bytes = [0_u8; ID_BYTES];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Omits the ids: they are secrets.
impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").field("open", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE_MAX: Duration = Duration::from_secs(1800);
    const EVICT_AFTER: Duration = Duration::from_secs(300);
    const MS: Duration = Duration::from_millis(1);

    fn sessions(max: usize, per_principal_max: usize) -> Arc<Sessions> {
        let limits = Limits {
            sessions_max: max,
            sessions_per_principal_max: per_principal_max,
            session_idle_max: IDLE_MAX,
            session_evict_after: EVICT_AFTER,
            ..Limits::default()
        };
        let counters = Arc::<Counters>::default();
        Sessions::new(limits, counters, Arc::default(), CancellationToken::new())
    }

    fn open(sessions: &Sessions, principal: &str, now: Instant) -> Option<Arc<Session>> {
        let opened = sessions.open_at(&Principal::new(principal), Transport::Http, now);
        opened.ok().map(|(session, _)| session)
    }

    #[test]
    fn a_session_is_found_by_its_principal_alone() {
        let (sessions, now) = (sessions(8, 8), Instant::now());
        let session = open(&sessions, "alice", now).unwrap();
        assert!(sessions.find(&session.id, &Principal::new("alice")).is_some());
        assert!(sessions.find(&session.id, &Principal::new("bob")).is_none());
        assert!(sessions.find("other", &Principal::new("alice")).is_none());
        assert!(!format!("{sessions:?} {session:?}").contains(&*session.id), "ids are secrets");
    }

    #[test]
    fn an_idle_session_expires_and_one_that_is_used_or_read_does_not() {
        let (sessions, start) = (sessions(8, 8), Instant::now());
        let idle = open(&sessions, "alice", start).unwrap();
        let used = open(&sessions, "alice", start).unwrap();
        let read = open(&sessions, "alice", start).unwrap();
        let _listener = read.streams.listener().unwrap();
        used.touch_at(start + MS);
        assert!(sessions.sweep(start + IDLE_MAX));
        assert_eq!(sessions.len(), 3, "none has been idle for longer than the limit");
        assert!(sessions.sweep(start + IDLE_MAX + MS));
        assert!(idle.ended.is_cancelled());
        assert_eq!(sessions.counters.sessions_expired.get(), 1);
        assert!(sessions.sweep(start + IDLE_MAX + 2 * MS));
        assert!(used.ended.is_cancelled() && !read.ended.is_cancelled());
        assert_eq!(sessions.len(), 1);
    }

    #[test]
    fn at_the_limit_an_unused_session_is_evicted_at_once_and_a_used_one_after_a_while() {
        let (sessions, start) = (sessions(8, 2), Instant::now());
        let used = open(&sessions, "alice", start).unwrap();
        used.count_request();
        let unused = open(&sessions, "alice", start).unwrap();
        let third = open(&sessions, "alice", start + MS).unwrap();
        assert!(unused.ended.is_cancelled() && !used.ended.is_cancelled());
        third.count_request();
        third.touch_at(start + EVICT_AFTER);
        assert!(open(&sessions, "alice", start + EVICT_AFTER).is_none(), "both are in use");
        assert_eq!(sessions.counters.refused_by_limit.get(), 1);
        assert!(open(&sessions, "alice", start + EVICT_AFTER + MS).is_some());
        assert!(used.ended.is_cancelled() && !third.ended.is_cancelled());
    }

    #[test]
    fn no_principal_evicts_the_session_of_another() {
        let (sessions, start) = (sessions(1, 1), Instant::now());
        let alice = open(&sessions, "alice", start).unwrap();
        let late = start + 2 * EVICT_AFTER;
        assert!(open(&sessions, "bob", late).is_none());
        assert!(!alice.ended.is_cancelled());
    }

    #[test]
    fn a_server_that_closes_opens_no_session() {
        let (sessions, now) = (sessions(8, 8), Instant::now());
        let session = open(&sessions, "alice", now).unwrap();
        sessions.closing.cancel();
        assert!(session.ended.is_cancelled());
        assert!(open(&sessions, "alice", now).is_none());
    }

    #[test]
    fn an_abandoned_stream_is_cancelled_when_its_client_has_not_resumed_in_time() {
        let (sessions, start) = (sessions(8, 8), Instant::now());
        let (session, mut inbox) =
            sessions.open_at(&Principal::default(), Transport::Http, start).unwrap();
        let stream = session.streams.add(&rmcp::model::RequestId::Number(1)).unwrap();
        stream.abandon();
        let unread_time_max = sessions.limits.unread_time_max;
        sessions.sweep(start + unread_time_max / 2);
        assert!(!stream.cancelled().is_cancelled());
        sessions.sweep(Instant::now() + unread_time_max + MS);
        assert!(stream.cancelled().is_cancelled());
        assert!(inbox.try_recv().is_ok(), "the request is cancelled by a message");
        assert_eq!(sessions.counters.streams_cut.get(), 1);
    }
}
