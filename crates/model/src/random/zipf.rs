//! Zipf's distribution, as a function of a position.

use super::Draws;

/// The largest number of draws for one request. A rejected draw is repeated. In
/// practice a handful of draws is enough.
const REJECTIONS_MAX: u32 = 64;

/// Rejection-inversion (Hoermann, Derflinger: "Rejection-inversion to generate
/// variates from monotone discrete distributions", TOMACS 6.3, 1996). A number
/// under the curve x^-q is drawn by inversion and rounded. It is rejected with the
/// probability by which the curve differs from its steps.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Zipf {
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
    /// Prepares item k of `items`, from 1, with a share in proportion to k to the power of
    /// -`exponent`.
    pub(crate) fn new(items: u64, exponent: f64) -> Self {
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

    /// Returns an item, from 0.
    pub(crate) fn pick(&self, draws: &mut Draws) -> u64 {
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
