//! Which column a key of an object belongs to.
//!
//! Rows mostly have the same keys in the same order, so the key that stood at the same place in the
//! row before is tried first.

use std::borrow::Cow;
use std::collections::HashMap;

/// Where the value of a key goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Into the column at this position.
    Column(usize),
    /// Nowhere: the engine fills the column itself.
    Ignored,
    /// It has no name that a column could have.
    Refused(&'static str),
}

/// A key that was seen.
struct Key<'a> {
    /// As it stands between the quotes.
    raw: &'a str,
    /// With its escapes resolved.
    name: Cow<'a, str>,
    target: Target,
}

/// The keys that were seen.
#[derive(Default)]
pub(super) struct Keys<'a> {
    keys: Vec<Key<'a>>,
    by_raw: HashMap<&'a str, usize>,
    /// The key that stood last at each place of an object.
    expected: Vec<usize>,
}

impl<'a> Keys<'a> {
    /// The number of a key that was seen, and its target.
    pub(super) fn find(&mut self, place: usize, raw: &str) -> Option<(usize, Target)> {
        if let Some(number) = self.expected.get(place)
            && let Some(key) = self.keys.get(*number)
            && key.raw == raw
        {
            return Some((*number, key.target));
        }
        let number = *self.by_raw.get(raw)?;
        self.expect(place, number);
        Some((number, self.keys.get(number)?.target))
    }

    /// Adds a key, and gives its number.
    pub(super) fn add(
        &mut self,
        place: usize,
        raw: &'a str,
        name: Cow<'a, str>,
        target: Target,
    ) -> usize {
        let number = self.keys.len();
        self.keys.push(Key { raw, name, target });
        self.by_raw.insert(raw, number);
        self.expect(place, number);
        number
    }

    /// Has the values of a key go elsewhere from now on.
    pub(super) fn retarget(&mut self, number: usize, target: Target) {
        if let Some(key) = self.keys.get_mut(number) {
            key.target = target;
        }
    }

    /// How many keys were seen.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The name of a key.
    pub(super) fn name(&self, number: usize) -> &str {
        self.keys.get(number).map_or("", |key| &key.name)
    }

    fn expect(&mut self, place: usize, number: usize) {
        if let Some(expected) = self.expected.get_mut(place) {
            *expected = number;
        } else if self.expected.len() == place {
            self.expected.push(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_at_any_place() {
        let mut keys = Keys::default();
        assert_eq!(keys.find(0, "a"), None);
        keys.add(0, "a", "a".into(), Target::Column(0));
        keys.add(1, "b", "b".into(), Target::Ignored);
        for place in [0, 1, 5, 0] {
            assert_eq!(keys.find(place, "a"), Some((0, Target::Column(0))));
            assert_eq!(keys.find(place, "b"), Some((1, Target::Ignored)));
        }
        assert_eq!(keys.name(1), "b");
    }
}
