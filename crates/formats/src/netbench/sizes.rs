//! Random numbers, and sizes of requests.

use smbench_model::random::{below, draw};

/// A sequence of random numbers.
pub(super) struct Random {
    pub(super) key: u64,
    pub(super) drawn: u64,
}

impl Random {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        let drawn = draw(self.key, self.drawn);
        self.drawn += 1;
        below(drawn, bound)
    }

    /// Takes a random part of `left` for one of `sharers`. The last one takes the
    /// rest.
    pub(super) fn part(&mut self, left: &mut u64, sharers: u64) -> u64 {
        let part = match sharers {
            0 => 0,
            1 => *left,
            _ => self.below(2 * *left / sharers + 1).min(*left),
        };
        *left -= part;
        part
    }
}

/// Request sizes that add up to a number of bytes. Small sizes are drawn by weight.
/// A large one is used whenever too few bytes have been moved.
pub(super) struct Sizes {
    small: &'static [(u32, u64)],
    large: u32,
    bytes: u64,
    requests: u64,
    moved: u64,
    made: u64,
}

impl Sizes {
    pub(super) const fn new(
        small: &'static [(u32, u64)],
        large: u32,
        bytes: u64,
        requests: u64,
    ) -> Self {
        Self {
            small,
            large,
            bytes,
            requests,
            moved: 0,
            made: 0,
        }
    }

    pub(super) fn next(&mut self, random: &mut Random) -> u32 {
        self.made += 1;
        let due = u128::from(self.bytes) * u128::from(self.made) / u128::from(self.requests);
        let size = if due >= u128::from(self.moved) + u128::from(self.large) {
            self.large
        } else {
            self.small(random)
        };
        self.moved += u64::from(size);
        size
    }

    fn small(&self, random: &mut Random) -> u32 {
        let weights = self.small.iter().map(|(_, weight)| weight);
        let mut drawn = random.below(weights.sum());
        for &(size, weight) in self.small {
            if drawn < weight {
                return size;
            }
            drawn -= weight;
        }
        self.large
    }
}
