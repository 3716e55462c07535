//! Conditions under which a comparison fails: `throughput < -5%`.
//!
//! Not here: how a condition is judged ([`super::judgement`]).

use std::str::FromStr;

use smbench_model::kind::OpKind;
use smbench_model::plan::Plan;
use smbench_model::setting::FAIL_IF;
use smbench_model::units::parse_whole;

use super::error::CompareError;
use crate::metric::Metric;
use crate::units::plain;

/// A change that makes a comparison fail.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The condition as the user wrote it.
    pub(super) text: String,
    /// A population, if an operation follows it.
    pub(super) population: Option<String>,
    /// A kind of operation, or a population.
    pub(super) op: Option<String>,
    pub(super) metric: Metric,
    pub(super) place: At,
    pub(super) side: LimitSide,
    pub(super) limit_percent: f64,
}

/// The load point that a condition refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// Not given: the peaks for rates. Times depend on the number of clients, so
    /// for times it is the baseline's peak in both runs.
    Usual,
    /// Each run's own peak.
    Peak,
    /// The load point with this number of clients.
    Clients(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitSide {
    /// The condition is met if the change is less than the limit.
    Below,
    /// The condition is met if the change is greater than the limit.
    Above,
}

/// A condition of a comparison.
const EXAMPLE: &str = "'p99 > +10%'";
/// Some metrics, for a message that fits a line.
pub(crate) const METRICS: &str = "throughput, ops/s, mean, p99, us/op";

/// Error of a text that is not a valid condition: what is wrong, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GrammarError(String);

impl FromStr for Condition {
    type Err = GrammarError;

    fn from_str(text: &str) -> Result<Self, GrammarError> {
        let wrong = |reason: &str| GrammarError(format!("{reason}: write for example {EXAMPLE}"));
        let Phrase {
            of,
            op,
            name,
            place,
            side,
            limit,
        } = Phrase::parse(text).map_err(wrong)?;
        if name == "errors" {
            return Err(GrammarError(format!(
                "errors have no change in percent: use run {FAIL_IF} 'errors > 0'"
            )));
        }
        let limit_percent = signed_percent(limit).map_err(wrong)?;
        let size = limit_percent.abs();
        match side {
            LimitSide::Below if limit_percent > 0.0 => {
                return Err(GrammarError(format!(
                    "a limit below a rise would also match no change: write < -{size}%"
                )));
            }
            LimitSide::Above if limit_percent < 0.0 => {
                return Err(GrammarError(format!(
                    "a limit above a fall would also match no change: write > +{size}%"
                )));
            }
            _ => {}
        }
        let metric = Metric::by_name(name).ok_or_else(|| {
            let name = plain(name);
            GrammarError(format!("`{name}` is not a metric, such as {METRICS}"))
        })?;
        if let Some(op) = op
            && matches!(metric, Metric::Cpu | Metric::ServerCpu)
        {
            let op = plain(op);
            return Err(GrammarError(format!(
                "CPU time is that of all operations together: leave out `{op}`"
            )));
        }
        Ok(Self {
            text: plain(text.trim()),
            population: of.map(str::to_owned),
            op: op.map(str::to_owned),
            metric,
            place,
            side,
            limit_percent,
        })
    }
}

impl Condition {
    /// Checks that a plan has the population, so that no load is wasted on one that it lacks.
    ///
    /// # Errors
    ///
    /// [`CompareError::NoData`] with the populations of the plan.
    pub fn check(&self, plan: &Plan) -> Result<(), CompareError> {
        // A population cannot have the name of an operation.
        let word = self.op.as_deref().filter(|op| OpKind::named(op).is_none());
        let Some(name) = self.population.as_deref().or(word) else {
            return Ok(());
        };
        let populations = plan.work.populations.iter();
        let all: Vec<_> = populations.filter_map(|one| one.name.as_deref()).collect();
        if all.contains(&name) {
            return Ok(());
        }
        let (profile, name) = (&plan.work.profile, plain(name));
        Err(CompareError::NoData {
            condition: self.text.clone(),
            reason: match &all[..] {
                [] => format!("profile {profile} has no {name}"),
                all => {
                    let all = all.join(", ");
                    format!("profile {profile} has no population {name}, only {all}")
                }
            },
        })
    }
}

/// A condition before its metric and its limit are understood.
pub(crate) struct Phrase<'a> {
    /// A word before the operation.
    pub(crate) of: Option<&'a str>,
    pub(crate) op: Option<&'a str>,
    pub(crate) name: &'a str,
    pub(crate) place: At,
    pub(crate) side: LimitSide,
    pub(crate) limit: &'a str,
}

