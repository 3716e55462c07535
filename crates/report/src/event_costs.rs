//! What events of load points cost, in columns that tables of runs and of studies share. Not here:
//! the rows of these tables.

use smbench_model::contents::Verify;
use smbench_model::files::Scope;

use crate::doc::{EventDoc, LoadPointDoc, RunDoc, WorkloadDoc};
use crate::latency::LatencyDoc;
use crate::table::{Cell, Column};
use crate::units::{self, plain};

/// Returns the columns of [`cells`].
pub(crate) fn columns() -> impl Iterator<Item = Column> {
    let names = [
        "lost",
        "away",
        "p50",
        "p99",
        "max",
        "as before",
        "kept",
        "lost",
        "repeated",
        "failed",
    ];
    names.into_iter().map(Column::number)
}

/// Returns what an event cost.
pub(crate) fn cells(event: &EventDoc) -> [Cell; 10] {
    let blackout = event.blackout_ns.as_ref();
    let time =
        |of: fn(&LatencyDoc) -> u64| Cell::latency(blackout.map(|blackout| of(blackout) as f64));
    [
        Cell::count(event.clients),
        Cell::count(event.clients_away),
        time(|blackout| blackout.p50),
        time(|blackout| blackout.p99),
        time(|blackout| blackout.max),
        Cell::of(event.recovery_s, units::seconds),
        Cell::count(event.handles_kept),
        Cell::count(event.handles_lost),
        Cell::count(event.requests_repeated),
        Cell::count(event.operations_failed),
    ]
}

/// Returns the event as a short name: `30s drop 100%`.
pub(crate) fn name(event: &EventDoc) -> String {
    /// Longer commands are cut.
    const WIDTH_MAX: usize = 24;
    let Some(written) = &event.event else {
        return plain(&event.kind);
    };
    let short = written.strip_prefix("at ").unwrap_or(written);
    let short = plain(&short.replacen(':', "", 1));
    if short.chars().count() <= WIDTH_MAX {
        return short;
    }
    let start: String = short.chars().take(WIDTH_MAX - 3).collect();
    format!("{start}...")
}

/// Returns whether lost writes would have been found: in reads of private files, by the clients
/// that write to them, under load or after it.
pub(crate) fn finds_lost_writes(doc: &RunDoc) -> bool {
    let plan = &doc.plan;
    let is_able = |verify, of: &WorkloadDoc| {
        verify == Verify::ReadBack && of.scope == Scope::Private && of.readers_percent.is_none()
    };
    let any_is_able = match &plan.populations[..] {
        [] | [_] => is_able(plan.verify, &plan.workload),
        several => several.iter().any(|one| is_able(one.verify, &one.workload)),
    };
    let is_read_after = |point: &LoadPointDoc| {
        let read = point.verification.and_then(|reads| reads.final_read);
        read.is_some_and(|read| read.checked > 0)
    };
    let mut points = doc.load_points.iter();
    points.any(|point| any_is_able && point.has_verified() || is_read_after(point))
}
