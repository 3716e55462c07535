//! The rate that was asked for: where it was reached, and how late operations were sent.

use itertools::Itertools as _;
use smbench_model::setting::{CLIENTS, OUTSTANDING, RATE};

use super::places::places;
use super::wrap::wrapped;
use crate::doc::{LoadPointDoc, OfferedDoc, RunDoc};
use crate::units::{self, latency, percent};

/// From this share of the due operations on, a rate is reached.
const REACHED_SHARE: f64 = 0.99;

/// Returns where a requested rate was not reached, and by how much at worst; `None` if it
/// was reached everywhere, or no rate was requested.
#[must_use]
pub fn missed_rate(doc: &RunDoc) -> Option<String> {
    let missed = points_by_share(doc, |point, _| point.misses_rate());
    Some(format!("rate not reached {}", worst_of(&missed, doc)?))
}

/// Returns how well the rate was reached and how late operations were sent, a sentence each;
/// none for a load without due times.
#[must_use]
pub fn rate_remarks(doc: &RunDoc) -> Vec<String> {
    let missed = missed_rate(doc)
        .map(|missed| format!("{missed}; lower {RATE}, or raise {CLIENTS} or {OUTSTANDING}"));
    let nearly = points_by_share(doc, |point, share| {
        !point.misses_rate() && share < REACHED_SHARE
    });
    let nearly = worst_of(&nearly, doc).map(|worst| format!("rate nearly reached {worst}"));
    let reached = points_by_share(doc, |point, share| {
        !point.misses_rate() && share >= REACHED_SHARE
    });
    // A load point of several passes is reached when all of them are.
    let is_whole = |point: &&LoadPointDoc| {
        let is_beside = |pass: &&LoadPointDoc| pass.load() == point.load();
        let passes = doc.load_points.iter().filter(is_beside).count();
        passes == reached.iter().copied().filter(is_beside).count()
    };
    let reached: Vec<_> = reached.iter().copied().filter(is_whole).collect();
    let reached = (!reached.is_empty())
        .then(|| format!("rate reached {}", places(&reached, &doc.load_points)));
    [missed, nearly, reached, sent_late(doc)]
        .into_iter()
        .flatten()
        .collect()
}

/// Returns the same as lines for a terminal, each ending with a newline.
pub(crate) fn rate_lines(doc: &RunDoc) -> String {
    rate_remarks(doc).iter().map(|line| wrapped(line)).collect()
}

/// Returns the valid load points with a requested rate, by what they are and the share of
/// the due operations that was answered.
fn points_by_share(
    doc: &RunDoc,
    is_one: impl Fn(&LoadPointDoc, f64) -> bool,
) -> Vec<&LoadPointDoc> {
    let points = doc.load_points.iter().filter(|point| point.valid);
    points
        .filter(|point| share_of(point).is_some_and(|share| is_one(point, share)))
        .collect()
}

fn share_of(point: &LoadPointDoc) -> Option<f64> {
    point.rated()?.reached_share()
}

/// Returns the places of load points, and how far the worst of them came.
fn worst_of(points: &[&LoadPointDoc], doc: &RunDoc) -> Option<String> {
    let reached = |point: &LoadPointDoc| share_of(point).unwrap_or(1.0);
    let worst = points
        .iter()
        .min_by(|one, other| reached(one).total_cmp(&reached(other)))?;
    let (offered, share) = (worst.offered?, reached(worst));
    let at_worst = match points {
        [_] => String::new(),
        _ if doc.load_points.iter().any(|point| point.repeat > 1) => {
            format!(" at {}, pass {}", worst.load(), worst.repeat)
        }
        _ => format!(" at {}", worst.load()),
    };
    Some(format!(
        "{}: {} of {} operations/s ({}){at_worst}",
        places(points, &doc.load_points),
        units::rate(offered.ops_per_s * share),
        units::rate(offered.ops_per_s),
        percent(share * 100.0)
    ))
}

/// Returns the load point that sent most of its operations late or never, of those that
/// reached their rate.
fn sent_late(doc: &RunDoc) -> Option<String> {
    let share = |part: u64, of: u64| part as f64 * 100.0 / of.max(1) as f64;
    let amiss = |offered: &OfferedDoc| {
        let amiss = offered.late.saturating_add(offered.dropped);
        share(amiss, offered.operations)
    };
    let (point, offered) = doc
        .load_points
        .iter()
        // A frame of a stream may wait for the one before, as long as it is there in time.
        .filter(|point| point.valid && !point.misses_rate() && point.streams.is_none())
        .filter_map(|point| Some((point, point.offered?)))
        .filter(|(_, offered)| amiss(offered) > 0.0)
        .max_by(|(_, one), (_, other)| amiss(one).total_cmp(&amiss(other)))?;
    let of = |part| percent(share(part, offered.operations));
    let late = (offered.late > 0).then(|| {
        let delay = latency(offered.delay_ns_max as f64);
        format!(
            "{} were sent over 1 ms late, by up to {delay}",
            of(offered.late)
        )
    });
    let dropped = (offered.dropped > 0).then(|| format!("{} were not sent", of(offered.dropped)));
    Some(format!(
        "of the operations at {}, {}",
        point.load(),
        late.into_iter().chain(dropped).join(", ")
    ))
}
