//! The outbox: which policies the master is still to get, in the order in which they came.
//!
//! The ids of policies that are gone are kept in the same form.
//!
//! It holds ids only; the policies are in the view. Like the view it is what the entries of the log
//! add up to.

use std::collections::{BTreeMap, HashMap};

/// The ids of policies that are to be sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outbox {
    order: BTreeMap<u64, String>,
    places: HashMap<String, u64>,
    next: u64,
}

impl Outbox {
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }

    /// The ids, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.order.values().map(String::as_str)
    }

    /// Adds an id at the end. One that waits already keeps its place: others may refer to it.
    pub(crate) fn add(&mut self, id: &str) {
        if !self.contains(id) {
            self.order.insert(self.next, id.to_owned());
            self.places.insert(id.to_owned(), self.next);
            self.next += 1;
        }
    }

    /// Forgets the oldest ids beyond so many.
    pub(crate) fn keep_latest(&mut self, count: usize) {
        while self.order.len() > count
            && let Some((_, id)) = self.order.pop_first()
        {
            self.places.remove(&id);
        }
    }

    pub(crate) fn remove(&mut self, id: &str) {
        if let Some(place) = self.places.remove(id) {
            self.order.remove(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_comes_first_and_keeps_its_place() {
        let mut outbox = Outbox::default();
        ["b", "a", "c", "b"].iter().for_each(|id| outbox.add(id));
        assert!(outbox.iter().eq(["b", "a", "c"]));
        outbox.remove("a");
        outbox.remove("none");
        outbox.add("a");
        assert!(outbox.iter().eq(["b", "c", "a"]) && outbox.contains("a") && outbox.len() == 3);
    }
}
