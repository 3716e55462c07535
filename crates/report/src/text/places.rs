//! Names of several load points, in words.

use itertools::Itertools as _;

use crate::doc::LoadPointDoc;
use crate::load::Load;

/// Highest number of runs of load points that are named.
const RUNS_MAX: usize = 2;

/// Names valid load points: `at 4 clients`, `at 1, 8 to 16 clients`, `at all load points`, `at 9
/// of 16 points`.
pub(super) fn places(points: &[&LoadPointDoc], all: &[LoadPointDoc]) -> String {
    let these = points.iter().map(|point| point.load());
    let these = these.sorted().dedup().collect_vec();
    let is_any_invalid = all.iter().any(|point| !point.valid);
    let all = all.iter().filter(|point| point.valid);
    let all = all.map(LoadPointDoc::load).sorted().dedup();
    let all = all.collect_vec();
    if these.len() > 1 && these == all {
        let valid = if is_any_invalid { "valid " } else { "" };
        return format!("at all {valid}load points");
    }
    let is_next = |one: &Load, other: &Load| {
        let at = all.iter().position(|load| load == one);
        at.and_then(|at| all.get(at + 1)) == Some(other)
    };
    let runs = these.chunk_by(is_next).flat_map(|run| match run {
        [first, .., last] if run.len() > 2 => {
            vec![format!("{} to {}", first.print(), last.print())]
        }
        few => few.iter().map(|load| load.print()).collect(),
    });
    let runs: Vec<_> = runs.collect();
    match (&these[..], runs.len()) {
        ([one], _) => format!("at {one}"),
        (
            [
                Load {
                    stage: Some(of), ..
                },
                ..,
            ],
            ..=RUNS_MAX,
        ) => {
            format!("at {}s {}", of.name.word(), runs.join(", "))
        }
        ([Load { rate: Some(_), .. }, ..], ..=RUNS_MAX) => format!("at {} ops/s", runs.join(", ")),
        (_, ..=RUNS_MAX) => format!("at {} clients", runs.join(", ")),
        _ => format!("at {} of {} points", these.len(), all.len()),
    }
}
