//! Reproducible random numbers: the same seed produces the same faults in the same order.

use std::time::Duration;

/// Marsaglia's xorshift64*: good enough to choose faults, and the same on every machine.
#[derive(Clone)]
pub(super) struct SeededRandom(u64);

impl SeededRandom {
    /// Creates the generator for one of those who use this seed.
    pub(super) fn new(seed: u64, thrower: u64) -> Self {
        let mixed =
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ thrower.wrapping_mul(0xD1B5_4A32_D192_ED03);
        let mut dice = Self(mixed | 1);
        // Similar seeds produce similar first numbers.
        for _ in 0..8 {
            dice.next();
        }
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a number from 0 to `limit` - 1, or 0 if `limit` is 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit.max(1)).unwrap_or(u64::MAX);
        usize::try_from((self.next() >> 16) % limit).unwrap_or(0)
    }

    /// Returns true once in `chances` on average.
    pub(super) fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    /// Returns a duration between these milliseconds, the second excluded.
    pub(super) fn millis(&mut self, from: u64, to: u64) -> Duration {
        let width = usize::try_from(to.saturating_sub(from)).unwrap_or(0);
        Duration::from_millis(from + u64::try_from(self.below(width)).unwrap_or(0))
    }

    /// Shuffles the items.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SeededRandom;

    #[test]
    fn a_seed_throws_the_same_again_and_another_seed_throws_otherwise() {
        let throw = |seed| {
            let mut dice = SeededRandom::new(seed, 0);
            let mut items: Vec<u32> = (0..50).collect();
            dice.shuffle(&mut items);
            items
        };
        assert_eq!(throw(7), throw(7));
        assert_ne!(throw(7), throw(8));
        let mut all = throw(7);
        all.sort_unstable();
        assert_eq!(all, (0..50).collect::<Vec<_>>());
    }
}
