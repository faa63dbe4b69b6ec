//! Chance that comes again: the same seed throws the same things in the same order.

/// Random numbers (splitmix64), good enough to choose and small enough to read.
#[derive(Clone)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(mix(seed ^ 0x7075_6d70_7265_6164))
    }

    /// Other numbers for a part or a thread, which do not depend on what was thrown before.
    pub(super) fn of(seed: u64, label: &str) -> Self {
        Self::new(label.bytes().fold(seed, |seed, byte| mix(seed ^ u64::from(byte))))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`; 0 when there is none.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or_default()
    }

    /// The same as an index.
    pub(super) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or_default()
    }

    /// One of these.
    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let index = self.index(of.len());
        of.get(index)
    }

    /// Random bytes.
    pub(super) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}

/// Spreads the bits of a number over all of it.
pub(super) fn mix(number: u64) -> u64 {
    let mut z = number;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_throws_the_same() {
        let throw = |seed| {
            let mut dice = Dice::of(seed, "flips");
            [dice.below(100), dice.below(100), dice.below(100), dice.next()]
        };
        assert_eq!(throw(7), throw(7));
        assert_ne!(throw(7), throw(8));
        assert_eq!(Dice::new(1).below(0), 0);
        assert_eq!(Dice::new(1).pick::<u8>(&[]), None);
    }
}
