//! How far apart two measured quantities are, in percent, and how much of that
//! noise may be.
//!
//! Of values that were measured several times (passes) the interval is Welch's
//! (Biometrika 34, 1947), which does not ask for equal variances, for the
//! logarithm of the ratio of the two means: its variance is the sum of the
//! squared relative standard errors (Hedges, Gurevitch and Curtis, Ecology 80,
//! 1999, "The meta-analysis of response ratios"). So the change shown is that of
//! the means shown, and turning the two around turns all signs around.
//!
//! Of a single pass only its window can be looked at, by batch means: its
//! intervals, which depend on their neighbours, are cut into few large batches,
//! which hardly do (Schmeiser, Operations Research 30, 1982: more than 30 gain
//! nothing). That tells how well this window determines the mean of this run;
//! how far runs lie apart is not in it, so it never makes a verdict.
//!
//! Latte (t test with an effective sample size), criterion (bootstrapped t test)
//! and benchstat (Mann-Whitney U test) answer the same question; of these, the
//! last cannot show anything with three passes each, and the others look at one
//! run only. Not here: what is compared ([`crate::compare`]).

use serde::{Deserialize, Serialize};

use crate::statistics::student_t;

/// How often an interval is to hold what it is of, unless told otherwise.
pub const CONFIDENCE: f64 = 0.95;
/// How often a change of the size called [`Interval::shows_from`] would be shown.
const POWER: f64 = 0.8;
/// Batches that a window is cut into at most, and at least.
const BATCHES_MAX: usize = 10;
const BATCHES_MIN: usize = 5;
/// Intervals in a batch, at least.
const BATCH_LENGTH_MIN: usize = 2;
/// Logarithm of what still is a finite ratio.
const LOG_RATIO_MAX: f64 = 700.0;

/// A quantity that was measured, and what is known of its noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Its value: the mean, where there are several.
    pub value: f64,
    /// How far single values lie apart; `None` where that is not known.
    pub spread: Option<Spread>,
    /// How far the value may be off for the coarseness of what it was measured
    /// with, however often: as a part of it.
    pub resolution: f64,
}

/// How far single values lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Variance of a sample (n - 1) by the square of the mean.
    pub relative_variance: f64,
    /// How many values, 2 or more.
    pub count: usize,
    /// What they are.
    pub noise: Noise,
}

/// What lies behind a confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Noise {
    /// Passes: how far measurements of the same thing lie apart.
    Passes,
    /// Parts of the windows of single passes: how far runs lie apart is not in
    /// it.
    Window,
}

impl Measured {
    /// One value of each pass; `None` without any.
    #[must_use]
    pub fn over_passes(values: &[f64]) -> Option<Self> {
        Some(Self {
            value: mean(values)?,
            spread: Spread::of(values, Noise::Passes),
            resolution: 0.0,
        })
    }

    /// The value of a single pass, in whose window each whole interval saw this
    /// much.
    #[must_use]
    pub fn in_window(value: f64, intervals: &[f64]) -> Self {
        let spread = batch_means(intervals).and_then(|means| Spread::of(&means, Noise::Window));
        Self {
            value,
            spread,
            resolution: 0.0,
        }
    }

    /// The same, from what cannot tell values apart that are closer than this
    /// part of them.
    #[must_use]
    pub fn with_resolution(self, resolution: f64) -> Self {
        Self { resolution, ..self }
    }
}

impl Spread {
    fn of(values: &[f64], noise: Noise) -> Option<Self> {
        let degrees = values.len().checked_sub(1).filter(|degrees| *degrees > 0)?;
        let mean = mean(values).filter(|mean| *mean > 0.0)?;
        let squares: f64 = values
            .iter()
            .map(|value| (value / mean - 1.0).powi(2))
            .sum();
        Some(Self {
            relative_variance: squares / degrees as f64,
            count: values.len(),
            noise,
        })
    }

    /// The variance of the mean by the square of the mean.
    #[must_use]
    pub fn of_mean(&self) -> f64 {
        self.relative_variance / self.count as f64
    }

    fn degrees(&self) -> f64 {
        (self.count - 1) as f64
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Means over batches of nearly equal length; `None` where there is too little
/// for batches that could be independent.
fn batch_means(intervals: &[f64]) -> Option<Vec<f64>> {
    let batches = (intervals.len() / BATCH_LENGTH_MIN).min(BATCHES_MAX);
    if batches < BATCHES_MIN {
        return None;
    }
    let edge = |batch| batch * intervals.len() / batches;
    (0..batches)
        .map(|batch| mean(&intervals[edge(batch)..edge(batch + 1)]))
        .collect()
}

/// How many percent more `of` is than `over`: what published tables call the
/// gain. `None` where that has no answer.
#[must_use]
pub fn percent_more(of: f64, over: f64) -> Option<f64> {
    let percent = (of - over) / over * 100.0;
    (over > 0.0 && percent.is_finite()).then_some(percent)
}

/// A change from one quantity to another, in percent of the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// From the one value to the other.
    pub percent: f64,
    /// What it may be in truth; `None` where the noise of either is not known.
    pub interval: Option<Interval>,
}

/// What a change may be in truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower bound, in percent.
    pub low: f64,
    /// Its upper bound, in percent.
    pub high: f64,
    /// Whose noise it rests on.
    pub noise: Noise,
    /// The smallest increase, in percent, that such data would show in four of
    /// five cases, as an interval without 0.
    pub shows_from: f64,
}

impl Interval {
    /// Whether all of it lies on one side of 0.
    #[must_use]
    pub fn shows_a_change(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

impl Change {
    /// With an interval that holds the true change with a probability of
    /// `confidence`, from above 0 to below 1. `None` unless both values are
    /// above 0: there is no percentage of nothing.
    #[must_use]
    pub fn between(from: &Measured, to: &Measured, confidence: f64) -> Option<Self> {
        let percent = percent_more(to.value, from.value).filter(|_| to.value > 0.0)?;
        let interval = from.spread.zip(to.spread).map(|(from_spread, to_spread)| {
            let (one, other) = (from_spread.of_mean(), to_spread.of_mean());
            let degrees = (one + other).powi(2)
                / (one.powi(2) / from_spread.degrees() + other.powi(2) / to_spread.degrees());
            let uncertainty = Uncertainty {
                standard_error: (one + other).sqrt(),
                degrees,
                resolution: from.resolution.max(to.resolution),
                noise: from_spread.noise.max(to_spread.noise),
            };
            uncertainty.around((to.value / from.value).ln(), confidence)
        });
        Some(Self { percent, interval })
    }
}

/// How well the logarithm of a ratio is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uncertainty {
    pub(crate) standard_error: f64,
    /// Of freedom, of the standard error.
    pub(crate) degrees: f64,
    /// See [`Measured::resolution`].
    pub(crate) resolution: f64,
    pub(crate) noise: Noise,
}

impl Uncertainty {
    pub(crate) fn around(&self, log_ratio: f64, confidence: f64) -> Interval {
        let percent = |log: f64| log.clamp(-LOG_RATIO_MAX, LOG_RATIO_MAX).exp_m1() * 100.0;
        // Values that do not vary at all leave no degrees to divide by.
        let half = |probability| match self.standard_error > 0.0 {
            true => student_t(probability, self.degrees) * self.standard_error,
            false => 0.0,
        };
        let bound = half((1.0 + confidence) / 2.0) + self.resolution.ln_1p();
        Interval {
            low: percent(log_ratio - bound),
            high: percent(log_ratio + bound),
            noise: self.noise,
            shows_from: percent(bound + half(POWER)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
