//! Exit code of a measured run: whether its results may be quoted.

use smbench_report::RunDoc;
use smbench_report::doc::{FindDoc, FindEnd, OutcomeDoc};
use smbench_report::text::missed_rate;
use smbench_report::units::counted;

use crate::failure::Exit;

/// Returns the exit code and the reason of a run that is not valid. An interrupted
/// run has no reason here, because the user knows it.
pub fn judge(doc: &RunDoc) -> Option<(Exit, Option<String>)> {
    match doc.outcome {
        OutcomeDoc::Interrupted => return Some((Exit::Interrupted, None)),
        OutcomeDoc::Aborted => {
            let reason = doc.outcome_reason.as_deref().unwrap_or("no reason given");
            return Some((Exit::Invalid, Some(format!("run aborted: {reason}"))));
        }
        OutcomeDoc::Complete => {}
    }
    let mut invalid = doc.load_points.iter().filter(|point| !point.valid);
    let first = invalid.next()?;
    let reason = first.invalid_reason.as_deref().unwrap_or("no reason given");
    let message = format!(
        "{} of {} not valid, first the one of {}: {reason}",
        1 + invalid.count(),
        counted(doc.load_points.len() as u64, "load point"),
        first.load(),
    );
    Some((Exit::Invalid, Some(message)))
}

/// Returns the exit code of a completed search without an answer, and briefly why: the
/// output tells the rest. Probes that broke the limit are no failures.
pub fn judge_search(find: &FindDoc) -> Option<(Exit, Option<String>)> {
    match find.end {
        FindEnd::Found | FindEnd::NeverBroke => None,
        _ => {
            let reason = format!("the limit was not found: {}", find.end.reason());
            Some((Exit::Invalid, Some(reason)))
        }
    }
}

/// Effect of a missed rate on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissedRate {
    /// The run fails.
    Fails,
    /// The missed rate is only reported.
    Allowed,
}

impl MissedRate {
    /// Returns the effect for this value of `--allow-missed-rate`.
    pub const fn given(allowed: bool) -> Self {
        if allowed { Self::Allowed } else { Self::Fails }
    }

    /// Returns the exit code and reason of a valid run that fails because of its
    /// rate.
    pub fn judge(self, doc: &RunDoc) -> Option<(Exit, Option<String>)> {
        match self {
            Self::Fails => Some((Exit::Invalid, Some(missed_rate(doc)?))),
            Self::Allowed => None,
        }
    }
}

/// Effect of a client-limited load point on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientLimited {
    /// The run fails.
    Fails,
    /// The load point is only reported.
    Allowed,
}

impl ClientLimited {
    /// Returns the effect for this value of `--strict`.
    pub const fn given(strict: bool) -> Self {
        if strict { Self::Fails } else { Self::Allowed }
    }

    /// Returns the exit code and reason of a valid run that fails because it is
    /// client-limited.
    pub fn judge(self, doc: &RunDoc) -> Option<(Exit, Option<String>)> {
        match self {
            Self::Fails => client_limited(doc),
            Self::Allowed => None,
        }
    }
}

/// What fails a run that is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strictness {
    /// Effect of a missed rate.
    pub missed_rate: MissedRate,
    /// Effect of a client-limited load point.
    pub client_limited: ClientLimited,
}

impl Strictness {
    /// Returns how a run has ended, and why it must not be quoted.
    pub fn judge(self, doc: &RunDoc) -> (Exit, Option<String>) {
        let strict = || self.client_limited.judge(doc);
        let at_rate = || self.missed_rate.judge(doc);
        let none = (Exit::Done, None);
        if let (Some(find), OutcomeDoc::Complete) = (&doc.find, doc.outcome) {
            return judge_search(find).unwrap_or(none);
        }
        judge(doc).or_else(at_rate).or_else(strict).unwrap_or(none)
    }
}

fn client_limited(doc: &RunDoc) -> Option<(Exit, Option<String>)> {
    let mut limited = doc.load_points.iter().filter_map(|point| {
        let reason = point.generator.as_ref()?.reason.as_deref()?;
        point.is_client_limited().then_some((point.load(), reason))
    });
    let (load, reason) = limited.next()?;
    let message = format!(
        "client-limited at {} of {}, first at the one of {}: {reason}",
        1 + limited.count(),
        counted(doc.load_points.len() as u64, "load point"),
        load,
    );
    Some((Exit::Invalid, Some(message)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;
    use smbench_report::doc::GeneratorDoc;

    use super::*;

    fn valid_run() -> RunDoc {
        let path = "../../fixtures/results/v1-curve.json";
        let mut doc = RunDoc::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        let generator = json!({
            "limited": false,
            "shared_cpus": "thread 0 waited for a CPU 67 % of the time; the server had it",
            "credit_starved_share": 0.0,
            "held_back_share": 0.0,
            "workers": [],
        });
        let generator: GeneratorDoc = serde_json::from_value(generator).unwrap();
        for point in &mut doc.load_points {
            point.valid = true;
            point.generator = Some(generator.clone());
            point.latency_noise_ns.insert("p99".to_owned(), 400_000);
        }
        doc
    }

    #[test]
    fn only_a_client_limited_load_point_fails_a_strict_run() {
        let mut doc = valid_run();
        assert_eq!(judge(&doc), None);
        assert_eq!(ClientLimited::given(true).judge(&doc), None);
        doc.load_points[1].generator_limited = Some(true);
        let generator = doc.load_points[1].generator.as_mut().unwrap();
        generator.reason = Some("thread 0 ran 97 % of the time".to_owned());
        let (exit, message) = ClientLimited::given(true).judge(&doc).unwrap();
        assert_eq!(exit, Exit::Invalid);
        let clients = doc.load_points[1].clients;
        let expected = format!(
            "client-limited at 1 of {} load points, first at the one of {clients} clients: thread \
             0 ran 97 % of the time",
            doc.load_points.len()
        );
        assert_eq!(message, Some(expected));
        assert_eq!(ClientLimited::given(false).judge(&doc), None);
    }
}
