//! How many bytes of rows of the memtable memory may hold, over all tables, and who waits for some.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// The bytes of rows of the memtable, those on their way to the disk included.
#[derive(Debug)]
pub(crate) struct Budget {
    limit_bytes: u64,
    used_bytes: AtomicU64,
    freed: Notify,
    waiting: AtomicUsize,
}

/// Bytes that were taken for rows which are not stored yet. Dropped, it gives them back.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Budget {
    pub(crate) fn new(limit_bytes: u64) -> Self {
        Self {
            limit_bytes,
            used_bytes: AtomicU64::new(0),
            freed: Notify::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Acquire)
    }

    /// Whether so much is used, or a writer waits, that flushing should not wait for more.
    pub(crate) fn is_pressed(&self) -> bool {
        self.used_bytes() > self.limit_bytes / 2 || self.waiting.load(Ordering::Acquire) > 0
    }

    /// Takes bytes. Until there are so many, it waits, and says so. One who is alone gets any number.
    pub(crate) async fn take(self: &Arc<Self>, bytes: u64, waits: impl Fn()) -> Reservation {
        let mut waiting = None;
        loop {
            // Registered before the attempt, so that bytes freed in between are not missed.
            let freed = self.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            let taken = self.used_bytes.try_update(Ordering::AcqRel, Ordering::Acquire, |used| {
                let after = used.saturating_add(bytes);
                (used == 0 || after <= self.limit_bytes).then_some(after)
            });
            if taken.is_ok() {
                return Reservation { budget: Arc::clone(self), bytes };
            }
            waiting.get_or_insert_with(|| Waiting::new(self));
            waits();
            freed.await;
        }
    }

    /// Takes bytes whether or not there are any.
    pub(crate) fn force(self: &Arc<Self>, bytes: u64) -> Reservation {
        self.used_bytes.fetch_add(bytes, Ordering::AcqRel);
        Reservation { budget: Arc::clone(self), bytes }
    }

    /// Gives bytes back.
    pub(crate) fn give(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::AcqRel);
        self.freed.notify_waiters();
    }
}

/// Somebody who waits, until this is dropped.
struct Waiting<'a>(&'a Budget);

impl<'a> Waiting<'a> {
    fn new(budget: &'a Budget) -> Self {
        budget.waiting.fetch_add(1, Ordering::AcqRel);
        Self(budget)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Reservation {
    /// The rows are stored: the bytes stay taken until they are given back one by one.
    pub(crate) fn keep(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.give(self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_waiter_gets_what_another_gives_back() {
        let budget = Arc::new(Budget::new(100));
        let first = budget.take(80, || {}).await;
        let waiter = tokio::spawn({
            let budget = Arc::clone(&budget);
            async move { budget.take(50, || {}).await.bytes }
        });
        tokio::task::yield_now().await;
        assert!(!waiter.is_finished() && budget.is_pressed());
        drop(first);
        assert_eq!(waiter.await.unwrap(), 50);
        assert_eq!(budget.used_bytes(), 0);
        budget.take(40, || {}).await.keep();
        assert_eq!(budget.used_bytes(), 40);
        budget.give(40);
        let alone = budget.take(1000, || {}).await;
        assert_eq!(alone.bytes, 1000);
    }
}
