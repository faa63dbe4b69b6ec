//! Telling clients what changes. What differs is noted whenever somebody looks, so that nothing is
//! missed between what one client was shown and the next look.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

use mcp_serve::Server;
use tokio::task::AbortHandle;

use super::{
    Manifests,
    walk::{Stamp, Walked},
};

/// How much longer than a look the time to the next one is: looking takes at most a twentieth of a
/// processor.
const REST: u32 = 19;
/// How long may be waited even where a look takes very long.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// A look that takes as long as this is worth a line of the log.
const SLOW: Duration = Duration::from_secs(1);

/// Clients are told of changes, until this is dropped.
#[derive(Debug)]
#[must_use = "nobody is told of changes after it is dropped"]
pub struct Watching(AbortHandle);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What was there at the last look, and what clients are to be told.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) is_watched: bool,
    last: Option<BTreeMap<String, Stamp>>,
    is_another_list: bool,
    changed: BTreeSet<String>,
}

/// What clients are to be told.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) is_another_list: bool,
    /// The addresses of files that hold something else, are new or gone.
    pub(super) changed: BTreeSet<String>,
}

impl Seen {
    /// Compares with what was there before.
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
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Begins to watch, with what is there now: what changes after this is told.
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

/// Looks once, and says when to look again.
async fn look(manifests: &Manifests, log: &mut Log) -> Duration {
    let every = manifests.0.rules.limits.look_every;
    // It fails only while the runtime ends.
    let Ok(walked) = manifests.walk().await else { return every };
    let wait = pause(every, walked.took);
    log.write(&walked, wait);
    wait
}

/// What has been said already, and is not said again at every look.
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

/// Who listens without a session counts too.
pub(super) fn is_anybody_there(server: &Server) -> bool {
    let figures = server.figures();
    figures.sessions_open > 0 || figures.listeners_open > 0
}

fn tell(server: &Server, changes: Changes) {
    if changes.is_another_list {
        server.resources_changed();
    }
    changes.changed.iter().for_each(|uri| server.resource_updated(uri));
}

/// The time to the next look.
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
