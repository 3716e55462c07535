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
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    fn passes(values: &[f64]) -> Measured {
        Measured::over_passes(values).unwrap()
    }

    fn change(from: &[f64], to: &[f64]) -> Change {
        Change::between(&passes(from), &passes(to), CONFIDENCE).unwrap()
    }

    /// Numbers that are nearly normal, with mean 0 and standard deviation 1: sums
    /// of 12 uniform ones by a linear congruential generator (Knuth's MMIX).
    pub(crate) struct Noisy(pub(crate) u64);

    impl Noisy {
        pub(crate) fn next(&mut self) -> f64 {
            let uniform = |state: &mut u64| {
                *state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (*state >> 11) as f64 / (1_u64 << 53) as f64
            };
            (0..12).map(|_| uniform(&mut self.0)).sum::<f64>() - 6.0
        }

        fn values(&mut self, count: usize, mean: f64, deviation: f64) -> Vec<f64> {
            (0..count)
                .map(|_| mean * (1.0 + deviation * self.next()))
                .collect()
        }
    }

    #[test]
    fn the_interval_is_welchs() {
        // Worked by hand: means 102 and 110, relative variances of the means
        // 4/3/102^2 and 9/3/110^2, 3.63 degrees of freedom.
        let found = change(&[100.0, 102.0, 104.0], &[107.0, 110.0, 113.0]);
        assert!((found.percent - 7.843).abs() < 1e-3, "{found:?}");
        let interval = found.interval.unwrap();
        let (one, other) = (4.0 / 3.0 / 102_f64.powi(2), 9.0 / 3.0 / 110_f64.powi(2));
        let degrees = (one + other).powi(2) / (one.powi(2) / 2.0 + other.powi(2) / 2.0);
        assert!((degrees - 3.632).abs() < 1e-3, "{degrees}");
        let half = student_t(0.975, degrees) * (one + other).sqrt();
        let expected = |sign: f64| ((110.0_f64 / 102.0).ln() + sign * half).exp_m1() * 100.0;
        assert!((interval.low - expected(-1.0)).abs() < 1e-9, "{interval:?}");
        assert!((interval.high - expected(1.0)).abs() < 1e-9, "{interval:?}");
        assert!(interval.shows_a_change());
        assert!(interval.shows_from > half * 100.0);
    }

    #[test]
    fn one_pass_has_the_noise_of_its_window_at_most() {
        let alone = Measured::over_passes(&[100.0]).unwrap();
        assert_eq!(alone.spread, None);
        let found = Change::between(&alone, &passes(&[90.0, 91.0]), CONFIDENCE).unwrap();
        assert_eq!((found.percent, found.interval), (-9.5, None));
        let seconds: Vec<_> = (0..60).map(|second| 99.0 + f64::from(second % 3)).collect();
        assert_eq!(Measured::in_window(100.0, &seconds[..9]).spread, None);
        let window = Measured::in_window(100.0, &seconds);
        let spread = window.spread.unwrap();
        assert_eq!((spread.count, spread.noise), (10, Noise::Window));
        assert!(spread.relative_variance < 1e-20, "batches of 6 s are alike");
        let mixed = Change::between(&passes(&[100.0, 101.0]), &window, CONFIDENCE).unwrap();
        assert_eq!(mixed.interval.unwrap().noise, Noise::Window);
    }

    #[test]
    fn slow_waves_widen_the_interval_that_seconds_alone_would_give() {
        let wave = |second: u32| 100.0 + 10.0 * (f64::from(second) / 60.0 * 6.0).sin();
        let seconds: Vec<_> = (0..60).map(wave).collect();
        let batched = Measured::in_window(100.0, &seconds).spread.unwrap();
        let naive = Spread::of(&seconds, Noise::Window).unwrap();
        assert!(batched.of_mean() > 5.0 * naive.of_mean());
    }

    #[test]
    fn nothing_has_no_percentage() {
        for (from, to) in [
            (0.0, 1.0),
            (1.0, 0.0),
            (f64::NAN, 1.0),
            (1.0, f64::INFINITY),
        ] {
            let [from, to] = [from, to].map(|value| Measured {
                value,
                spread: None,
                resolution: 0.0,
            });
            assert_eq!(Change::between(&from, &to, CONFIDENCE), None);
        }
        assert_eq!(Measured::over_passes(&[]), None);
        assert_eq!(passes(&[0.0, 0.0]).spread, None);
        assert_eq!(percent_more(1.0, 0.0), None);
    }

    #[test]
    fn values_without_noise_have_an_interval_without_width() {
        let found = change(&[100.0; 3], &[150.0; 3]);
        let interval = found.interval.unwrap();
        assert!((interval.low - 50.0).abs() < 1e-9 && (interval.high - 50.0).abs() < 1e-9);
        assert!(interval.shows_a_change());
        assert!(
            !change(&[100.0; 2], &[100.0; 2])
                .interval
                .unwrap()
                .shows_a_change()
        );
    }

    #[test]
    fn what_is_finer_than_the_resolution_is_no_change() {
        let coarse = |values: &[f64]| passes(values).with_resolution(0.001);
        let shows = |to: &[f64]| {
            let found = Change::between(&coarse(&[1000.0; 3]), &coarse(to), CONFIDENCE);
            found.unwrap().interval.unwrap().shows_a_change()
        };
        assert!(!shows(&[1000.9; 3]) && !shows(&[999.1; 3]));
        assert!(shows(&[1001.1; 3]) && shows(&[998.9; 3]));
    }

    /// Of comparisons of like with like about one in twenty may show a change,
    /// with few passes, unequal noise and noise that is far from small; and what
    /// is said to be shown in four of five cases is.
    #[test]
    fn verdicts_are_wrong_as_rarely_as_they_claim() {
        const TRIALS: usize = 4000;
        let mut noisy = Noisy(7);
        for (passes, one, other) in [
            (2, 0.02, 0.02),
            (3, 0.02, 0.02),
            (3, 0.01, 0.05),
            (5, 0.2, 0.2),
        ] {
            let mut wrong = 0;
            for _ in 0..TRIALS {
                let from = noisy.values(passes, 100.0, one);
                let to = noisy.values(passes, 100.0, other);
                wrong += usize::from(change(&from, &to).interval.unwrap().shows_a_change());
            }
            let rate = wrong as f64 / TRIALS as f64;
            assert!(
                rate < 0.065,
                "{passes} passes, noise {one} and {other}: {rate}"
            );
            assert!(
                rate > 0.005,
                "{passes} passes, noise {one} and {other}: {rate}"
            );
        }
        let mut shown = 0;
        for _ in 0..TRIALS {
            // 5 passes, 2 %: standard error 1.265 %, 8 degrees, 2.306 + 0.889.
            let from = noisy.values(5, 100.0, 0.02);
            let to = noisy.values(5, 104.12, 0.02);
            shown += usize::from(change(&from, &to).interval.unwrap().shows_a_change());
        }
        let rate = shown as f64 / TRIALS as f64;
        assert!((0.76..0.84).contains(&rate), "{rate}");
    }

    proptest! {
        #[test]
        fn itself_is_no_change(values in prop::collection::vec(0.001..1e9_f64, 1..9)) {
            let found = change(&values, &values);
            prop_assert_eq!(found.percent, 0.0);
            prop_assert!(found.interval.is_none_or(|interval| !interval.shows_a_change()));
        }

        #[test]
        fn turned_around_it_is_the_inverse(
            from in prop::collection::vec(0.001..1e9_f64, 2..9),
            to in prop::collection::vec(0.001..1e9_f64, 2..9),
        ) {
            let (there, back) = (change(&from, &to), change(&to, &from));
            let product = (1.0 + there.percent / 100.0) * (1.0 + back.percent / 100.0);
            prop_assert!((product - 1.0).abs() < 1e-6, "{}", product);
            let (there, back) = (there.interval.unwrap(), back.interval.unwrap());
            prop_assert_eq!(there.shows_a_change(), back.shows_a_change());
            prop_assert_eq!(there.low > 0.0, back.high < 0.0);
            prop_assert!((there.shows_from - back.shows_from).abs() <= there.shows_from * 1e-9);
            for bound in [there.low, there.high, back.low, back.high] {
                prop_assert!(bound.is_finite() && bound >= -100.0);
            }
        }
    }
}
