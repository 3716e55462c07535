//! How far two measured quantities differ, in percent, and how much of that may be
//! noise.
//!
//! For values that were measured several times (passes), the interval is Welch's
//! (Biometrika 34, 1947). It does not assume equal variances. It applies to the
//! logarithm of the ratio of the two means. Its variance is the sum of the squared
//! relative standard errors (Hedges, Gurevitch and Curtis, Ecology 80, 1999, "The
//! meta-analysis of response ratios"). So the change shown is the change of the
//! means shown, and swapping the two turns all signs around.
//!
//! A percentile over the operations of all passes is no mean of passes, and neither is
//! CPU time per operation. The variance of its logarithm is that of the jackknife: the
//! value is computed again without each pass (Efron and Stein, Annals of Statistics 9,
//! 1981). Of a mean it is the variance above. The jackknife fails for the longest
//! operation. Its logarithm varies as much as that of a pass, however many there are.
//!
//! A single pass has only its window. Its noise is estimated by batch means:
//! neighbouring intervals depend on each other, so they are joined to a few large
//! batches. Large batches hardly depend on each other (Schmeiser, Operations
//! Research 30, 1982: more than 30 batches gain nothing). The result says how well
//! this window determines the mean of this run. It does not include how far runs
//! differ, so it never gives a verdict.
//!
//! Latte (t test with an effective sample size), criterion (bootstrapped t test)
//! and benchstat (Mann-Whitney U test) answer the same question. Of these,
//! benchstat cannot show anything with three passes each, and the others look at
//! one run only. Not here: which metrics are compared ([`crate::compare`]).
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::statistics::{PassInterval, student_t};

/// Default probability with which an interval contains the true value.
pub const CONFIDENCE: f64 = 0.95;
/// Probability with which a change of the size [`ConfidenceInterval::shows_from`] is
/// detected.
const POWER: f64 = 0.8;
/// Largest and smallest number of batches of a window.
const BATCHES_MAX: usize = 10;
const BATCHES_MIN: usize = 5;
/// Smallest number of intervals in a batch.
const BATCH_LENGTH_MIN: usize = 2;
/// Largest logarithm whose ratio is still finite.
const LOG_RATIO_MAX: f64 = 700.0;

/// A measured quantity, and what is known about its noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The value: the mean if there are several values, or that of all passes together.
    pub value: f64,
    /// Spread of the single values; `None` if it is not known.
    pub spread: Option<Spread>,
    /// Error of the value because of the coarse unit it was measured in, as a share
    /// of the value. Repetition does not reduce it.
    pub resolution: f64,
}

/// Spread of single values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Variance of the sample (n - 1), divided by the square of the mean. For a value
    /// of all passes together, the variance of its logarithm times the number of
    /// passes.
    pub relative_variance: f64,
    /// Number of values, 2 or more.
    pub count: usize,
    /// The lowest value.
    pub lowest: f64,
    /// The highest value.
    pub highest: f64,
    /// The kind of values.
    pub noise: Noise,
}

/// The kind of values behind a confidence interval.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Noise {
    /// Passes: the interval includes how far repeated measurements differ.
    Passes,
    /// Parts of the windows of single passes: the interval does not include how far
    /// runs differ.
    Window,
}

impl Measured {
    /// Builds a quantity from one value of each pass; `None` without values.
    #[must_use]
    pub fn over_passes(values: &[f64]) -> Option<Self> {
        Some(Self {
            value: mean(values)?,
            spread: Spread::of(values, Noise::Passes),
            resolution: 0.0,
        })
    }

    /// Builds a quantity of all passes together from its value in each of them, and
    /// without each of them.
    #[must_use]
    pub fn over_all(value: f64, of_passes: &[f64], without: &[f64]) -> Self {
        let spread = Spread::of(of_passes, Noise::Passes);
        let left_out = logs(without).and_then(|logs| variance(&logs));
        let spread = spread.zip(left_out).map(|(spread, left_out)| Spread {
            // The jackknife adds the squares with a factor of (n - 1) / n.
            relative_variance: left_out * spread.degrees().powi(2),
            ..spread
        });
        Self {
            value,
            spread,
            resolution: 0.0,
        }
    }

    /// Builds the longest time of all passes from that of each; `None` without values.
    #[must_use]
    pub fn longest(of_passes: &[f64]) -> Option<Self> {
        let spread = Spread::of(of_passes, Noise::Passes);
        let of_logs = logs(of_passes).and_then(|logs| variance(&logs));
        let spread = spread.zip(of_logs).map(|(spread, of_logs)| Spread {
            relative_variance: of_logs * spread.count as f64,
            ..spread
        });
        Some(Self {
            value: of_passes.iter().copied().max_by(f64::total_cmp)?,
            spread,
            resolution: 0.0,
        })
    }

    /// Returns what is printed beside the value; `None` unless it is of several passes.
    #[must_use]
    pub fn interval(&self) -> Option<PassInterval> {
        let spread = self.over_several_passes()?;
        let count = u32::try_from(spread.count).ok();
        let ends = Some((spread.lowest, spread.highest));
        Some(PassInterval::of(self.value, self.ci95()?, count, ends))
    }

