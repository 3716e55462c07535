//! How many sessions a server holds at the same time.

use std::fmt;
use std::str::FromStr;

use smbench_model::record::SetupPhase;

use super::busy_machine::remedy;
use super::judge::{delay, lacks_only_answers};
use crate::doc::{
    AttemptsDoc, FindDoc, FindEnd, FindKind, LoadPointDoc, OutcomeDoc, ProbeDoc, ProbeOutcome,
    RunDoc,
};
use crate::threshold::Threshold;
use crate::units::{counted, percent, plain};

/// The share of failed sessions that ends a search, such as `failed >= 5%`.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldLimit {
    text: String,
    /// 0 to 100, and more than 0.
    percent: f64,
}

/// Error of a text that is no such condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}: write 'failed >= N%', with N from 0.001 to 100, such as 'failed >= 5%'")]
pub struct HeldLimitError(String);

impl FromStr for HeldLimit {
    type Err = HeldLimitError;

    fn from_str(text: &str) -> Result<Self, HeldLimitError> {
        let number = text.trim().strip_prefix("failed");
        let number = number.and_then(|rest| rest.trim().strip_prefix(">="));
        let number = number.and_then(|rest| rest.trim().strip_suffix('%'));
        let number = number.and_then(|number| number.trim().parse::<f64>().ok());
        match number.filter(|number| (0.001..=100.0).contains(number)) {
            Some(number) => Ok(Self {
                text: plain(text.trim()),
                percent: number,
            }),
            None => Err(HeldLimitError(format!(
                "`{}` is not a condition",
                plain(text)
            ))),
        }
    }
}

impl fmt::Display for HeldLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl HeldLimit {
    /// Returns the share of failed sessions, 0 to 1.
    #[must_use]
    pub const fn share(&self) -> f64 {
        self.percent / 100.0
    }

    /// Returns the condition that fewer operations fail.
    #[must_use]
    pub fn on_operations(&self) -> Threshold {
        Threshold::failed_below(self.percent)
    }
}

/// The bound on the number of sessions that is not the server's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldMost {
    /// As many as were asked for.
    Asked,
    /// As many as this machine can open, and why no more.
    Machine(String),
}

/// The session that holds the directory of the run on the share. The server counts it like
/// the others.
const OWN: u32 = 1;

/// The sessions of a load point, and that of the run.
struct Held {
    tried: u32,
    /// Attempts that failed.
    refused: u32,
    /// Sessions that were lost while they were held.
    lost: u32,
    /// Requests that failed in sessions that were not lost.
    echoes_failed: u64,
}

impl Held {
    fn of(point: &LoadPointDoc) -> Self {
        let attempts = point.setup.attempts.as_ref();
        let tried = attempts.map_or(0, |attempts| attempts.ended);
        Self {
            tried: tried.saturating_add(OWN),
            refused: attempts.map_or(0, |attempts| attempts.failed),
            lost: point.dropouts.len() as u32,
            echoes_failed: point.errors,
        }
    }

    const fn failed(&self) -> u32 {
        self.refused.saturating_add(self.lost)
    }

    const fn alive(&self) -> u32 {
        self.tried.saturating_sub(self.failed())
    }

    fn failed_share(&self) -> f64 {
        f64::from(self.failed()) / f64::from(self.tried.max(1))
    }

    /// Describes the failures with their phases.
    fn failures_in_words(&self, attempts: Option<&AttemptsDoc>) -> String {
        let causes = attempts.into_iter().flat_map(causes);
        let lost = (self.lost > 0).then(|| format!("{} while held", self.lost));
        let causes: Vec<_> = causes.chain(lost).collect();
        let attempts = counted(self.tried.into(), "attempt");
        let share = percent(self.failed_share() * 100.0);
        let all = format!("{} of {attempts} failed ({share})", self.failed());
        let all = if causes.is_empty() {
            all
        } else {
            format!("{all}: {}", causes.join(", "))
        };
        match self.echoes_failed {
            0 => all,
            failed => format!("{all}; {} failed", counted(failed, "ECHO request")),
        }
    }
}

