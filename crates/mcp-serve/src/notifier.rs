//! Change notifications, delivered to each subscriber at its own speed.
//!
//! A change is a pending flag, not a queued message: changes that a subscriber has not been notified of
//! are merged. A slow client gets one notification for many changes, holds little memory, and blocks
//! nobody.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::Resources;

/// A change that clients can be notified of. Pending changes are delivered in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    Updated(String),
}

/// Passes changes on to subscribers, and resource subscriptions on to the sources of resources.
#[derive(Default)]
pub(crate) struct Notifier {
    subscribers: Mutex<Vec<Weak<Subscriber>>>,
    /// The number of subscriptions per resource.
    subscriptions: Mutex<BTreeMap<String, usize>>,
    /// The sources that learn which resources have subscriptions.
    sources: Mutex<Vec<Arc<dyn Resources>>>,
}

/// A session, or a stream of `subscriptions/listen`, that is notified of changes.
#[derive(Debug, Default)]
pub(crate) struct Subscriber {
    topics: Mutex<BTreeSet<Change>>,
    pending: Mutex<BTreeSet<Change>>,
    notified: Notify,
}

/// A subscription to a resource, until it is dropped.
#[derive(Debug)]
pub(crate) struct ResourceSubscription {
    notifier: Arc<Notifier>,
    uri: String,
}

impl Notifier {
    /// Makes a change pending for every subscriber of it.
    pub(crate) fn notify(&self, change: &Change) {
        self.subscribers
            .lock()
            .retain(|subscriber| subscriber.upgrade().map(|one| one.notify(change)).is_some());
    }

    /// A new subscriber of these changes. The notifier forgets it when it is dropped.
    pub(crate) fn subscriber(&self, topics: impl IntoIterator<Item = Change>) -> Arc<Subscriber> {
        let subscriber = Arc::new(Subscriber::default());
        subscriber.topics.lock().extend(topics);
        self.subscribers.lock().push(Arc::downgrade(&subscriber));
        subscriber
    }

    /// Counts a subscription to a resource.
    pub(crate) fn subscribe(self: &Arc<Self>, uri: &str) -> ResourceSubscription {
        let count = {
            let mut subscriptions = self.subscriptions.lock();
            let count = subscriptions.entry(uri.to_owned()).or_default();
            *count += 1;
            *count
        };
        if count == 1 {
            self.notify_sources(uri, true);
        }
        ResourceSubscription { notifier: self.clone(), uri: uri.to_owned() }
    }

    /// Replaces the sources, and notifies the new ones of all current subscriptions.
    pub(crate) fn set_sources(&self, sources: Vec<Arc<dyn Resources>>) {
        *self.sources.lock() = sources;
        let uris: Vec<String> = self.subscriptions.lock().keys().cloned().collect();
        uris.iter().for_each(|uri| self.notify_sources(uri, true));
    }

    fn notify_sources(&self, uri: &str, is_subscribed: bool) {
        let sources = self.sources.lock().clone();
        sources.iter().for_each(|source| source.subscribed(uri, is_subscribed));
    }
}

impl Drop for ResourceSubscription {
    fn drop(&mut self) {
        let is_last = {
            let mut subscriptions = self.notifier.subscriptions.lock();
            let count = subscriptions.get(&self.uri).copied().unwrap_or_default();
            match count > 1 {
                true => subscriptions.insert(self.uri.clone(), count - 1),
                false => subscriptions.remove(&self.uri),
            };
            count <= 1
        };
        if is_last {
            self.notifier.notify_sources(&self.uri, false);
        }
    }
}

impl Subscriber {
    /// Subscribes to one more change.
    pub(crate) fn subscribe(&self, change: Change) {
        self.topics.lock().insert(change);
    }

    /// Ends a subscription, and drops its pending notification.
    pub(crate) fn unsubscribe(&self, change: &Change) {
        self.topics.lock().remove(change);
        self.pending.lock().remove(change);
    }

    /// The next pending change; waits until there is one.
    pub(crate) async fn next(&self) -> Change {
        loop {
            let notified = self.notified.notified();
            if let Some(change) = self.pending.lock().pop_first() {
                return change;
            }
            notified.await;
        }
    }

    fn notify(&self, change: &Change) {
        if self.topics.lock().contains(change) {
            self.pending.lock().insert(change.clone());
            self.notified.notify_one();
        }
    }
}

impl std::fmt::Debug for Notifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notifier")
            .field("subscriptions", &self.subscriptions)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn changes_that_nobody_has_read_yet_are_merged_and_others_are_not_delivered() {
        let notifier = Notifier::default();
        let subscriber = notifier.subscriber([Change::Tools, Change::Updated("a".to_owned())]);
        for _ in 0..3 {
            notifier.notify(&Change::Updated("a".to_owned()));
            notifier.notify(&Change::Tools);
            notifier.notify(&Change::Prompts);
        }
        assert_eq!(subscriber.next().now_or_never(), Some(Change::Tools));
        assert_eq!(subscriber.next().now_or_never(), Some(Change::Updated("a".to_owned())));
        assert_eq!(subscriber.next().now_or_never(), None);
        notifier.notify(&Change::Tools);
        subscriber.unsubscribe(&Change::Tools);
        assert_eq!(subscriber.next().now_or_never(), None);
    }

    #[test]
    fn a_dropped_subscriber_is_forgotten() {
        let notifier = Notifier::default();
        drop(notifier.subscriber([Change::Tools]));
        notifier.notify(&Change::Tools);
        assert!(notifier.subscribers.lock().is_empty());
    }
}
