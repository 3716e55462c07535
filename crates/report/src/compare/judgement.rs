//! The outcome of a condition: failed, passed or inconclusive.
//!
//! A condition names a limit, such as -5 %. A change has an estimate, a 95 %
//! confidence interval over passes, and a detectable size. The detectable size is
//! the smallest change that such passes show in four of five cases. The first rule
//! that holds decides:
//!
//! | rule | outcome |
//! |---|---|
//! | either run has one pass, so its noise is unknown | inconclusive |
//! | the estimate lies beyond the limit, and the interval on that side of 0 | failed |
//! | no part of the interval lies beyond the limit | passed |
//! | the detectable size is within the limit | passed |
//! | none of these | inconclusive |
//!
//! So a condition passes only if the data could have shown a change as large as its
//! limit. A change beyond the limit that may be noise never passes. Its interval
//! reaches from the limit to 0 or further, and the detectable size is larger still.
//!
//! A condition on a value that was not measured is an error, not a pass. So is a
//! condition on a whole run that lost load points which the baseline has: the peak
//! of the run hides them.

use std::fmt;

use itertools::Itertools as _;
use serde::Serialize;
use smbench_model::setting::REPEAT;

use super::condition::{At, Condition, LimitSide};
use super::error::CompareError;
use super::pair::Pair;
use super::points::{ComparedPoint, MetricChange, PointComparison, Verdict, as_fall};
use crate::change::{CONFIDENCE, Noise};
use crate::load::loads;
use crate::metric::Metric;
use crate::statistics::student_t;
use crate::units::{self, change, changes, counted, plain};

/// The outcome of a condition, and the change it was judged on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The condition as it was written.
    pub condition: String,
    /// Label of the baseline.
    pub baseline: String,
    /// Label of the other result.
    pub other: String,
    /// Name of the other result's server in its study; `null` for a separate
    /// result.
    pub server: Option<String>,
    /// Profile of the other result.
    pub profile: String,
    /// The load point: `at 16 clients`.
    pub place: String,
    /// The change, with its interval.
    pub change: MetricChange,
    /// Whether the condition failed: the change exceeds the limit, and not by
    /// noise.
    pub failed: bool,
    /// Whether the change exceeds the limit, but may be noise.
    pub within_noise: bool,
    /// Whether the data decides the condition; `false` means neither failed nor
    /// passed.
    pub conclusive: bool,
    /// Smallest change in the condition's direction that the data shows in four of
    /// five cases. A fall is negative. `null` with one pass.
    pub detectable_percent: Option<f64>,
    /// The limit of the condition.
    #[serde(skip)]
    limit_percent: f64,
    /// Why a value may be wrong, a few words for each result: `p99 of B may be too
    /// high`, `throughput of A is client-limited`. Empty without a doubt.
    pub doubts: Vec<String>,
}

/// The outcome alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JudgementOutcome {
    Failed,
    Passed,
    Inconclusive,
}

impl Judgement {
    /// Returns whether the data shows that the change stays within the limit.
    #[must_use]
    pub const fn passed(&self) -> bool {
        matches!(self.outcome(), JudgementOutcome::Passed)
    }

    /// Returns whether the change is more than noise even if this rule may be wrong with the
    /// probability `error` only. For several looks at growing data. `passes` is the smaller
    /// number of passes of both sides.
    #[must_use]
    pub fn is_sure_at(&self, error: f64, passes: u32) -> bool {
        self.is_sure_with(error, passes, passes)
    }

    /// Returns whether the change would be sure ([`Self::is_sure_at`]) after `later` passes, if
    /// it and the noise stay as they are after `passes`.
    #[must_use]
    pub fn is_sure_with(&self, error: f64, passes: u32, later: u32) -> bool {
        let change = self.change.pooled;
        let (Some(percent), Some((low, high))) = (
            change.change_percent,
            change.low_percent.zip(change.high_percent),
        ) else {
            return false;
        };
        let log = |percent: f64| (percent / 100.0).ln_1p();
        // The interval has as many degrees of freedom at least. With fewer, the ratio of the
        // two quantiles is larger, so this errs on the side of noise.
        let degrees = f64::from(later.max(2) - 1);
        let wider = student_t(1.0 - error, degrees) / student_t(0.5 + CONFIDENCE / 2.0, degrees);
        // More passes narrow the interval a little more than that.
        let shrunk = (f64::from(passes.max(1)) / f64::from(later.max(1))).sqrt();
        log(percent).abs() > (log(high) - log(low)) / 2.0 * wider * shrunk
    }

