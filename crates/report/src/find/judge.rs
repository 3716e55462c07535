//! How a search judges a probe by its load point.

use itertools::Itertools as _;
use smbench_model::setting::{DURATION, HOLD};

use super::{Find, busy_machine, sessions, slow};
use crate::doc::{
    ConditionOutcome, FindKind, LoadPointDoc, OfferedDoc, OutcomeDoc, ProbeOutcome, RunDoc,
};
use crate::replayed::Replayed;
use crate::threshold::Threshold;
use crate::units::{counted, percent};

/// The share of the requests that clients may have in flight, from which on these bound a
/// rate.
const BUSY_SHARE: f64 = 0.8;

/// How much longer than at the fastest load point requests take, if a server has no queue.
const QUEUED: f64 = 1.5;

/// Words in the reason of a request without an answer.
const NO_ANSWER: &str = "no answer";

/// Status of a log-on that took longer than a limit of smbench.
const NO_ANSWER_IN_TIME: &str = "STATUS_IO_TIMEOUT";

/// The number of failures at the limit, from which on a probe can tell their share.
const ENOUGH_FAILURES: f64 = 5.0;

/// The outcome of a probe.
pub(super) struct ProbeJudgement {
    pub(super) outcome: ProbeOutcome,
    pub(super) reason: String,
    /// Why the server may take more than the outcome says.
    pub(super) doubt: Option<String>,
}

impl ProbeJudgement {
    const fn of(outcome: ProbeOutcome, reason: String) -> Self {
        Self {
            outcome,
            reason,
            doubt: None,
        }
    }
}

impl Find {
    /// Judges the last load point of a document.
    pub(super) fn judgement(&self, doc: &RunDoc, point: &LoadPointDoc) -> ProbeJudgement {
        let is_other_work = Replayed::of([point]).is_too_many();
        let own_limit = own_limit(point).filter(|_| !is_other_work);
        // Probes without an answer have the same reason first, whatever else was seen.
        if let Some(nothing) = self.nothing_completed(point) {
            let delay = own_limit.or_else(|| delay(point));
            return broken(nothing, delay);
        }
        if let Some(reason) = own_limit {
            return ProbeJudgement::of(ProbeOutcome::ClientLimited, reason);
        }
        let delay = delay(point);
        let attempts = point.setup.attempts.as_ref();
        if let Some(refused) = attempts.filter(|attempts| attempts.failed > 0) {
            let sessions = counted(refused.ended.into(), "session");
            let causes: Vec<_> = sessions::causes(refused).collect();
            let reason = format!(
                "{} of {sessions} could not be set up: {}",
                refused.failed,
                causes.join(", ")
            );
            return broken(reason, delay.filter(|_| lacks_only_answers(point)));
        }
        let allows_errors = self.limits.iter().any(Threshold::allows_errors);
        let wrong = point.verification.as_ref().map_or(0, |found| found.wrong);
        let failed_alone = point.errors > 0
            && wrong == 0
            && point.dropouts.is_empty()
            && !is_other_work
            && point.latency_ns.is_some();
        let is_judged = point.valid || (allows_errors && failed_alone);
        if !is_judged {
            let reason = point.invalid_reason.clone();
            let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
            let nothing_failed =
                point.errors == 0 && wrong == 0 && !is_other_work && lacks_only_answers(point);
            return broken(reason, delay.filter(|_| nothing_failed));
        }
        self.by_conditions(doc, point, delay)
    }

    /// Returns the reason of a point whose window had no answer, if nothing else failed.
    fn nothing_completed(&self, point: &LoadPointDoc) -> Option<String> {
        let reason = point.invalid_reason.as_deref().unwrap_or_default();
        let attempts = point.setup.attempts.as_ref();
        let is_refused = attempts.is_some_and(|attempts| attempts.failed > 0);
        // The reason is that of the first population with one. Others may have failed.
        let has_failed = point.errors > 0 || !point.dropouts.is_empty();
        let is_other = is_refused || (point.populations.len() > 1 && has_failed);
        (!is_other && point.lacks_answers()).then(|| {
            let length = if self.kind == FindKind::Logons {
                HOLD
            } else {
                DURATION
            };
            format!("{reason}; use a longer {length}")
        })
    }