/// Returns what a run has found, whose only load point opened as many sessions as it could
/// and kept them alive.
#[must_use]
pub fn sessions(doc: &RunDoc, limit: &HeldLimit, most: &HeldMost) -> FindDoc {
    let found = FindDoc {
        kind: FindKind::Sessions,
        unit: "sessions".to_owned(),
        population: None,
        limit: vec![limit.to_string()],
        result: None,
        broke_at: None,
        broke_reason: None,
        held_at: None,
        end: FindEnd::Unfinished,
        doubt: None,
        contradiction: None,
        remedy: None,
        precision: 0.0,
        confirmations: 1,
        confirmations_of: 1,
        probes: Vec::new(),
        passes: Vec::new(),
        estimate: None,
        curve: None,
    };
    let Some(point) = doc.load_points.last() else {
        return found;
    };
    let (held, attempts) = (Held::of(point), point.setup.attempts.as_ref());
    let own_limit = attempts.and_then(|attempts| attempts.own_limit.clone());
    let own_limit = own_limit.or_else(|| match most {
        HeldMost::Machine(why) => Some(why.clone()),
        HeldMost::Asked => None,
    });
    // Attempts that were under way when the set-up ended lower the share again.
    let was_reached = attempts.is_some_and(|attempts| attempts.limit_reached);
    let is_broken = was_reached || held.failed_share() >= limit.share();
    let words = held.failures_in_words(attempts);
    let alive = f64::from(held.alive());
    let is_complete = doc.outcome == OutcomeDoc::Complete;
    let is_slow = lacks_only_answers(point) && held.echoes_failed == 0;
    let delay = delay(point).filter(|_| is_slow);
    let (end, verdict, reason) = match own_limit {
        _ if !is_complete => (FindEnd::Unfinished, ProbeOutcome::Unknown, words),
        _ if is_broken => match delay {
            Some(delay) => {
                let reason = format!("{words}; {delay}");
                (FindEnd::ClientLimited, ProbeOutcome::ClientLimited, reason)
            }
            None => (FindEnd::Found, ProbeOutcome::Broke, words),
        },
        Some(why) => (FindEnd::ClientLimited, ProbeOutcome::ClientLimited, why),
        None => (FindEnd::NeverBroke, ProbeOutcome::Held, words),
    };
    FindDoc {
        result: matches!(end, FindEnd::Found | FindEnd::NeverBroke).then_some(alive),
        broke_at: (verdict == ProbeOutcome::Broke).then(|| held.tried.into()),
        broke_reason: (verdict == ProbeOutcome::Broke).then(|| reason.clone()),
        held_at: (alive > 0.0).then_some(alive),
        remedy: (end == FindEnd::ClientLimited && is_broken).then(|| remedy(doc, point)),
        end,
        probes: vec![ProbeDoc {
            load: held.tried.into(),
            ops_per_s: point.ops_per_s,
            verdict,
            reason,
        }],
        ..found
    }
}

/// Returns how many attempts failed, by phase and cause.
pub(super) fn causes(attempts: &AttemptsDoc) -> impl Iterator<Item = String> {
    attempts.failures.iter().map(|failure| {
        let (count, phase) = (failure.count, phase(failure.phase));
        format!("{count} at {phase} ({})", plain(&failure.cause))
    })
}

/// Returns a phase in the words of the protocol.
#[must_use]
const fn phase(phase: SetupPhase) -> &'static str {
    match phase {
        SetupPhase::Connect => "connect",
        SetupPhase::Negotiate => "negotiate",
        SetupPhase::LogOn => "log-on",
        SetupPhase::TreeConnect => "tree connect",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_that_ends_the_search_is_read() {
        let share = |text: &str| text.parse::<HeldLimit>().map(|limit| limit.share());
        assert_eq!(share("failed >= 5%"), Ok(0.05));
        assert_eq!(share(" failed>=0.5 % "), Ok(0.005));
        for wrong in [
            "",
            "failed",
            "failed > 5%",
            "failed >= 5",
            "failed >= 0%",
            "failed >= 101%",
        ] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