    /// Returns whether the value must not be trusted, because a side was client-limited.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.change.verdict == Verdict::CannotTell
    }

    /// Describes the change and its interval: `+12 % at 4 clients, B against A (95 % interval
    /// +9 to +15 %)`.
    #[must_use]
    pub fn found(&self) -> String {
        let shown = self.change.pooled;
        let percent = change(shown.change_percent.unwrap_or_default());
        let (place, one, other) = (&self.place, &self.baseline, &self.other);
        // A study may have several pairs with the labels A and B, so name the server.
        let server = self.server.as_ref();
        let server = server.map(|server| format!(", {server} with {}", self.profile));
        let interval = shown.low_percent.zip(shown.high_percent);
        let interval = interval.filter(|_| self.change.noise == Some(Noise::Passes));
        let interval =
            interval.map(|(low, high)| format!(" (95 % interval {})", changes(low, high)));
        let [server, interval] = [server, interval].map(Option::unwrap_or_default);
        format!("{percent} {place}, {other} against {one}{server}{interval}")
    }

    /// Returns how many passes of each side may show a change of the limit, by the noise of
    /// these; `None` if the noise is not known, or the limit is no change.
    #[must_use]
    pub fn passes_needed(&self, passes: u32) -> Option<u32> {
        let log = |percent: f64| (percent / 100.0).ln_1p();
        let times = (log(self.detectable_percent?) / log(self.limit_percent)).powi(2);
        let needed = (f64::from(passes) * times).ceil();
        (needed.is_finite() && needed <= 1e6).then_some(needed as u32)
    }

    const fn outcome(&self) -> JudgementOutcome {
        match (self.failed, self.conclusive) {
            (true, _) => JudgementOutcome::Failed,
            (false, true) => JudgementOutcome::Passed,
            (false, false) => JudgementOutcome::Inconclusive,
        }
    }
}

/// An interval over passes, and the smallest change that they show in the direction
/// of a condition. All values are in percent.
#[derive(Clone, Copy, Debug)]
struct Evidence {
    low: f64,
    high: f64,
    detectable: f64,
}

impl Evidence {
    /// Returns the evidence of a change; `None` if either run has one pass.
    fn of(change: &MetricChange, side: LimitSide) -> Option<Self> {
        let rise = change
            .pooled
            .shows_from_percent
            .filter(|_| change.noise == Some(Noise::Passes))?;
        Some(Self {
            low: change.pooled.low_percent?,
            high: change.pooled.high_percent?,
            detectable: match side {
                LimitSide::Above => rise,
                LimitSide::Below => as_fall(rise),
            },
        })
    }
}

impl LimitSide {
    /// Returns whether a change exceeds a limit on this side.
    fn is_beyond(self, percent: f64, limit: f64) -> bool {
        match self {
            Self::Below => percent < limit,
            Self::Above => percent > limit,
        }
    }

    /// Applies the rules of this module.
    fn outcome(self, percent: f64, evidence: Option<Evidence>, limit: f64) -> JudgementOutcome {
        let Some(Evidence {
            low,
            high,
            detectable,
        }) = evidence
        else {
            return JudgementOutcome::Inconclusive;
        };
        // The ends of the interval: towards the limit, and away from it.
        let (worst, best) = match self {
            Self::Below => (low, high),
            Self::Above => (high, low),
        };
        if self.is_beyond(percent, limit) && self.is_beyond(best, 0.0) {
            JudgementOutcome::Failed
        } else if !self.is_beyond(worst, limit) || !self.is_beyond(detectable, limit) {
            JudgementOutcome::Passed
        } else {
            JudgementOutcome::Inconclusive
        }
    }
}

impl Condition {
    /// Finds the change in a pair and judges it.
    ///
    /// # Errors
    ///
    /// [`CompareError::NoData`] if the pair has no such change.
    pub fn judge(&self, pair: &Pair) -> Result<Judgement, CompareError> {
        let no_data = |reason: String| CompareError::NoData {
            condition: self.text.clone(),
            reason: match &pair.other.server {
                Some(server) => format!("{server} with {}: {reason}", pair.other.profile),
                None => reason,
            },
        };
        let held = self.held(pair).map_err(no_data)?;
        let (change, percent) = self.change(pair, held).map_err(no_data)?;
        let evidence = Evidence::of(&change, self.side);
        let outcome = self.side.outcome(percent, evidence, self.limit_percent);
        Ok(Judgement {
            condition: self.text.clone(),
            baseline: pair.baseline.label.clone(),
            other: pair.other.label.clone(),
            server: pair.other.server.clone(),
            profile: pair.other.profile.clone(),
            place: place(held),
            change,
            failed: outcome == JudgementOutcome::Failed,
            within_noise: outcome == JudgementOutcome::Inconclusive
                && self.side.is_beyond(percent, self.limit_percent),
            conclusive: outcome != JudgementOutcome::Inconclusive,
            detectable_percent: evidence.map(|evidence| evidence.detectable),
            limit_percent: self.limit_percent,
            doubts: doubts(change.metric, pair, held),
        })
    }