impl<'a> Phrase<'a> {
    /// Parses `[[WORD] OPERATION] NAME [at CLIENTS|at peak] < LIMIT`.
    pub(crate) fn parse(text: &'a str) -> Result<Self, &'static str> {
        let at = text.find(['<', '>']).ok_or("there is no < or >")?;
        let words: Vec<_> = text[..at].split_whitespace().collect();
        let (words, place) = match words[..] {
            [ref before @ .., "at", "peak"] => (before, At::Peak),
            [ref before @ .., "at", clients]
            | [ref before @ .., "at", clients, "clients" | "client"] => {
                let clients = parse_whole(clients).ok().filter(|clients| *clients > 0);
                let clients = clients.ok_or("after `at` comes a number of clients, or peak")?;
                (before, At::Clients(clients))
            }
            ref all => (all, At::Usual),
        };
        let (of, op, name) = match *words {
            [name] => (None, None, name),
            [op, name] => (None, Some(op), name),
            [of, op, name] => (Some(of), Some(op), name),
            _ => return Err("expected a metric"),
        };
        Ok(Self {
            of,
            op,
            name,
            place,
            side: if text[at..].starts_with('<') {
                LimitSide::Below
            } else {
                LimitSide::Above
            },
            limit: &text[at + 1..],
        })
    }
}

/// Parses `-5%`, or with spaces `+ 10 %`.
pub(crate) fn signed_percent(text: &str) -> Result<f64, &'static str> {
    let number = text
        .trim()
        .strip_suffix('%')
        .ok_or("its limit must be a change in %")?;
    let number = number.trim();
    let signs = usize::from(number.starts_with(['+', '-']));
    let (sign, digits) = number.split_at(signs);
    let number = format!("{sign}{}", digits.trim_start());
    let number = number.parse::<f64>().ok();
    let finite = number.filter(|number| number.is_finite());
    finite.ok_or("the limit is not a number of percent")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_population_may_come_before_an_operation() {
        let condition: Condition = "office read p99 > 10%".parse().unwrap();
        let words = (condition.population, condition.op);
        assert_eq!(words, (Some("office".to_owned()), Some("read".to_owned())));
    }

    fn parsed(text: &str) -> Result<(Option<String>, Metric, At, LimitSide, f64), String> {
        let condition: Condition = text
            .parse()
            .map_err(|error: GrammarError| error.to_string())?;
        let Condition {
            op,
            metric,
            place,
            side,
            limit_percent,
            ..
        } = condition;
        Ok((op, metric, place, side, limit_percent))
    }

    #[test]
    fn conditions_are_a_metric_a_place_and_a_limit() {
        let read = Some("read".to_owned());
        for (text, expected) in [
            (
                "throughput < -5%",
                (None, Metric::Throughput, At::Usual, LimitSide::Below, -5.0),
            ),
            (
                "p99>+10%",
                (None, Metric::P99, At::Usual, LimitSide::Above, 10.0),
            ),
            (
                " p99.9 at 16 > + 2.5 % ",
                (None, Metric::P999, At::Clients(16), LimitSide::Above, 2.5),
            ),
            (
                "read mean at 1 client > 0%",
                (
                    read.clone(),
                    Metric::Mean,
                    At::Clients(1),
                    LimitSide::Above,
                    0.0,
                ),
            ),
            (
                "read ops/s at peak < - 0%",
                (read, Metric::Operations, At::Peak, LimitSide::Below, 0.0),
            ),
        ] {
            assert_eq!(parsed(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_not_one_is_refused_with_what_to_write() {
        let write = "write for example 'p99 > +10%'";
        for (text, reason) in [
            ("", "there is no < or >"),
            ("p99 = 10%", "there is no < or >"),
            ("p99 > 10", "its limit must be a change in %"),
            ("p99 > ten%", "the limit is not a number of percent"),
            ("p99 > inf%", "the limit is not a number of percent"),
            ("p99 > 1 0%", "the limit is not a number of percent"),
            ("p99 > + -10%", "the limit is not a number of percent"),
            ("p99 >> 10%", "the limit is not a number of percent"),
            ("> 10%", "expected a metric"),
            ("a b c p99 > 10%", "expected a metric"),
            (
                "p99 at x > 10%",
                "after `at` comes a number of clients, or peak",
            ),
            (
                "p99 at 0 > 10%",
                "after `at` comes a number of clients, or peak",
            ),
        ] {
            assert_eq!(parsed(text), Err(format!("{reason}: {write}")), "{text}");
        }
        for (text, message) in [
            (
                "p98 > 10%",
                "`p98` is not a metric, such as throughput, ops/s, mean, p99, us/op",
            ),
            (
                "p99 at > 10%",
                "`at` is not a metric, such as throughput, ops/s, mean, p99, us/op",
            ),
            (
                "throughput < 5%",
                "a limit below a rise would also match no change: write < -5%",
            ),
            (
                "p99 > -2.5%",
                "a limit above a fall would also match no change: write > +2.5%",
            ),
            (
                "errors > 0",
                "errors have no change in percent: use run fail_if 'errors > 0'",
            ),
            (
                "read us/op > 5%",
                "CPU time is that of all operations together: leave out `read`",
            ),
        ] {
            assert_eq!(parsed(text), Err(message.to_owned()), "{text}");
        }
    }
}
