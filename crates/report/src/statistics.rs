//! Statistics of repeated measurements: means with confidence intervals, and
//! whether a window was steady.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::steadiness::{NotJudged, Steadiness};
use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Returns the value for each unit of `whole`; 0 if there is none of it, such as no
/// second of a window, or 0 percent of a CPU.
pub(crate) fn per(value: f64, whole: f64) -> f64 {
    if whole > 0.0 { value / whole } else { 0.0 }
}

/// A mean over passes with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the sample (n - 1); `null` for one value.
    pub sd: Option<f64>,
    /// Half the width of the 95 % confidence interval of the mean, by Student's
    /// t distribution; `null` for one value.
    pub ci95: Option<f64>,
    /// Number of values. Absent, like the next two keys, in documents of releases
    /// that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// The lowest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lowest: Option<f64>,
    /// The highest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest: Option<f64>,
}

impl Estimate {
    /// Estimates the mean of repeated measurements; `None` without values.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        let degrees = values.len().checked_sub(1)?;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let sd = (degrees > 0).then(|| (squares / degrees as f64).sqrt());
        Some(Self {
            mean,
            sd,
            ci95: sd.map(|sd| student_t(0.975, degrees as f64) * sd / count.sqrt()),
            count: u32::try_from(values.len()).ok(),
            lowest: values.iter().copied().min_by(f64::total_cmp),
            highest: values.iter().copied().max_by(f64::total_cmp),
        })
    }

    /// Returns what is printed beside the mean; `None` for one value.
    #[must_use]
    pub fn interval(&self) -> Option<PassInterval> {
        let ends = self.lowest.zip(self.highest);
        Some(PassInterval::of(self.mean, self.ci95?, self.count, ends))
    }
}

/// What is printed beside a value of several passes: how far it may be from the true
/// one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PassInterval {
    /// Half the width of the 95 % confidence interval.
    Half(f64),
    /// The lowest and the highest pass. They take the place of an interval that says
    /// little: that of two passes, or one that reaches below 0.
    Range(f64, f64),
}

/// Fewest passes with a confidence interval that is worth printing.
const PASSES_MIN: u32 = 3;

impl PassInterval {
    /// Chooses between half the width of the confidence interval of `value`, and the
    /// lowest and the highest of `count` passes. Without these, the interval ends at 0.
    pub(crate) fn of(value: f64, half: f64, count: Option<u32>, ends: Option<(f64, f64)>) -> Self {
        let is_enough = count.is_none_or(|count| count >= PASSES_MIN);
        // Equal passes have no lowest and highest.
        if (is_enough && half <= value) || half <= 0.0 {
            Self::Half(half)
        } else {
            let (lowest, highest) = ends.unwrap_or(((value - half).max(0.0), value + half));
            Self::Range(lowest, highest)
        }
    }

    /// Formats the interval alone: `12`, or `3 to 40`.
    #[must_use]
    pub fn print(self, number: impl Fn(f64) -> String) -> String {
        match self {
            Self::Half(half) => number(half),
            Self::Range(lowest, highest) => format!("{} to {}", number(lowest), number(highest)),
        }
    }

    /// Formats the interval with its value for a table: `24 ± 12`, or `3 to 40`.
    #[must_use]
    pub fn with(self, value: f64, number: impl Fn(f64) -> String) -> String {
        match self {
            Self::Half(_) => number(value) + &self.after(number),
            Self::Range(..) => self.print(number),
        }
    }

    /// Formats the interval after its value: ` ± 12`, or ` (3 to 40)`.
    #[must_use]
    pub fn after(self, number: impl Fn(f64) -> String) -> String {
        match self {
            Self::Half(_) => format!(" ± {}", self.print(number)),
            Self::Range(..) => format!(" ({})", self.print(number)),
        }
    }
}

/// Number of degrees of freedom above which Student's t is nearly normal.
const DEGREES_MAX: f64 = 1e4;

/// Returns the value that Student's t stays below with this probability, between 0
/// and 1, both excluded. `degrees` of freedom are 1 or more, and may be fractions.
pub(crate) fn student_t(probability: f64, degrees: f64) -> f64 {
    let degrees = degrees.clamp(1.0, DEGREES_MAX);
    let distribution = StudentsT::new(0.0, 1.0, degrees)
        .unwrap_or_else(|error| unreachable!("{degrees} degrees of freedom: {error}"));
    distribution.inverse_cdf(probability)
}

/// Judgement whether the load was steady over a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteadyDoc {
    /// Whether the load was steady; `null` if the window is too short.
    pub is_steady: Option<bool>,
    /// Reason of the judgement. It names the range of five equal parts of the
    /// window, and the rise of the line fitted to them, in percent of their mean.
    pub reason: String,
    /// Range of those parts, in percent of their mean. Absent if it is unknown, and
    /// in documents of releases that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range_percent: Option<f64>,
}

