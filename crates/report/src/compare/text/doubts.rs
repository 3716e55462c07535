//! Remarks on the load points of each run that are not to be trusted in full.

use itertools::Itertools as _;

use crate::compare::pair::Pair;
use crate::compare::points::ComparedPoint;
use crate::load::loads;

/// A line for each run and kind of doubt.
pub(super) fn doubts(pair: &Pair) -> Vec<String> {
    let places = || pair.load_points.iter().chain(&pair.peak);
    let sides = [
        (
            &pair.baseline,
            places().map(|held| held.baseline).collect_vec(),
        ),
        (&pair.other, places().map(|held| held.other).collect_vec()),
    ];
    let of = |kind: fn(&str, &[ComparedPoint]) -> Option<String>| {
        sides
            .each_ref()
            .map(|(run, places)| kind(&run.label, places))
    };
    let lines = [of(client_limited), of(late), of(stalled)];
    lines.into_iter().flatten().flatten().collect()
}

fn client_limited(label: &str, places: &[ComparedPoint]) -> Option<String> {
    let at = clients(places, |place| place.generator_limited)?;
    Some(format!(
        "~: {label} was client-limited at {at}: throughput and response times are not to be trusted"
    ))
}

fn late(label: &str, places: &[ComparedPoint]) -> Option<String> {
    let lowest = places.iter().filter_map(|place| place.noisy_from).min()?;
    let at = clients(places, |place| place.noisy_from.is_some())?;
    Some(format!(
        "{} of {label} at {at} may be too high: answers were handled late",
        lowest.and_higher()
    ))
}

fn stalled(label: &str, places: &[ComparedPoint]) -> Option<String> {
    let at = clients(places, |place| place.stalled)?;
    Some(format!(
        "latencies of {label} at {at} miss a stall at the end of the window"
    ))
}

/// The clients of the places that are so; `None` where there are none.
fn clients(places: &[ComparedPoint], is_so: impl Fn(&ComparedPoint) -> bool) -> Option<String> {
    let found = places.iter().filter(|place| is_so(place));
    let points = found.map(|place| place.load).sorted().dedup();
    let points = points.collect_vec();
    (!points.is_empty()).then(|| loads(&points))
}
