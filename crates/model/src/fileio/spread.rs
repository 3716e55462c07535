//! The block of a random request: sysbench's distributions over a range of items.
//! Each is a function of a key and the request's number.

use serde::Serialize;

use crate::random::zipf::Zipf;
use crate::random::{Draws, below, draw};

/// The distribution of requests over the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "rand_type", rename_all = "lowercase")]
pub enum RequestSpread {
    /// All blocks have the same share.
    Uniform,
    /// Most requests go to the middle: the mean of `iterations` uniform numbers.
    Gaussian {
        /// `rand-spec-iter`; sysbench's default is 12.
        iterations: u32,
    },
    /// `hits` percent of the requests go to `items` percent of the blocks, in the
    /// middle. The others are as in `Gaussian`.
    ///
    /// An error in sysbench 1.0 leaves out the first quarter of those blocks. Here
    /// all of them have their share.
    Special {
        /// `rand-spec-iter`; sysbench's default is 12.
        iterations: u32,
        /// `rand-spec-pct`; sysbench's default is 1.
        items: u32,
        /// `rand-spec-res`; sysbench's default is 75.
        hits: u32,
    },
    /// Most requests go to the front: a part `h` of the blocks has all requests
    /// except a part `h`. The same holds within those blocks.
    Pareto {
        /// `rand-pareto-h`; sysbench's default is 0.2.
        h: f64,
    },
    /// Block number k, from 1, has a share in proportion to k to the power of
    /// -`exponent`.
    Zipf {
        /// `rand-zipfian-exp`; sysbench's default is 0.8.
        exponent: f64,
    },
}

impl RequestSpread {
    /// Returns the name in sysbench.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Gaussian { .. } => "gaussian",
            Self::Special { .. } => "special",
            Self::Pareto { .. } => "pareto",
            Self::Zipf { .. } => "zipfian",
        }
    }

    /// Finds the first parameter that is not valid, and how to correct it.
    ///
    /// # Errors
    /// The name of the parameter, and the advice.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let iterations = |count: u32| match count {
            1..=1000 => Ok(()),
            _ => Err(("rand_spec_iter", "give 1 to 1000")),
        };
        match *self {
            Self::Uniform => Ok(()),
            Self::Gaussian { iterations: count } => iterations(count),
            Self::Special {
                iterations: count,
                items,
                hits,
            } => {
                iterations(count)?;
                match (items, hits) {
                    (1..=100, 0..=100) => Ok(()),
                    (1..=100, _) => Err(("rand_spec_res", "give a percentage, 0 to 100")),
                    _ => Err(("rand_spec_pct", "give a percentage, 1 to 100")),
                }
            }
            Self::Pareto { h } if 0.0 < h && h < 1.0 => Ok(()),
            Self::Pareto { .. } => Err(("rand_pareto_h", "give more than 0 and less than 1")),
            Self::Zipf { exponent } if (0.0..=100.0).contains(&exponent) => Ok(()),
            Self::Zipf { .. } => Err(("rand_zipfian_exp", "give 0 to 100")),
        }
    }
}

/// A distribution over a number of items, prepared for drawing.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Picker {
    key: u64,
    items: u64,
    shape: SpreadShape,
}

#[derive(Clone, Debug, PartialEq)]
enum SpreadShape {
    Uniform,
    Gaussian(u32),
    Special {
        iterations: u32,
        /// Share of the requests that go to the middle, 0 to 1.
        hits: f64,
        /// First item of the middle, and the number of its items.
        middle: (u64, u64),
    },
    Pareto {
        power: f64,
    },
    Zipf(Zipf),
}

impl Picker {
    pub(super) fn new(spread: RequestSpread, key: u64, items: u64) -> Self {
        let shape = match spread {
            RequestSpread::Uniform => SpreadShape::Uniform,
            RequestSpread::Gaussian { iterations } => SpreadShape::Gaussian(iterations),
            RequestSpread::Special {
                iterations,
                items: percent,
                hits,
            } => {
                let count = (items as f64 * f64::from(percent) / 100.0).round() as u64;
                let count = count.clamp(1, items.max(1));
                SpreadShape::Special {
                    iterations,
                    hits: f64::from(hits) / 100.0,
                    middle: ((items - count) / 2, count),
                }
            }
            RequestSpread::Pareto { h } => SpreadShape::Pareto {
                power: h.ln() / (1.0 - h).ln(),
            },
            RequestSpread::Zipf { exponent } => SpreadShape::Zipf(Zipf::new(items, exponent)),
        };
        Self { key, items, shape }
    }

    /// Returns the item, from 0, of request `number`.
    pub(super) fn pick(&self, number: u64) -> u64 {
        let mut draws = Draws::new(draw(self.key, number));
        match &self.shape {
            SpreadShape::Uniform => below(draws.next(), self.items),
            SpreadShape::Gaussian(iterations) => self.scaled(mean(&mut draws, *iterations)),
            SpreadShape::Special {
                iterations,
                hits,
                middle: (first, count),
            } => {
                if draws.unit() < *hits {
                    first + below(draws.next(), *count)
                } else {
                    self.scaled(mean(&mut draws, *iterations))
                }
            }
            SpreadShape::Pareto { power } => self.scaled(draws.unit().powf(*power)),
            SpreadShape::Zipf(zipf) => zipf.pick(&mut draws),
        }
    }

    /// Returns the item at this share of the range, 0 to less than 1.
    fn scaled(&self, share: f64) -> u64 {
        // Rounding may give the end of the range.
        ((share * self.items as f64) as u64).min(self.items - 1)
    }
}

fn mean(draws: &mut Draws, of: u32) -> f64 {
    (0..of).map(|_| draws.unit()).sum::<f64>() / f64::from(of)
}

#[cfg(test)]
mod tests;
