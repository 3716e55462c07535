//! Conditions that a comparison must not meet: `throughput < -5%`.
//!
//! A condition fails where the change lies beyond the threshold and is more than
//! noise: its 95 % confidence interval over passes lies on the threshold's side of
//! 0. So a change beyond the threshold that noise explains passes, and its line
//! says so; with one pass of either run the change alone decides. A condition on
//! what was not measured is an error, not a pass; so is one on a whole run that
//! lost load points which the baseline bore, for its peak hides them.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::{CompareError, Held, MetricChange, Pair};
use crate::change::Noise;
use crate::metric::Metric;
use crate::units::{self, change, changes, counted, plain};

/// What a change must not be.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// As it was written.
    text: String,
    op: Option<String>,
    metric: Metric,
    place: At,
    side: Side,
    threshold_percent: f64,
}

/// Which load point a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Not said: the peaks for rates; for times, which depend on the number of
    /// clients, the baseline's peak in both.
    Usual,
    /// Each run's own peak.
    Peak,
    /// This many clients.
    Clients(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Below,
    Above,
}

/// How a condition is written.
const GRAMMAR: &str = "[OPERATION] METRIC [at CLIENTS|at peak] < -N% or > +N%, such as \
                       'throughput < -5%', 'p99 > +10%' or 'read p99 at 16 > +10%'; METRIC is one of";

/// A condition that is not one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrammarError {
    reason: String,
}

impl std::error::Error for GrammarError {}

impl fmt::Display for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metrics = Metric::ALL.map(Metric::name).join(", ");
        write!(f, "{}: write {GRAMMAR} {metrics}", self.reason)
    }
}

impl FromStr for Condition {
    type Err = GrammarError;

    fn from_str(text: &str) -> Result<Self, GrammarError> {
        let wrong = |reason: &str| GrammarError {
            reason: reason.to_owned(),
        };
        let at = text
            .find(['<', '>'])
            .ok_or_else(|| wrong("there is no < or >"))?;
        let (subject, limit) = (&text[..at], &text[at + 1..]);
        let side = match text[at..].starts_with('<') {
            true => Side::Below,
            false => Side::Above,
        };
        let threshold_percent = percent(limit).map_err(wrong)?;
        match side {
            Side::Below if threshold_percent > 0.0 => {
                return Err(wrong("what is below a rise would include no change at all"));
            }
            Side::Above if threshold_percent < 0.0 => {
                return Err(wrong("what is above a fall would include no change at all"));
            }
            _ => {}
        }
        let words: Vec<_> = subject.split_whitespace().collect();
        let (words, place) = match words[..] {
            [ref before @ .., "at", "peak"] => (before, At::Peak),
            [ref before @ .., "at", clients]
            | [ref before @ .., "at", clients, "clients" | "client"] => {
                let clients = clients.parse().ok().filter(|clients| *clients > 0);
                let clients = clients
                    .ok_or_else(|| wrong("after `at` comes a number of clients, or peak"))?;
                (before, At::Clients(clients))
            }
            ref all => (all, At::Usual),
        };
        let (op, name) = match *words {
            [name] => (None, name),
            [op, name] => (Some(op.to_owned()), name),
            _ => return Err(wrong("expected a metric")),
        };
        let metric = Metric::by_name(name)
            .ok_or_else(|| wrong(&format!("`{}` is no metric", plain(name))))?;
        if op.is_some() && matches!(metric, Metric::Cpu | Metric::ServerCpu) {
            return Err(wrong("CPU time is that of all operations together"));
        }
        Ok(Self {
            text: plain(text.trim()),
            op,
            metric,
            place,
            side,
            threshold_percent,
        })
    }
}

/// `-5%`, or with spaces `+ 10 %`.
fn percent(text: &str) -> Result<f64, &'static str> {
    let number = text.trim().strip_suffix('%').ok_or("the limit has no %")?;
    let number = number.trim();
    let signs = usize::from(number.starts_with(['+', '-']));
    let (sign, digits) = number.split_at(signs);
    let number = format!("{sign}{}", digits.trim_start());
    let number = number.parse::<f64>().ok();
    let finite = number.filter(|number| number.is_finite());
    finite.ok_or("the limit is not a number of percent")
}

