//! A comparison as rows: one per pair, place, operation and metric.
//!
//! Numbers have full precision, units have their own column, and an unknown value
//! is an empty field. New columns are only added at the end.

use std::io::Write;

use super::comparison::Comparison;
use super::pair::Pair;
use super::points::{MetricChange, PointComparison};
use crate::change::Noise;

const HEADER: &str = "baseline,other,profile,place,baseline_clients,other_clients,op,metric,unit,\
    baseline_value,other_value,change_percent,low_percent,high_percent,noise,\
    shows_from_percent,verdict,baseline_passes,other_passes";

/// Writes a header line and the rows: for each pair the peaks, then the load
/// points.
///
/// # Errors
///
/// When `output` cannot be written.
pub fn write_csv(comparison: &Comparison, output: impl Write) -> Result<(), ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(output);
    writer.write_record(HEADER.split(','))?;
    for pair in &comparison.pairs {
        let peak = pair.peak.iter().map(|held| ("peak", held));
        let points = pair.load_points.iter().map(|held| ("load point", held));
        for (place, held) in peak.chain(points) {
            let all = held.metrics.iter().map(|change| ("all", change));
            let ops = held.ops.iter().flat_map(|(name, changes)| {
                changes.iter().map(move |change| (name.as_str(), change))
            });
            for (op, change) in all.chain(ops) {
                writer.write_record(record(pair, place, held, op, change))?;
            }
        }
    }
    writer.flush()?;
    Ok(())
}

fn record(
    pair: &Pair,
    place: &str,
    held: &PointComparison,
    op: &str,
    change: &MetricChange,
) -> [String; 19] {
    let or_empty = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let noise = change.noise.map_or("", |noise| match noise {
        Noise::Passes => "passes",
        Noise::Window => "window",
    });
    [
        pair.baseline.name.clone(),
        pair.other.name.clone(),
        pair.other.profile.clone(),
        place.to_owned(),
        held.baseline.load.clients.to_string(),
        held.other.load.clients.to_string(),
        op.to_owned(),
        change.metric.to_string(),
        change.unit.to_owned(),
        or_empty(change.baseline),
        or_empty(change.other),
        or_empty(change.change_percent),
        or_empty(change.low_percent),
        or_empty(change.high_percent),
        noise.to_owned(),
        or_empty(change.shows_from_percent),
        change.verdict.name().to_owned(),
        held.baseline.passes.to_string(),
        held.other.passes.to_string(),
    ]
}
