//! Doubts about numbers of valid load points: rings and squares in plots, marks in tables.

use smbench_report::curve::CurveRow;
use smbench_report::doc::LoadPointDoc;
use smbench_report::percentile::Percentile;

use crate::plot::{Doubt, Line};

/// Returns the doubt about throughput. One client-limited pass is enough.
pub(super) fn of_throughput(row: &CurveRow<'_>) -> Doubt {
    match row.is_generator_limited() {
        true => Doubt::ClientLimited,
        false => Doubt::None,
    }
}

/// Returns the doubt about a percentile of the response times of these passes.
pub(super) fn of_percentile(passes: &[&LoadPointDoc], percent: f64) -> Doubt {
    let is_late = |lowest: Percentile| lowest.percent() <= percent;
    if is_stalled(passes) {
        Doubt::Stalled
    } else if Percentile::lowest_noisy(passes).is_some_and(is_late) {
        Doubt::LateAnswers
    } else {
        Doubt::None
    }
}

/// Returns whether the latencies of any pass miss a stall at the end of its window.
fn is_stalled(passes: &[&LoadPointDoc]) -> bool {
    passes.iter().any(|pass| pass.stall_ns().is_some())
}

/// Returns the mark of a number in a table.
pub(super) const fn mark(doubt: Doubt) -> &'static str {
    match doubt {
        Doubt::None => "",
        Doubt::ClientLimited => "~ ",
        Doubt::LateAnswers => "^ ",
        Doubt::Stalled => "* ",
    }
}

/// Returns the meaning of a surround or a mark; `None` if there is none.
pub(super) const fn meaning(doubt: Doubt) -> Option<&'static str> {
    match doubt {
        Doubt::None => None,
        Doubt::ClientLimited => Some("client-limited"),
        Doubt::LateAnswers => Some("percentiles may be too high, answers were handled late"),
        Doubt::Stalled => Some("percentiles miss a stall at the end of the window"),
    }
}

/// Explains the rings and squares of a plot, a line for each kind.
pub(super) fn notes(lines: &[Line]) -> Vec<String> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let kinds = Doubt::ALL.into_iter();
    let kinds = kinds.filter(|doubt| points().any(|point| point.doubt == *doubt));
    let note = |doubt| {
        let surround = match doubt {
            Doubt::Stalled => "in a square",
            _ => "with a ring",
        };
        Some(format!("{surround}: {}", meaning(doubt)?))
    };
    kinds.filter_map(note).collect()
}