/// What became of a condition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The condition as it was written.
    pub condition: String,
    /// Label of what was held against.
    pub baseline: String,
    /// Label of what was held against it.
    pub other: String,
    /// What its study calls the server of that; `null` of a result by itself.
    pub server: Option<String>,
    /// Its profile.
    pub profile: String,
    /// Where: `at 16 clients`.
    pub place: String,
    /// The change, with its interval.
    pub change: MetricChange,
    /// Whether it is what must not be.
    pub failed: bool,
    /// Whether it lies beyond the threshold, but may be noise.
    pub within_noise: bool,
}

impl Condition {
    /// Looks the change up and judges it.
    ///
    /// # Errors
    ///
    /// [`CompareError::NoData`] where the pair has no such change.
    pub fn judge(&self, pair: &Pair) -> Result<Judgement, CompareError> {
        let no_data = |reason: String| CompareError::NoData {
            condition: self.text.clone(),
            reason: match &pair.other.server {
                Some(server) => format!("{server} with {}: {reason}", pair.other.profile),
                None => reason,
            },
        };
        let held = self.held(pair).map_err(no_data)?;
        let what = || match &self.op {
            Some(op) => format!("{} of {}", self.metric, plain(op)),
            None => self.metric.to_string(),
        };
        let found = held.find(self.op.as_deref(), self.metric).copied();
        let change = found.ok_or_else(|| {
            no_data(format!(
                "neither {} nor {} has {} {}",
                pair.baseline.label,
                pair.other.label,
                what(),
                place(held)
            ))
        })?;
        let percent = change.change_percent.ok_or_else(|| {
            let (one, other, place) = (&pair.baseline.label, &pair.other.label, place(held));
            no_data(match (change.baseline, change.other) {
                (Some(_), Some(_)) => format!(
                    "{} {place} is of the processes that serve in one, of a machine in the other",
                    what()
                ),
                (None, _) => format!("{one} has no {} {place}", what()),
                (Some(_), None) => format!("{other} has no {} {place}", what()),
            })
        })?;
        let is_beyond = match self.side {
            Side::Below => percent < self.threshold_percent,
            Side::Above => percent > self.threshold_percent,
        };
        let within_noise = is_beyond && self.is_noise(&change);
        Ok(Judgement {
            condition: self.text.clone(),
            baseline: pair.baseline.label.clone(),
            other: pair.other.label.clone(),
            server: pair.other.server.clone(),
            profile: pair.other.profile.clone(),
            place: place(held),
            change,
            failed: is_beyond && !within_noise,
            within_noise,
        })
    }

    /// Whether passes show that it may be none. One pass shows nothing.
    fn is_noise(&self, change: &MetricChange) -> bool {
        change.noise == Some(Noise::Passes)
            && match self.side {
                Side::Below => change.high_percent.is_none_or(|high| high >= 0.0),
                Side::Above => change.low_percent.is_none_or(|low| low <= 0.0),
            }
    }

    fn held<'a>(&self, pair: &'a Pair) -> Result<&'a Held, String> {
        let (one, other) = (&pair.baseline.label, &pair.other.label);
        let at = |clients: u32| {
            let clients_told = counted(clients.into(), "client");
            pair.at(clients).ok_or_else(|| {
                format!("{one} and {other} have no valid load point of {clients_told} in common")
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
            (At::Usual, _) => at(peak()?.baseline.clients),
        }
    }
}

