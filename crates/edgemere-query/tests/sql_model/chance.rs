//! Chance with a seed: the same seed makes the same tables and the same queries, on every machine.

/// Numbers by chance (SplitMix64).
pub(crate) struct Chance(u64);

impl Chance {
    /// The numbers of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `first` to `last`, both included.
    pub(crate) fn between(&mut self, first: i64, last: i64) -> i64 {
        let span = (last - first + 1) as u64;
        first + (self.number() % span) as i64
    }

    /// True once in so many times.
    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.number().is_multiple_of(times)
    }

    /// One of them.
    pub(crate) fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[(self.number() % all.len() as u64) as usize].clone()
    }
}
