//! Random choices that can be made again: the seed is reported when a test begins.

use std::hash::{BuildHasher, RandomState};

/// Gives numbers that follow from a seed.
pub(super) struct Dice(u64);

impl Dice {
    /// Dice with the seed in an environment variable, or with any.
    pub(super) fn of(variable: &str) -> Self {
        let given = std::env::var(variable).ok().map(|seed| seed.parse().unwrap());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(variable) >> 32);
        eprintln!("{variable}={seed}");
        Self(seed)
    }

    /// A number below a limit (SplitMix64).
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    /// Any order of these.
    pub(super) fn shuffled<T>(&mut self, mut things: Vec<T>) -> Vec<T> {
        let mut out = Vec::new();
        while !things.is_empty() {
            let at = usize::try_from(self.below(things.len() as u64)).unwrap();
            out.push(things.swap_remove(at));
        }
        out
    }
}
