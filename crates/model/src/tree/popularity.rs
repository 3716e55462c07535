//! Which files of a tree are used more often than others.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::zipf::Zipf;
use crate::random::{Draws, GOLDEN_GAMMA, below};

/// The distribution of requests over the files, and over the directories: `uniform`, or `zipf:1.1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum Popularity {
    /// All files have the same share.
    #[default]
    Uniform,
    /// The k-th most popular file, from 1, has a share in proportion to k to the power of the
    /// negative exponent.
    Zipf(f64),
}

impl Popularity {
    pub(super) fn check(self) -> Result<(), String> {
        match self {
            Self::Zipf(exponent) if !(0.0..=100.0).contains(&exponent) => Err(format!(
                "an exponent of {exponent} is not possible: give 0 to 100"
            )),
            _ => Ok(()),
        }
    }
}

impl FromStr for Popularity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let exponent = match text.trim() {
            "uniform" => return Ok(Self::Uniform),
            text => text.strip_prefix("zipf:").map(str::parse),
        };
        let Some(Ok(exponent)) = exponent else {
            return Err(format!(
                "`{text}` is no popularity: give uniform or zipf:EXPONENT, such as zipf:1.1"
            ));
        };
        let popularity = Self::Zipf(exponent);
        popularity.check().map(|()| popularity)
    }
}

impl fmt::Display for Popularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf(exponent) => write!(f, "zipf:{exponent}"),
        }
    }
}

impl TryFrom<String> for Popularity {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Popularity> for String {
    fn from(popularity: Popularity) -> Self {
        popularity.to_string()
    }
}

/// The files or the directories by popularity, prepared for drawing.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PopularityRanks {
    count: u64,
    zipf: Option<Zipf>,
    /// A number without a common divisor with the count. The files of neighbouring ranks are
    /// that far apart, so that popular files are in all directories.
    step: u64,
}

impl PopularityRanks {
    pub(super) fn new(popularity: Popularity, count: u32) -> Self {
        let count = u64::from(count.max(1));
        let zipf = match popularity {
            Popularity::Uniform => None,
            Popularity::Zipf(exponent) => Some(Zipf::new(count, exponent)),
        };
        let golden = below(GOLDEN_GAMMA, count).max(1);
        let is_apart = |step: &u64| divisor(*step, count) == 1;
        let step = (golden..count).find(is_apart).unwrap_or(1);
        Self { count, zipf, step }
    }

    /// Returns a number by a random number.
    pub(super) fn pick(&self, random: u64) -> u32 {
        let Some(zipf) = &self.zipf else {
            return below(random, self.count) as u32;
        };
        self.of_rank(zipf.pick(&mut Draws::new(random)))
    }

    /// Returns the number of a rank, both from 0.
    fn of_rank(&self, rank: u64) -> u32 {
        (rank * self.step % self.count) as u32
    }
}

/// Returns the greatest common divisor.
const fn divisor(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_and_written() {
        for text in ["uniform", "zipf:1.1", "zipf:0"] {
            assert_eq!(text.parse::<Popularity>().unwrap().to_string(), text);
        }
        for text in [
            "", "zipf", "zipf:", "zipf:x", "zipf:-1", "zipf:NaN", "zipf:101", "pareto:1",
        ] {
            assert!(text.parse::<Popularity>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_file_has_one_rank() {
        for files in [1, 2, 3, 10, 64, 1000, 9_999] {
            let ranks = PopularityRanks::new(Popularity::Zipf(1.0), files);
            let mut seen = vec![false; files as usize];
            for rank in 0..u64::from(files) {
                assert!(!std::mem::replace(
                    &mut seen[ranks.of_rank(rank) as usize],
                    true
                ));
            }
        }
    }

    /// The critical value of chi-square with 99 degrees of freedom is 148.2 at a probability
    /// of 0.001 (NIST/SEMATECH, "Critical values of the chi-square distribution").
    #[test]
    fn draws_follow_the_distribution_by_chi_square() {
        const FILES: u32 = 100;
        const DRAWS: u64 = 200_000;
        let exponents = [0.0, 0.8, 1.0, 1.1, 2.0].map(Popularity::Zipf);
        for popularity in exponents.into_iter().chain([Popularity::Uniform]) {
            let exponent = match popularity {
                Popularity::Zipf(exponent) => exponent,
                Popularity::Uniform => 0.0,
            };
            let ranks = PopularityRanks::new(popularity, FILES);
            let mut counts = vec![0_u64; FILES as usize];
            for number in 0..DRAWS {
                counts[ranks.pick(crate::random::draw(3, number)) as usize] += 1;
            }
            let weight = |rank: u64| ((rank + 1) as f64).powf(-exponent);
            let all: f64 = (0..u64::from(FILES)).map(weight).sum();
            let chi_square: f64 = (0..u64::from(FILES))
                .map(|rank| {
                    let expected = DRAWS as f64 * weight(rank) / all;
                    let found = counts[ranks.of_rank(rank) as usize] as f64;
                    (found - expected).powi(2) / expected
                })
                .sum();
            assert!(chi_square < 148.2, "{popularity}: {chi_square}");
        }
    }
}
