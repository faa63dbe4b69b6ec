//! Who is at the other end of a connection, as far as it has shown, and what it is doing. The
//! connection gives each of its requests the visitor; a later layer that learns more records it there.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const SILENT: u8 = 0;
const ASKS: u8 = 1;
const STAYS: u8 = 2;

/// Whoever made a connection. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Visitor(Arc<Shown>);

#[derive(Debug)]
struct Shown {
    came: Instant,
    /// When it last did something, in milliseconds since it came.
    active_ms: AtomicU64,
    state: AtomicU8,
    /// The requests that have begun and are not yet answered to the end.
    requests: AtomicUsize,
    /// Those of them whose bodies are still to come.
    receiving: AtomicUsize,
    /// Replies of which a piece was given that nobody has taken yet, and since when.
    unread: Mutex<HashMap<usize, Instant>>,
}

impl Default for Visitor {
    fn default() -> Self {
        Self(Arc::new(Shown {
            came: Instant::now(),
            active_ms: AtomicU64::new(0),
            state: AtomicU8::new(SILENT),
            requests: AtomicUsize::new(0),
            receiving: AtomicUsize::new(0),
            unread: Mutex::default(),
        }))
    }
}

impl Visitor {
    /// It has asked for something.
    pub(super) fn asks(&self) {
        self.0.state.fetch_max(ASKS, Relaxed);
    }

    /// It has shown that it may stay as long as it likes.
    pub(super) fn stays(&self) {
        self.0.state.fetch_max(STAYS, Relaxed);
    }

    pub(super) fn has_asked(&self) -> bool {
        self.0.state.load(Relaxed) >= ASKS
    }

    pub(super) fn may_stay(&self) -> bool {
        self.0.state.load(Relaxed) >= STAYS
    }

    /// It has begun a request, whose body is still to come or not.
    pub(super) fn begins(&self, is_receiving: bool) -> Under {
        self.is_active();
        self.0.requests.fetch_add(1, Relaxed);
        if is_receiving {
            self.0.receiving.fetch_add(1, Relaxed);
        }
        Under(Arc::new(Progress {
            visitor: self.clone(),
            is_receiving: is_receiving.into(),
            is_unread: AtomicBool::new(false),
        }))
    }

    /// It has done something.
    fn is_active(&self) {
        let now = u64::try_from(self.0.came.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.active_ms.store(now, Relaxed);
    }

    /// Whether nothing is being done for it: it has no request, or none whose body has come.
    pub(super) fn is_idle(&self) -> bool {
        self.0.requests.load(Relaxed) <= self.0.receiving.load(Relaxed)
    }

    /// For how long it has not read on what it is given.
    pub(super) fn unread_for(&self) -> Duration {
        let unread = self.0.unread.lock().unwrap_or_else(PoisonError::into_inner);
        unread.values().min().map_or(Duration::ZERO, Instant::elapsed)
    }

    /// When it last did something.
    pub(super) fn last_active(&self) -> Instant {
        self.0.came + Duration::from_millis(self.0.active_ms.load(Relaxed))
    }
}

/// A request in flight, for as long as this handle lives.
#[derive(Clone, Debug)]
pub(super) struct Under(Arc<Progress>);

#[derive(Debug)]
struct Progress {
    visitor: Visitor,
    is_receiving: AtomicBool,
    is_unread: AtomicBool,
}

impl Under {
    /// A piece of the reply is given, and more will come.
    pub(super) fn gives(&self) {
        self.0.is_unread.store(true, Relaxed);
        let unread = &self.0.visitor.0.unread;
        let mut unread = unread.lock().unwrap_or_else(PoisonError::into_inner);
        unread.insert(Arc::as_ptr(&self.0).addr(), Instant::now());
    }

    /// What was given is taken.
    pub(super) fn is_taken(&self) {
        self.0.is_taken(Arc::as_ptr(&self.0).addr());
    }

    /// Some more of the body has come.
    pub(super) fn goes_on(&self) {
        self.0.visitor.is_active();
    }

    /// The body is there, or nobody waits for it.
    pub(super) fn has_come(&self) {
        self.0.has_come();
    }
}

impl Progress {
    fn is_taken(&self, address: usize) {
        if self.is_unread.swap(false, Relaxed) {
            let unread = self.visitor.0.unread.lock();
            unread.unwrap_or_else(PoisonError::into_inner).remove(&address);
        }
    }

    fn has_come(&self) {
        if self.is_receiving.swap(false, Relaxed) {
            self.visitor.0.receiving.fetch_sub(1, Relaxed);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.visitor.is_active();
        self.is_taken(std::ptr::from_ref(self).addr());
        // First: a request that is still received is one that is there.
        self.has_come();
        self.visitor.0.requests.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitor_is_idle_until_a_body_has_come_and_again_when_all_is_answered() {
        let visitor = Visitor::default();
        assert!(visitor.is_idle());
        let sends = visitor.begins(true);
        assert!(visitor.is_idle(), "its body is still to come");
        let asks = visitor.begins(false);
        assert!(!visitor.is_idle());
        drop(asks);
        assert!(visitor.is_idle());
        sends.has_come();
        sends.has_come();
        assert!(!visitor.is_idle());
        drop(sends.clone());
        assert!(!visitor.is_idle(), "a handle still lives");
        drop(sends);
        assert!(visitor.is_idle());
    }

    #[test]
    fn what_is_given_is_unread_until_more_is_wanted_or_nobody_wants_it() {
        let visitor = Visitor::default();
        let (one, other) = (visitor.begins(false), visitor.begins(false));
        assert_eq!(visitor.unread_for(), Duration::ZERO);
        one.gives();
        other.gives();
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(2) {}
        one.is_taken();
        assert!(visitor.unread_for() >= Duration::from_millis(2));
        drop(other);
        assert_eq!(visitor.unread_for(), Duration::ZERO);
    }

    #[test]
    fn who_does_something_was_active_later() {
        let (one, other) = (Visitor::default(), Visitor::default());
        assert!(one.last_active() <= other.last_active());
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(2) {}
        one.begins(false).goes_on();
        assert!(one.last_active() > other.last_active());
    }
}
