//! What tables, the committer and the keeper share: everything but the catalog.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};

use crate::storage::Options;
use crate::storage::maintenance::clock::ClockWatch;
use crate::storage::persist::epochs::Epochs;
use crate::storage::persist::folder::Folder;
use crate::storage::persist::free_space::Disk;
use crate::storage::persist::store::Store;
use crate::storage::write::budget::Budget;
use crate::storage::write::commit::AppendRequest;

/// What is shared.
pub(crate) struct Shared {
    pub(crate) folder: Arc<Folder>,
    pub(crate) options: Options,
    pub(crate) store: Store,
    pub(crate) budget: Arc<Budget>,
    /// Appends on their way to the committer; nothing only wakes it.
    pub(crate) queue: mpsc::Sender<Option<AppendRequest>>,
    pub(crate) wakeup: Wakeup,
    /// Wakes the scrub.
    pub(crate) scrub_wakeup: Wakeup,
    pub(crate) clock: ClockWatch,
    pub(crate) disk: Disk,
    pub(crate) epochs: Epochs,
    /// Why retention drops less of a table than its rule says, by the table's id.
    pub(crate) held: Mutex<BTreeMap<u64, String>>,
    /// Why the last flush failed, while it does.
    pub(crate) flush_error: Mutex<Option<String>>,
    pub(crate) closed: AtomicBool,
    /// A permit for each thread that may decode rows.
    pub(crate) decoders: Semaphore,
}

impl Shared {
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Tells all threads that there is no more to do.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.wakeup.ring();
        self.scrub_wakeup.ring();
        // When the queue is full the committer is awake.
        let _ = self.queue.try_send(None);
    }

    pub(crate) fn held(&self, table: u64) -> Option<String> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).get(&table).cloned()
    }

    pub(crate) fn set_held(&self, table: u64, reason: Option<String>) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match reason {
            Some(reason) => _ = held.insert(table, reason),
            None => _ = held.remove(&table),
        }
    }

    pub(crate) fn flush_error(&self) -> Option<String> {
        self.flush_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_trouble(&self, flush_error: Option<String>) {
        *self.flush_error.lock().unwrap_or_else(PoisonError::into_inner) = flush_error;
    }
}

/// Wakes the keeper.
#[derive(Debug, Default)]
pub(crate) struct Wakeup {
    rung: Mutex<bool>,
    condition: Condvar,
}

impl Wakeup {
    pub(crate) fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.condition.notify_one();
    }

    /// Waits until it is rung, or for so long.
    pub(crate) fn wait(&self, timeout: Duration) {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.condition.wait_timeout_while(rung, timeout, |rung| !*rung);
        let (mut rung, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *rung = false;
    }
}

/// The time of an insert: microseconds since 1970 in UTC.
pub(crate) fn now() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}