/// `at 16 clients`, or `at 16 and 8 clients` where each has its own.
fn place(held: &Held) -> String {
    match (held.baseline.clients, held.other.clients) {
        (one, other) if one == other => format!("at {}", counted(one.into(), "client")),
        (one, other) => format!("at the peaks of {one} and {other} clients"),
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MetricChange {
            change_percent,
            low_percent,
            high_percent,
            noise,
            shows_from_percent,
            ..
        } = self.change;
        let verdict = if self.failed { "failed" } else { "passed" };
        write!(
            f,
            "{verdict}: {}: {} {}, {} against {}",
            self.condition,
            change(change_percent.unwrap_or_default()),
            self.place,
            self.other,
            self.baseline
        )?;
        // Of a study there may be several pairs, all of which are B against A.
        if let Some(server) = &self.server {
            write!(f, ", {server} with {}", self.profile)?;
        }
        match (noise, low_percent.zip(high_percent)) {
            (Some(Noise::Passes), Some((low, high))) => {
                write!(f, " (95 % interval {})", changes(low, high))?;
            }
            _ => write!(f, " (one pass: the change alone, whatever the noise)")?,
        }
        match shows_from_percent {
            Some(least) if self.within_noise => {
                write!(
                    f,
                    "; may be noise: such data show changes from {}",
                    change(least)
                )
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(Option<String>, Metric, At, Side, f64), String> {
        let condition: Condition = text.parse().map_err(|error: GrammarError| error.reason)?;
        let Condition {
            op,
            metric,
            place,
            side,
            threshold_percent,
            ..
        } = condition;
        Ok((op, metric, place, side, threshold_percent))
    }

    #[test]
    fn conditions_are_a_metric_a_place_and_a_limit() {
        let read = Some("read".to_owned());
        for (text, expected) in [
            (
                "throughput < -5%",
                (None, Metric::Throughput, At::Usual, Side::Below, -5.0),
            ),
            (
                "p99>+10%",
                (None, Metric::P99, At::Usual, Side::Above, 10.0),
            ),
            (
                " p99.9 at 16 > + 2.5 % ",
                (None, Metric::P999, At::Clients(16), Side::Above, 2.5),
            ),
            (
                "read mean at 1 client > 0%",
                (read.clone(), Metric::Mean, At::Clients(1), Side::Above, 0.0),
            ),
            (
                "read ops/s at peak < - 0%",
                (read, Metric::Operations, At::Peak, Side::Below, 0.0),
            ),
        ] {
            assert_eq!(parsed(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_not_one_is_refused_with_the_grammar() {
        for (text, reason) in [
            ("", "there is no < or >"),
            ("p99 = 10%", "there is no < or >"),
            ("p99 > 10", "the limit has no %"),
            ("p99 > ten%", "the limit is not a number of percent"),
            ("p99 > inf%", "the limit is not a number of percent"),
            ("p99 > 1 0%", "the limit is not a number of percent"),
            ("p99 > + -10%", "the limit is not a number of percent"),
            ("p99 >> 10%", "the limit is not a number of percent"),
            ("p98 > 10%", "`p98` is no metric"),
            ("> 10%", "expected a metric"),
            ("a b p99 > 10%", "expected a metric"),
            ("p99 at > 10%", "`at` is no metric"),
            (
                "p99 at x > 10%",
                "after `at` comes a number of clients, or peak",
            ),
            (
                "p99 at 0 > 10%",
                "after `at` comes a number of clients, or peak",
            ),
            (
                "throughput < 5%",
                "what is below a rise would include no change at all",
            ),
            (
                "p99 > -5%",
                "what is above a fall would include no change at all",
            ),
            (
                "read us/op > 5%",
                "CPU time is that of all operations together",
            ),
        ] {
            assert_eq!(parsed(text), Err(reason.to_owned()), "{text}");
        }
        let error = "x".parse::<Condition>().unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no < or >: write [OPERATION] METRIC [at CLIENTS|at peak] < -N% or > +N%, such \
             as 'throughput < -5%', 'p99 > +10%' or 'read p99 at 16 > +10%'; METRIC is one of \
             throughput, ops/s, mean, p50, p90, p99, p99.9, us/op, \
             server-us/op"
        );
    }
}