    /// Judges the conditions, and whether a rate was reached.
    fn by_conditions(
        &self,
        doc: &RunDoc,
        point: &LoadPointDoc,
        delay: Option<String>,
    ) -> ProbeJudgement {
        let alone = RunDoc {
            load_points: vec![LoadPointDoc {
                valid: true,
                ..point.clone()
            }],
            outcome: OutcomeDoc::Complete,
            ..doc.clone()
        };
        let mut held = Vec::new();
        for limit in &self.limits {
            let judged = limit.required(&alone);
            // A probe has one load point, so its place says nothing.
            let places = [
                format!(" at {}", point.load()),
                " at all load points".to_owned(),
            ];
            let found = places.iter().fold(judged.found.clone(), |found, place| {
                found.replace(place.as_str(), "")
            });
            let of = [judged.population.as_ref(), judged.operation.as_ref()];
            let of = of.into_iter().flatten();
            let found = of.chain([&judged.metric, &found]).join(" ");
            match judged.outcome {
                ConditionOutcome::Passed => {
                    if let Some(close) = self.close_to_limit(limit, point, &found) {
                        return close;
                    }
                    held.push(found);
                }
                ConditionOutcome::Unknown | ConditionOutcome::Skipped => {
                    let reason = format!("{}: {}", judged.condition, judged.found);
                    return ProbeJudgement::of(ProbeOutcome::Unknown, reason);
                }
                ConditionOutcome::Failed if delay.is_some() && may_be_late(limit, point) => {
                    return broken(found, delay);
                }
                ConditionOutcome::Failed => {
                    return ProbeJudgement {
                        doubt: limit.noise(point),
                        ..ProbeJudgement::of(ProbeOutcome::Broke, found)
                    };
                }
            }
        }
        let slow = slow::long_log_ons(self.kind, point);
        if let Some(reason) = self.missed(doc, point) {
            let reason = [Some(reason), slow].into_iter().flatten();
            return broken(reason.collect::<Vec<_>>().join("; "), delay);
        }
        if held.is_empty() {
            held.push("rate reached".to_owned());
        }
        let held: Vec<_> = slow.into_iter().chain([held.join(", ")]).collect();
        ProbeJudgement {
            doubt: self.busy(doc, point),
            ..ProbeJudgement::of(ProbeOutcome::Held, held.join("; "))
        }
    }

    /// Judges log-ons of which one more failure would break a limit that holds. A server that
    /// refuses every hundredth log-on refuses 5 or 6 of 575.
    fn close_to_limit(
        &self,
        limit: &Threshold,
        point: &LoadPointDoc,
        found: &str,
    ) -> Option<ProbeJudgement> {
        if self.kind != FindKind::Logons || !limit.breaks_with_one_more(point) {
            return None;
        }
        let is_enough = limit.failures_allowed(point) >= ENOUGH_FAILURES;
        Some(if is_enough {
            ProbeJudgement::of(
                ProbeOutcome::Broke,
                format!("{found}, and one more would be too many"),
            )
        } else {
            ProbeJudgement::of(
                ProbeOutcome::Unknown,
                format!("{found}: too few log-ons to judge {limit}, give a longer {HOLD}"),
            )
        })
    }

    /// Tells if nearly all clients were waiting for the server, so that they bounded the
    /// rate. They also wait if the server is at its limit, but then each request takes
    /// longer than at lower rates.
    fn busy(&self, doc: &RunDoc, point: &LoadPointDoc) -> Option<String> {
        let name = self.population.as_deref();
        let part = point.part_of(name);
        let mut populations = doc.plan.populations.iter();
        let searched = populations.find(|one| Some(&one.name[..]) == name);
        let outstanding = searched.map_or(doc.plan.outstanding, |one| one.outstanding);
        let slots = u64::from(part.clients) * u64::from(outstanding);
        let in_flight = part.concurrency.as_ref()?.in_flight_mean;
        // By Little's law, the mean time that a request is in flight.
        let time_of = |point: &LoadPointDoc| {
            let part = point.part_of(name);
            let requests = part.concurrency.as_ref()?.in_flight_mean;
            Some(requests / part.ops_per_s).filter(|time| time.is_finite())
        };
        let times = doc.load_points.iter().filter_map(time_of);
        let is_queue = time_of(point)? > times.fold(f64::INFINITY, f64::min) * QUEUED;
        let is_busy = self.kind.is_rate() && in_flight >= slots as f64 * BUSY_SHARE;
        (is_busy && !is_queue).then(|| {
            let requests = counted(slots, "request");
            format!("{in_flight:.0} of at most {requests} were in flight: give more clients")
        })
    }

