//! The scrub: a thread that verifies all data files again and again, slowly, so that damage is known
//! while there is a backup, and not when the rows are needed.

use std::time::{Duration, Instant};

use crate::storage::parquet_files::verify::{Verification, verify};
use crate::storage::shared::Shared;
use crate::storage::tables::catalog::Catalog;

/// How long it waits after the start, when a node has other things to do.
const FIRST_AFTER: Duration = Duration::from_secs(60);

/// Verifies until the storage is closed.
pub(crate) fn run(shared: &Shared, catalog: &Catalog) {
    let every = shared.options.scrub_every;
    let mut next = Instant::now() + every.min(FIRST_AFTER);
    loop {
        shared.scrub_wakeup.wait(next.saturating_duration_since(Instant::now()));
        if shared.is_closed() {
            return;
        }
        if Instant::now() >= next {
            next = Instant::now() + every;
            pass(shared, catalog);
        }
    }
}

/// Verifies all files once.
fn pass(shared: &Shared, catalog: &Catalog) {
    let mut pace = Pace { shared, due: Instant::now() };
    match verify(&catalog.all(), |bytes| pace.keep(bytes)) {
        Ok(Verification { files, bytes, damaged, .. }) => {
            let damaged = damaged.len();
            tracing::debug!(files, bytes, damaged, "the files were verified");
        }
        Err(error) => tracing::warn!(%error, "the files cannot be verified"),
    }
}

/// Holds the reading back to what it may take of the disk.
struct Pace<'a> {
    shared: &'a Shared,
    /// When all that was read is paid for.
    due: Instant,
}

impl Pace<'_> {
    /// Waits after so many bytes were read, and says whether to go on.
    fn keep(&mut self, bytes: u64) -> bool {
        let rate = self.shared.options.scrub_bytes_per_s.max(1);
        let cost = Duration::from_secs_f64(bytes as f64 / rate as f64);
        self.due = self.due.max(Instant::now()) + cost;
        while !self.shared.is_closed() && Instant::now() < self.due {
            self.shared.scrub_wakeup.wait(self.due.saturating_duration_since(Instant::now()));
        }
        !self.shared.is_closed()
    }
}
