//! How a run that was measured ends: whether what it measured may be quoted.

use smbench_report::RunDoc;
use smbench_report::doc::OutcomeDoc;
use smbench_report::text::missed_rate;
use smbench_report::units::counted;

use crate::failure::Exit;

/// How a run that is not as it should be ends, and why; an interrupted one has
/// been told so.
pub(crate) fn judge(doc: &RunDoc) -> Option<(Exit, Option<String>)> {
    match doc.outcome {
        OutcomeDoc::Interrupted => return Some((Exit::Interrupted, None)),
        OutcomeDoc::Aborted => {
            let reason = doc.outcome_reason.as_deref().unwrap_or("no reason given");
            return Some((Exit::Invalid, Some(format!("run given up: {reason}"))));
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
        counted(first.clients.into(), "client"),
    );
    Some((Exit::Invalid, Some(message)))
}

/// What a rate that was asked for and not reached means for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissedRate {
    /// The run fails.
    Fails,
    /// It is reported, and no more.
    Allowed,
}

impl MissedRate {
    /// As `--allow-missed-rate` says.
    pub(crate) const fn given(allowed: bool) -> Self {
        match allowed {
            true => Self::Allowed,
            false => Self::Fails,
        }
    }

    /// How a run that is valid ends.
    pub(crate) fn judge(self, doc: &RunDoc) -> Option<(Exit, Option<String>)> {
        match self {
            Self::Fails => Some((Exit::Invalid, Some(missed_rate(doc)?))),
            Self::Allowed => None,
        }
    }
}

/// How a run that is valid ends where it must not be client-limited.
pub(crate) fn strictly(doc: &RunDoc) -> Option<(Exit, Option<String>)> {
    let mut limited = doc.load_points.iter().filter_map(|point| {
        let reason = point.generator.as_ref()?.reason.as_deref()?;
        Some((point.clients, reason))
    });
    let (clients, reason) = limited.next()?;
    let message = format!(
        "client-limited at {} of {}, first at the one of {}: {reason}",
        1 + limited.count(),
        counted(doc.load_points.len() as u64, "load point"),
        counted(clients.into(), "client"),
    );
    Some((Exit::Invalid, Some(message)))
}