    /// Tells which share of a rate was reached, if the rate was missed. The limit is
    /// stricter than that of a run, because a load just above what the server takes is missed
    /// by little. Two operations may always be at the edges of the window. Log-ons that were
    /// due less than a log-on before its end are not missed. A rate that one population misses is
    /// not made up for by another.
    pub(super) fn missed(&self, doc: &RunDoc, point: &LoadPointDoc) -> Option<String> {
        if doc.plan.unit.is_some() {
            // Its limits have decided already.
            return None;
        }
        let too_late = slow::due_too_late(self.kind, doc, point);
        if point.populations.len() < 2 {
            return self.missed_of(&point.rated()?, too_late);
        }
        let mut parts = point.populations.iter();
        parts.find_map(|part| {
            let rated = part.offered.filter(|offered| offered.rate_missed.is_some());
            let missed = self.missed_of(&rated?, too_late)?;
            Some(format!("{}: {missed}", part.name))
        })
    }

    fn missed_of(&self, offered: &OfferedDoc, too_late: f64) -> Option<String> {
        let share = offered.reached_share()?;
        let due = offered.operations as f64;
        let allowed = (due * (self.spec.precision / 2.0).min(0.01)).max(2.0) + too_late;
        ((1.0 - share) * due > allowed).then(|| {
            let [reached, needed] = [share, 1.0 - allowed / due].map(|of| percent(of * 100.0));
            format!("{reached} of the rate reached, {needed} needed")
        })
    }
}

/// Judges a probe that broke for this reason. With a `delay`, the server is not to blame.
fn broken(reason: String, delay: Option<String>) -> ProbeJudgement {
    match delay {
        Some(delay) => {
            ProbeJudgement::of(ProbeOutcome::ClientLimited, format!("{reason}; {delay}"))
        }
        None => ProbeJudgement::of(ProbeOutcome::Broke, reason),
    }
}

/// Returns what delayed answers and is not the server: the load generator, or other programs
/// on the machine of both.
pub(super) fn delay(point: &LoadPointDoc) -> Option<String> {
    match point.generator_limited {
        Some(true) => Some(generator_reason(point)),
        _ => busy_machine::delayed_server(point),
    }
}

/// Returns whether a delay alone can break a condition. It makes no operation fail, except
/// those that end by a limit of smbench.
fn may_be_late(limit: &Threshold, point: &LoadPointDoc) -> bool {
    let mut failures = point.failures.iter();
    !limit.is_of_errors() || failures.all(|failure| failure.status == NO_ANSWER_IN_TIME)
}

/// Returns whether all clients that were lost or not set up waited for an answer in vain. A
/// delay makes nothing else fail.
pub(super) fn lacks_only_answers(point: &LoadPointDoc) -> bool {
    let lost = point.dropouts.iter().map(|lost| &lost.reason);
    let attempts = point.setup.attempts.iter();
    let failures = attempts.flat_map(|attempts| &attempts.failures);
    lost.chain(failures.map(|failure| &failure.cause))
        .all(|reason| reason.contains(NO_ANSWER))
}

/// Returns why the generator, or its machine, was the limit.
fn own_limit(point: &LoadPointDoc) -> Option<String> {
    if point.is_client_limited() {
        return Some(generator_reason(point));
    }
    let attempts = point.setup.attempts.as_ref();
    if let Some(reason) = attempts.and_then(|attempts| attempts.own_limit.clone()) {
        return Some(reason);
    }
    // Of a client that could not open a socket.
    let mut reasons = point.dropouts.iter().map(|lost| &lost.reason);
    reasons
        .find(|reason| reason.contains("this machine is the limit"))
        .cloned()
}

fn generator_reason(point: &LoadPointDoc) -> String {
    let generator = point.generator.as_ref();
    let reason = generator.and_then(|generator| generator.reason.clone());
    reason.unwrap_or_else(|| "no reason given".to_owned())
}

/// Returns the operations per second of a point. Operations of several requests count once
/// at a rate. Of several populations, some may have no rate, so that all operations count.
pub(super) fn achieved(point: &LoadPointDoc) -> f64 {
    let offered = point.rated().filter(|_| point.populations.len() < 2);
    let answered = offered.and_then(|offered| Some(offered.ops_per_s * offered.reached_share()?));
    answered.unwrap_or(point.ops_per_s)
}