impl SteadyDoc {
    /// Judges the amounts in each whole interval of a window, bytes or operations, by
    /// [`Steadiness`].
    #[must_use]
    pub fn of(intervals: &[u64]) -> Self {
        match Steadiness::of(intervals) {
            Ok(found) => Self {
                is_steady: Some(found.is_steady()),
                reason: format!(
                    "rounds {:.1} % apart (limit 20 %), trend {:+.1} % (limit 10 %)",
                    found.range * 100.0,
                    found.rise * 100.0
                ),
                range_percent: Some(found.range * 100.0),
            },
            Err(why) => Self {
                is_steady: None,
                reason: match why {
                    NotJudged::TooShort => "the window has fewer than 5 full intervals",
                    NotJudged::Idle => "nothing was done in the window",
                }
                .to_owned(),
                range_percent: None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_interval_needs_two_values() {
        assert_eq!(Estimate::of(&[]), None);
        let one = Estimate::of(&[5.0]).unwrap();
        assert_eq!((one.mean, one.sd, one.ci95), (5.0, None, None));
        let same = Estimate::of(&[5.0, 5.0]).unwrap();
        assert_eq!((same.sd, same.ci95), (Some(0.0), Some(0.0)));
        // Squares 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32 around the mean 5.
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        let several = Estimate::of(&values).unwrap();
        let sd = (32.0_f64 / 7.0).sqrt();
        assert_eq!((several.mean, several.sd), (5.0, Some(sd)));
        let half = 2.3646 * sd / 8.0_f64.sqrt();
        assert!((several.ci95.unwrap() - half).abs() < 1e-4);
    }

    #[test]
    fn no_interval_reaches_below_zero() {
        let text = |values: &[f64]| {
            let estimate = Estimate::of(values).unwrap();
            let number = |value: f64| format!("{value:.0}");
            let interval = estimate.interval().map(|interval| interval.after(number));
            number(estimate.mean) + &interval.unwrap_or_default()
        };
        assert_eq!(text(&[100.0]), "100");
        assert_eq!(text(&[100.0, 100.0]), "100 ± 0");
        assert_eq!(text(&[100.0, 102.0]), "101 (100 to 102)");
        assert_eq!(text(&[98.0, 100.0, 102.0]), "100 ± 5");
        assert_eq!(text(&[10.0, 100.0, 190.0]), "100 (10 to 190)");
        // An older document has no lowest and highest.
        let older = r#"{ "mean": 100.0, "sd": 90.0, "ci95": 223.6 }"#;
        let older: Estimate = serde_json::from_str(older).unwrap();
        assert_eq!(older.interval(), Some(PassInterval::Range(0.0, 323.6)));
    }

    #[test]
    fn quantiles_are_those_of_published_tables() {
        for (degrees, published) in [
            (1.0, 12.706),
            (4.0, 2.776),
            (20.0, 2.086),
            (21.0, 2.080),
            (30.0, 2.042),
            (60.0, 2.000),
            (120.0, 1.980),
            (f64::INFINITY, 1.960),
        ] {
            let found = student_t(0.975, degrees);
            assert!((found - published).abs() < 6e-4, "{degrees}: {found}");
        }
        assert!((student_t(0.8, 4.0) - 0.941).abs() < 6e-4);
        assert!((student_t(0.9995, 2.0) - 31.599).abs() < 6e-4);
    }

    proptest! {
        #[test]
        fn quantiles_are_the_inverse_of_the_distribution(
            probability in 0.5001..0.99999_f64,
            degrees in prop_oneof![1.0..40.0_f64, 40.0..1e4_f64],
        ) {
            let found = student_t(probability, degrees);
            let back = StudentsT::new(0.0, 1.0, degrees).unwrap().cdf(found);
            prop_assert!((back - probability).abs() < 1e-6, "{found}: {back}");
        }
    }

    #[test]
    fn steadiness_is_range_and_slope_over_five_rounds() {
        for (intervals, steady) in [
            (&[100, 100, 100, 100][..], None),
            (&[0; 9], None),
            (&[100; 5], Some(true)),
            // A range of 20 %, without a trend.
            (&[100, 90, 110, 90, 100, 90, 110, 90, 100, 100], Some(true)),
            (&[89, 100, 110, 100, 101], Some(false)),
            // A rise of 12 %: too much for a trend, little for a range.
            (&[94, 97, 100, 103, 106], Some(false)),
            (&[106, 103, 100, 97, 94], Some(false)),
            (&[96, 98, 100, 102, 104], Some(true)),
            // One second without an answer does not matter in a minute; in ten
            // seconds it does.
            (
                &[100, 100, 0, 100, 100, 100, 100, 100, 100, 100],
                Some(false),
            ),
        ] {
            assert_eq!(SteadyDoc::of(intervals).is_steady, steady, "{intervals:?}");
        }
        let mut minute = [100; 60];
        minute[30] = 0;
        let judged = SteadyDoc::of(&minute);
        assert_eq!(judged.is_steady, Some(true));
        assert_eq!(
            judged.reason,
            "rounds 8.5 % apart (limit 20 %), trend +0.0 % (limit 10 %)"
        );
    }
}
