//! The memory of queries: each has a share of its own, and all shares come out of one total.
//!
//! An operator that can go to disk does so when it is refused memory, so a share that is refused
//! makes a query slower and not wrong. What cannot go to disk and is refused ends its query, and no
//! other. A share lives as long as the last operator of its query, so the shares that live are the
//! queries that run.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::{DataFusionError, Result, resources_datafusion_err};
use datafusion::execution::memory_pool::{
    FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};

use crate::sql::run::memory_watch::Known;

/// What an error says when it is the other queries that leave too little.
const TOGETHER: &str = "all queries together have";

/// Whether a query was refused memory that others have: it may have it later.
pub(crate) fn is_taken_by_others(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ResourcesExhausted(why) if why.contains(TOGETHER))
}

/// What all queries have together.
#[derive(Debug)]
pub(crate) struct MemoryTotal {
    limit_bytes: usize,
    used_bytes: AtomicUsize,
    queries: AtomicUsize,
}

impl MemoryTotal {
    pub(crate) fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, used_bytes: AtomicUsize::new(0), queries: AtomicUsize::new(0) }
    }

    /// How many queries run, or have not stopped yet.
    pub(crate) fn queries(&self) -> usize {
        self.queries.load(Ordering::Acquire)
    }

    /// How much memory they have taken.
    pub(crate) fn used_bytes(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// What each query has when all have the same.
    fn fair_bytes(&self) -> usize {
        self.limit_bytes / self.queries().max(1)
    }

    fn take(&self, bytes: usize) -> std::result::Result<(), usize> {
        let taken = self.used_bytes.try_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|after| *after <= self.limit_bytes)
        });
        taken.map(drop).map_err(|used| self.limit_bytes.saturating_sub(used))
    }
}

/// The memory of one query.
#[derive(Debug)]
pub(crate) struct QueryMemory {
    own: FairSpillPool,
    total: Arc<MemoryTotal>,
    /// By what the node knows it when the memory is short.
    known: Option<Known>,
}

impl QueryMemory {
    /// A share of so many bytes at most.
    pub(crate) fn new(total: &Arc<MemoryTotal>, limit_bytes: usize) -> Self {
        total.queries.fetch_add(1, Ordering::AcqRel);
        Self { own: FairSpillPool::new(limit_bytes), total: Arc::clone(total), known: None }
    }

    /// The share of a query that is ended when it holds the most while the memory is short.
    pub(crate) fn known_as(mut self, known: Option<Known>) -> Self {
        self.known = known;
        self
    }

    fn note(&self) {
        if let Some(known) = &self.known {
            known.used_bytes.store(self.own.reserved(), Ordering::Relaxed);
        }
    }

    /// Whether the query would have more than its part of the total, with others that want theirs,
    /// and has something there that it can put on disk instead.
    fn is_greedy(&self, reservation: &MemoryReservation, additional: usize) -> bool {
        reservation.consumer().can_spill()
            && reservation.size() > 0
            && self.own.reserved().saturating_add(additional) > self.total.fair_bytes()
    }
}

impl Drop for QueryMemory {
    fn drop(&mut self) {
        self.total.queries.fetch_sub(1, Ordering::AcqRel);
    }
}

impl MemoryPool for QueryMemory {
    fn name(&self) -> &str {
        "share"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.own.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.own.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.total.used_bytes.fetch_add(additional, Ordering::Relaxed);
        self.own.grow(reservation, additional);
        self.note();
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.own.shrink(reservation, shrink);
        self.note();
        self.total.used_bytes.fetch_sub(shrink, Ordering::Relaxed);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let refused = |left: usize| {
            let name = reservation.consumer().name();
            resources_datafusion_err!(
                "{name} wants {additional} bytes more, and {TOGETHER} {left} left"
            )
        };
        if self.is_greedy(reservation, additional) {
            return Err(refused(self.total.fair_bytes().saturating_sub(self.own.reserved())));
        }
        self.total.take(additional).map_err(refused)?;
        self.own.try_grow(reservation, additional).inspect_err(|_| {
            self.total.used_bytes.fetch_sub(additional, Ordering::Relaxed);
        })?;
        self.note();
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.own.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.own.memory_limit()
    }
}

impl fmt::Display for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(total: &Arc<MemoryTotal>, limit_bytes: usize) -> Arc<dyn MemoryPool> {
        Arc::new(QueryMemory::new(total, limit_bytes))
    }

    #[test]
    fn a_query_has_its_limit_and_all_have_the_total() {
        let total = Arc::new(MemoryTotal::new(100));
        let (one, two) = (pool(&total, 60), pool(&total, 60));
        let (a, b) =
            (MemoryConsumer::new("a").register(&one), MemoryConsumer::new("b").register(&two));
        assert!(!is_taken_by_others(&a.try_grow(61).unwrap_err()));
        a.try_grow(60).unwrap();
        assert!(is_taken_by_others(&b.try_grow(41).unwrap_err()));
        b.try_grow(40).unwrap();
        assert_eq!((total.used_bytes(), total.queries()), (100, 2));
        drop(a);
        b.try_grow(20).unwrap();
        drop((b, one, two));
        assert_eq!((total.used_bytes(), total.queries()), (0, 0));
    }

    #[test]
    fn who_can_go_to_disk_leaves_others_their_part() {
        let total = Arc::new(MemoryTotal::new(100));
        let (one, two) = (pool(&total, 100), pool(&total, 100));
        let spills = MemoryConsumer::new("a").with_can_spill(true).register(&one);
        spills.try_grow(50).unwrap();
        assert!(spills.try_grow(1).is_err());
        drop(two);
        spills.try_grow(50).unwrap();
    }
}
