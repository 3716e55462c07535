//! SplitMix64 as a function of a position: the source of every random choice.
//!
//! SplitMix64 adds a constant to its state and hashes it (Steele, Lea, Flood: "Fast
//! splittable pseudorandom number generators", OOPSLA 2014; finaliser by Stafford,
//! variant 13). Its n-th output is therefore a hash of the seed and n. Each output
//! can be computed without those before it. It passes BigCrush.

pub(crate) mod shares;
pub(crate) mod zipf;

/// The increment of the state: 2^64 divided by the golden ratio, made odd.
pub const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Hashes a state into an output. Every bit of the input affects every bit of the
/// output.
#[inline]
pub const fn finalise(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

/// Returns output number `position`, from 0, of the generator seeded with `key`.
#[inline]
pub const fn draw(key: u64, position: u64) -> u64 {
    finalise(key.wrapping_add(position.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA)))
}

/// Scales `draw` to `0..bound`. The result is uniform up to a bias of `bound` in
/// 2^64. Lemire's multiplication avoids a division.
#[inline]
pub const fn below(draw: u64, bound: u64) -> u64 {
    ((draw as u128 * bound as u128) >> 64) as u64
}

/// The random numbers of one choice, for which several may be needed.
pub(crate) struct Draws {
    key: u64,
    position: u64,
}

impl Draws {
    /// Returns the numbers of this key, from the first.
    pub(crate) const fn new(key: u64) -> Self {
        Self { key, position: 0 }
    }

    /// Returns the next number.
    pub(crate) const fn next(&mut self) -> u64 {
        let drawn = draw(self.key, self.position);
        self.position += 1;
        drawn
    }

    /// Returns a number from 0 to less than 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The outputs for seed 1234567 are those that implementations publish as their
    /// check (Rosetta Code, "Pseudo-random numbers/Splitmix64").
    #[test]
    fn it_is_splitmix64() {
        let outputs: Vec<u64> = (0..5).map(|position| draw(1_234_567, position)).collect();
        assert_eq!(
            outputs,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }

    #[test]
    fn below_stays_below_and_reaches_both_ends() {
        for bound in [1, 2, 3, 2048, u64::MAX] {
            assert_eq!(below(0, bound), 0);
            assert_eq!(below(u64::MAX, bound), bound - 1);
        }
    }
}
