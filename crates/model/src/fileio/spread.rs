//! The block of a random request: sysbench's distributions over a range of items.
//! Each is a function of a key and the request's number.

use serde::Serialize;

use crate::random::{below, draw};

/// The largest number of draws for one request. A rejected draw is repeated. In
/// practice a handful of draws is enough.
const REJECTIONS_MAX: u32 = 64;

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

/// The random numbers of one request.
struct Draws {
    key: u64,
    position: u64,
}

impl Draws {
    const fn next(&mut self) -> u64 {
        let drawn = draw(self.key, self.position);
        self.position += 1;
        drawn
    }

    /// Returns a number from 0 to less than 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
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
        let mut draws = Draws {
            key: draw(self.key, number),
            position: 0,
        };
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

/// Rejection-inversion (Hoermann, Derflinger: "Rejection-inversion to generate
/// variates from monotone discrete distributions", TOMACS 6.3, 1996). A number
/// under the curve x^-q is drawn by inversion and rounded. It is rejected with the
/// probability by which the curve differs from its steps.
#[derive(Clone, Debug, PartialEq)]
struct Zipf {
    items: f64,
    exponent: f64,
    /// The area up to the end of the first step, minus the step.
    from: f64,
    /// The area up to the end.
    to: f64,
    /// A distance to the middle of the step, below which no draw is rejected.
    sure: f64,
}

impl Zipf {
    fn new(items: u64, exponent: f64) -> Self {
        let mut zipf = Self {
            items: items as f64,
            exponent,
            from: 0.0,
            to: 0.0,
            sure: 0.0,
        };
        zipf.from = zipf.area(1.5) - 1.0;
        zipf.to = zipf.area(zipf.items + 0.5);
        zipf.sure = 2.0 - zipf.at_area(zipf.area(2.5) - zipf.step(2.0));
        zipf
    }

    fn step(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    /// The integral of x^-q from 1.
    fn area(&self, x: f64) -> f64 {
        let slope = 1.0 - self.exponent;
        if slope.abs() < 1e-9 {
            x.ln()
        } else {
            (slope * x.ln()).exp_m1() / slope
        }
    }

    /// Returns the inverse of `area`.
    fn at_area(&self, area: f64) -> f64 {
        let slope = 1.0 - self.exponent;
        if slope.abs() < 1e-9 {
            area.exp()
        } else {
            // Rounding may give a root of a value slightly below zero.
            ((area * slope).max(-1.0).ln_1p() / slope).exp()
        }
    }

    fn pick(&self, draws: &mut Draws) -> u64 {
        let mut rank = 1.0;
        for _ in 0..REJECTIONS_MAX {
            let area = self.to + draws.unit() * (self.from - self.to);
            let x = self.at_area(area);
            rank = x.round().clamp(1.0, self.items);
            if rank - x <= self.sure || area >= self.area(rank + 0.5) - self.step(rank) {
                break;
            }
        }
        rank as u64 - 1
    }
}

#[cfg(test)]
mod tests;
