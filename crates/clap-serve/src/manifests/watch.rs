//! Notifies clients of changes. Every search records the differences, so that no change is missed between what
//! a client has seen and the next search.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use mcp_serve::Server;
use parking_lot::MutexGuard;
use tokio::task::AbortHandle;

use super::{
    Manifests,
    walk::{Stamp, Walked},
};

/// The minimum ratio of the interval to the duration of a search: a search takes at most a twentieth of a
/// processor.
const REST: u32 = 19;
/// The maximum interval, even if a search takes very long.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// A search that takes this long is logged.
const SLOW: Duration = Duration::from_secs(1);

/// Notifies clients of changes until it is dropped.
#[derive(Debug)]
#[must_use = "nobody is told of changes after it is dropped"]
pub struct Watching(AbortHandle);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The state at the last search, and the pending notifications.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) is_watched: bool,
    last: Option<BTreeMap<String, Stamp>>,
    is_another_list: bool,
    changed: BTreeSet<String>,
}

/// The pending notifications.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) is_another_list: bool,
    /// The URIs of files that have changed, are new or gone.
    pub(super) changed: BTreeSet<String>,
}

impl Seen {
    /// Compares with the state before.
    pub(super) fn note(&mut self, walked: &Walked) {
        if !self.is_watched {
            return;
        }
        let stamps = walked.found.iter().map(|found| (found.uri.clone(), found.stamp.clone()));
        let now: BTreeMap<_, _> = stamps.collect();
        let Some(last) = self.last.replace(now) else { return };
        let Some(now) = &self.last else { return };
        let is_other = |uri: &&String| match (last.get(*uri), now.get(*uri)) {
            (Some(before), Some(stamp)) => stamp.may_differ(before),
            _ => true,
        };
        self.changed.extend(last.keys().chain(now.keys()).filter(is_other).cloned());
        self.is_another_list |= !last.keys().eq(now.keys());
    }

    pub(super) fn take(&mut self) -> Changes {
        Changes {
            is_another_list: std::mem::take(&mut self.is_another_list),
            changed: std::mem::take(&mut self.changed),
        }
    }
}

impl Manifests {
    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock()
    }
}

/// Starts to watch, from the current state on.
pub(super) async fn watch(manifests: Manifests, server: Server) -> Watching {
    manifests.seen().is_watched = true;
    let mut log = Log::default();
    let wait = look(&manifests, &mut log).await;
    Watching(tokio::spawn(look_again(manifests, server, wait, log)).abort_handle())
}

async fn look_again(manifests: Manifests, server: Server, mut wait: Duration, mut log: Log) {
    loop {
        tokio::time::sleep(wait).await;
        if is_anybody_there(&server) {
            wait = look(&manifests, &mut log).await;
        }
        tell(&server, manifests.seen().take());
    }
}

/// Searches once, and returns the time to the next search.
async fn look(manifests: &Manifests, log: &mut Log) -> Duration {
    let every = manifests.0.rules.limits.look_every;
    // It fails only during shutdown of the runtime.
    let Ok(walked) = manifests.walk().await else { return every };
    let wait = pause(every, walked.took);
    log.write(&walked, wait);
    wait
}

/// What has been logged already, to be logged once.
#[derive(Debug, Default)]
struct Log {
    is_cut: bool,
    is_slow: bool,
}

impl Log {
    fn write(&mut self, walked: &Walked, every: Duration) {
        if walked.is_cut && !std::mem::replace(&mut self.is_cut, true) {
            let listed = walked.found.len();
            tracing::warn!(listed, "there is more to look at for manifests than the limits let");
        }
        let took = walked.took;
        if took >= SLOW && !std::mem::replace(&mut self.is_slow, true) {
            tracing::warn!(
                ?took,
                ?every,
                "looking for manifests takes long: it is done less often"
            );
        }
    }
}

/// Clients that listen without a session count too.
pub(super) fn is_anybody_there(server: &Server) -> bool {
    let metrics = server.metrics();
    metrics.sessions_open > 0 || metrics.listeners_open > 0
}

fn tell(server: &Server, changes: Changes) {
    if changes.is_another_list {
        server.resources_changed();
    }
    changes.changed.iter().for_each(|uri| server.resource_updated(uri));
}

/// The time to the next search.
fn pause(every: Duration, took: Duration) -> Duration {
    every.max(took.saturating_mul(REST).min(WAIT_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_look_is_done_more_rarely() {
        let second = Duration::from_secs(1);
        assert_eq!(pause(2 * second, second / 1000), 2 * second);
        assert_eq!(pause(2 * second, second), 19 * second);
        assert_eq!(pause(2 * second, 1000 * second), WAIT_MAX);
        assert_eq!(pause(90 * second, 1000 * second), 90 * second);
    }
}