    /// Returns the change that the condition refers to, and its size in percent.
    fn change(&self, pair: &Pair, held: &PointComparison) -> Result<(MetricChange, f64), String> {
        let (one, other) = (&pair.baseline.label, &pair.other.label);
        let place = place(held);
        let words = [&self.population, &self.op].into_iter().flatten();
        let words = words.map(|word| plain(word)).join(" ");
        let what = match &words[..] {
            "" => self.metric.to_string(),
            words => format!("{} of {words}", self.metric),
        };
        let (population, op) = (self.population.as_deref(), self.op.as_deref());
        let found = held.find_in(population, op, self.metric).copied();
        let Some(change) = found else {
            return Err(format!("neither {one} nor {other} has {what} {place}"));
        };
        let pooled = change.pooled;
        let percent =
            pooled
                .change_percent
                .ok_or_else(|| match (pooled.baseline, pooled.other) {
                    (Some(_), Some(_)) => format!(
                        "{what} {place} is of the processes that serve in one, of a machine in the \
                     other"
                    ),
                    (None, _) => format!("{one} has no {what} {place}"),
                    (Some(_), None) => format!("{other} has no {what} {place}"),
                })?;
        Ok((change, percent))
    }

    fn held<'a>(&self, pair: &'a Pair) -> Result<&'a PointComparison, String> {
        let (one, other) = (&pair.baseline.label, &pair.other.label);
        let at = |clients: u32| {
            let clients_in_words = counted(clients.into(), "client");
            pair.at(clients).ok_or_else(|| {
                format!(
                    "{one} and {other} have no valid load point of {clients_in_words} in common"
                )
            })
        };
        let peak = || {
            let peak = pair.peak.as_ref();
            peak.ok_or_else(|| format!("{one} or {other} has no valid load point"))
        };
        if let (At::Usual | At::Peak, [_, ..]) = (self.place, &pair.lost[..]) {
            let lost = units::clients(&pair.lost);
            return Err(format!(
                "{other} has no valid result at {lost}, though it was to have one and {one} has; a \
                 condition with `at CLIENTS` is about one load point"
            ));
        }
        match (self.place, self.metric) {
            (At::Clients(clients), _) => at(clients),
            (At::Peak, _) | (At::Usual, Metric::Throughput | Metric::Operations) => peak(),
            (At::Usual, _) => {
                let peak = peak()?;
                pair.at_baseline_peak()
                    .ok_or_else(|| format!("{other} has no load point of {}", peak.baseline.load))
            }
        }
    }
}

/// Names the results whose value may be wrong.
fn doubts(metric: Metric, pair: &Pair, held: &PointComparison) -> Vec<String> {
    let percentile = metric.percentile();
    let sides = [
        (&pair.baseline.label, held.baseline),
        (&pair.other.label, held.other),
    ];
    let of_side = |(label, place): (&String, ComparedPoint)| {
        let of = format!("{metric} of {label}");
        let noisy = place
            .noisy_from
            .filter(|lowest| percentile >= Some(*lowest));
        let is_stalled = place.stalled && percentile.is_some();
        let is_limited = place.generator_limited && !metric.is_of_cpu();
        [
            noisy.map(|_| format!("{of} may be too high")),
            is_stalled.then(|| format!("{of} misses a stall")),
            is_limited.then(|| format!("{of} is client-limited")),
        ]
    };
    sides.into_iter().flat_map(of_side).flatten().collect()
}

/// Returns `at 16 clients`, or `at 16 and 8 clients` if the two differ.
fn place(held: &PointComparison) -> String {
    match (held.baseline.load, held.other.load) {
        (one, other) if one == other => format!("at {one}"),
        (one, other) => format!("at the peaks of {} and {}", one.print(), loads(&[other])),
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = self.outcome();
        let name = match outcome {
            JudgementOutcome::Failed => "failed",
            JudgementOutcome::Passed => "passed",
            JudgementOutcome::Inconclusive => "inconclusive",
        };
        write!(f, "{name}: {}: ", self.condition)?;
        match (outcome, self.detectable_percent) {
            (JudgementOutcome::Failed | JudgementOutcome::Passed, _) => {}
            (JudgementOutcome::Inconclusive, None) => {
                write!(f, "one pass: noise unknown, repeat with {REPEAT} 5; ")?;
            }
            (JudgementOutcome::Inconclusive, Some(least)) => {
                let least = change(least);
                write!(f, "these passes can only show changes beyond {least}; ")?;
            }
        }
        f.write_str(&self.found())?;
        self.doubts
            .iter()
            .try_for_each(|doubt| write!(f, "; {doubt}"))
    }
}

#[cfg(test)]
mod tests;