    /// Returns half the width of the 95 % confidence interval, by Student's t
    /// distribution; `None` unless the value is of several passes.
    #[must_use]
    pub fn ci95(&self) -> Option<f64> {
        let spread = self.over_several_passes()?;
        let t = student_t((1.0 + CONFIDENCE) / 2.0, spread.degrees());
        Some(t * spread.of_mean().sqrt() * self.value)
    }

    fn over_several_passes(&self) -> Option<&Spread> {
        let spread = self.spread.as_ref();
        spread.filter(|spread| spread.noise == Noise::Passes)
    }

    /// Builds a quantity from the value of a single pass and the amounts in each
    /// whole interval of its window.
    #[must_use]
    pub fn in_window(value: f64, intervals: &[f64]) -> Self {
        let spread = batch_means(intervals).and_then(|means| Spread::of(&means, Noise::Window));
        Self {
            value,
            spread,
            resolution: 0.0,
        }
    }

    /// Sets the resolution: the share of a value below which two values cannot be
    /// distinguished.
    #[must_use]
    pub fn with_resolution(self, resolution: f64) -> Self {
        Self { resolution, ..self }
    }
}

impl Spread {
    fn of(values: &[f64], noise: Noise) -> Option<Self> {
        let mean = mean(values).filter(|mean| *mean > 0.0)?;
        let relative: Vec<_> = values.iter().map(|value| value / mean).collect();
        Some(Self {
            relative_variance: variance(&relative)?,
            count: values.len(),
            lowest: values.iter().copied().min_by(f64::total_cmp)?,
            highest: values.iter().copied().max_by(f64::total_cmp)?,
            noise,
        })
    }

    /// Returns the variance of the mean, divided by the square of the mean.
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

/// Returns the variance of a sample (n - 1); `None` for one value.
fn variance(values: &[f64]) -> Option<f64> {
    let degrees = values.len().checked_sub(1).filter(|degrees| *degrees > 0)?;
    // From the first one, so that equal values have no variance by rounding.
    let first = values.first()?;
    let values: Vec<_> = values.iter().map(|value| value - first).collect();
    let mean = mean(&values)?;
    let squares = values.iter().map(|value| (value - mean).powi(2));
    Some(squares.sum::<f64>() / degrees as f64)
}

/// Returns logarithms; `None` if a value has none.
fn logs(values: &[f64]) -> Option<Vec<f64>> {
    let log = |value: &f64| (*value > 0.0).then(|| value.ln());
    values.iter().map(log).collect()
}

/// Returns means over batches of nearly equal length; `None` if there are too few
/// intervals for batches that could be independent.
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

/// Returns by how many percent `of` exceeds `over`: the gain of published tables.
/// `None` if there is no finite percentage.
#[must_use]
pub fn percent_more(of: f64, over: f64) -> Option<f64> {
    let percent = (of - over) / over * 100.0;
    (over > 0.0 && percent.is_finite()).then_some(percent)
}

/// A change from one quantity to another, in percent of the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Change of the values, in percent.
    pub percent: f64,
    /// Interval that contains the true change; `None` if the noise of either value
    /// is not known.
    pub interval: Option<ConfidenceInterval>,
}

/// Range that contains the true change with a given probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidenceInterval {
    /// Lower bound, in percent.
    pub low: f64,
    /// Upper bound, in percent.
    pub high: f64,
    /// The kind of noise that the interval is based on.
    pub noise: Noise,
    /// Smallest increase, in percent, that such data would show in four of five
    /// cases. "Show" means an interval without 0.
    pub shows_from: f64,
}

impl ConfidenceInterval {
    /// Returns whether the whole interval lies on one side of 0.
    #[must_use]
    pub fn shows_a_change(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

impl Change {
    /// Computes the change and an interval that contains the true change with a
    /// probability of `confidence`. `confidence` lies between 0 and 1, both
    /// excluded. Returns `None` unless both values are above 0, because nothing can
    /// be a percentage of 0.
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

/// Uncertainty of the logarithm of a ratio.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uncertainty {
    pub(crate) standard_error: f64,
    /// Degrees of freedom of the standard error.
    pub(crate) degrees: f64,
    /// See [`Measured::resolution`].
    pub(crate) resolution: f64,
    pub(crate) noise: Noise,
}

impl Uncertainty {
    pub(crate) fn around(&self, log_ratio: f64, confidence: f64) -> ConfidenceInterval {
        let percent = |log: f64| log.clamp(-LOG_RATIO_MAX, LOG_RATIO_MAX).exp_m1() * 100.0;
        // Values that do not vary at all have no degrees of freedom to divide by.
        let half = |probability| {
            if self.standard_error > 0.0 {
                student_t(probability, self.degrees) * self.standard_error
            } else {
                0.0
            }
        };
        let bound = half((1.0 + confidence) / 2.0) + self.resolution.ln_1p();
        ConfidenceInterval {
            low: percent(log_ratio - bound),
            high: percent(log_ratio + bound),
            noise: self.noise,
            shows_from: percent(bound + half(POWER)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
