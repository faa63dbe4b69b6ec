//! What has changed, told to who wants to know, each at its own speed.
//!
//! A change is a mark, not a message: marks that are not told yet are put together, so who reads
//! slowly gets one notification of many changes, holds little memory and blocks nobody.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, Weak},
};

use tokio::sync::Notify;

use crate::{Resources, lock::lock};

/// Something that a client may be told of. The order is the one in which marks are told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    Updated(String),
}

/// All who want to know.
#[derive(Default)]
pub(crate) struct Hub {
    watchers: Mutex<Vec<Weak<Watcher>>>,
    /// How many subscriptions each resource has.
    watched: Mutex<BTreeMap<String, usize>>,
    /// Who is told that a resource is watched.
    sources: Mutex<Vec<Arc<dyn Resources>>>,
}

/// One who wants to know.
#[derive(Debug, Default)]
pub(crate) struct Watcher {
    wants: Mutex<BTreeSet<Change>>,
    marks: Mutex<BTreeSet<Change>>,
    marked: Notify,
}

/// A subscription to a resource, until it is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    hub: Arc<Hub>,
    uri: String,
}

impl Hub {
    /// Marks a change for all who want to know of it.
    pub(crate) fn tell(&self, change: &Change) {
        lock(&self.watchers)
            .retain(|watcher| watcher.upgrade().map(|one| one.mark(change)).is_some());
    }

    /// Adds one who wants to know of these. It is forgotten when it is dropped.
    pub(crate) fn watcher(&self, wants: impl IntoIterator<Item = Change>) -> Arc<Watcher> {
        let watcher = Arc::new(Watcher::default());
        lock(&watcher.wants).extend(wants);
        lock(&self.watchers).push(Arc::downgrade(&watcher));
        watcher
    }

    /// Counts a subscription.
    pub(crate) fn watch(self: &Arc<Self>, uri: &str) -> Watch {
        let count = {
            let mut watched = lock(&self.watched);
            let count = watched.entry(uri.to_owned()).or_default();
            *count += 1;
            *count
        };
        if count == 1 {
            self.tell_sources(uri, true);
        }
        Watch { hub: self.clone(), uri: uri.to_owned() }
    }

    /// From now on these are told what is watched; they are told at once what is watched already.
    pub(crate) fn sources(&self, sources: Vec<Arc<dyn Resources>>) {
        *lock(&self.sources) = sources;
        let watched: Vec<String> = lock(&self.watched).keys().cloned().collect();
        watched.iter().for_each(|uri| self.tell_sources(uri, true));
    }

    fn tell_sources(&self, uri: &str, is_watched: bool) {
        let sources = lock(&self.sources).clone();
        sources.iter().for_each(|source| source.watched(uri, is_watched));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let is_last = {
            let mut watched = lock(&self.hub.watched);
            let count = watched.get(&self.uri).copied().unwrap_or_default();
            match count > 1 {
                true => watched.insert(self.uri.clone(), count - 1),
                false => watched.remove(&self.uri),
            };
            count <= 1
        };
        if is_last {
            self.hub.tell_sources(&self.uri, false);
        }
    }
}

impl Watcher {
    /// Wants to know of this too.
    pub(crate) fn want(&self, change: Change) {
        lock(&self.wants).insert(change);
    }

    /// No longer wants to know of this.
    pub(crate) fn unwant(&self, change: &Change) {
        lock(&self.wants).remove(change);
        lock(&self.marks).remove(change);
    }

    /// The next change to tell, when there is one.
    pub(crate) async fn next(&self) -> Change {
        loop {
            let marked = self.marked.notified();
            if let Some(change) = lock(&self.marks).pop_first() {
                return change;
            }
            marked.await;
        }
    }

    fn mark(&self, change: &Change) {
        if lock(&self.wants).contains(change) {
            lock(&self.marks).insert(change.clone());
            self.marked.notify_one();
        }
    }
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("watched", &self.watched).finish_non_exhaustive()
    }
}
