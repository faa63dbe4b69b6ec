//! Who is at the other end of a connection, as far as it has shown. The connection gives each of its
//! requests the visitor; whoever finds out more about it says so there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const SILENT: u8 = 0;
const ASKS: u8 = 1;
const STAYS: u8 = 2;

/// Whoever made a connection. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Visitor(Arc<AtomicU8>);

impl Default for Visitor {
    fn default() -> Self {
        Self(Arc::new(AtomicU8::new(SILENT)))
    }
}

impl Visitor {
    /// It has asked for something.
    pub(super) fn asks(&self) {
        self.0.fetch_max(ASKS, Ordering::Relaxed);
    }

    /// It has shown that it may stay as long as it likes.
    pub(super) fn stays(&self) {
        self.0.fetch_max(STAYS, Ordering::Relaxed);
    }

    pub(super) fn has_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= ASKS
    }

    pub(super) fn may_stay(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= STAYS
    }
}
