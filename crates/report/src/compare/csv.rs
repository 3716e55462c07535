//! A comparison as rows: one per pair, place, operation and metric.
//!
//! Numbers have full precision, units have their own column, and an unknown value
//! is an empty field. New columns are only added at the end. Those of `pooled` are the
//! figures that tables show; the older ones are of the mean of the passes' values.

use std::io::Write;

use super::comparison::Comparison;
use super::pair::Pair;
use super::points::{ChangeFigures, MetricChange, PointComparison, by_operation};
use crate::change::Noise;

const HEADER: &str = "baseline,other,profile,place,baseline_clients,other_clients,op,metric,unit,\
    baseline_value,other_value,change_percent,low_percent,high_percent,noise,\
    shows_from_percent,verdict,baseline_passes,other_passes,baseline_pooled,other_pooled,\
    change_pooled_percent,low_pooled_percent,high_pooled_percent,shows_from_pooled_percent,\
    population";

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
            for (op, change) in by_operation(&held.metrics, &held.ops) {
                let mut cells = record(pair, place, held, op, change);
                cells.push(String::new());
                writer.write_record(cells)?;
            }
            let several = held.populations.iter();
            for population in several.filter(|_| held.populations.len() > 1) {
                for (op, change) in by_operation(&population.metrics, &population.ops) {
                    let mut cells = record(pair, place, held, op, change);
                    cells.push(population.name.clone());
                    writer.write_record(cells)?;
                }
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
) -> Vec<String> {
    let or_empty = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let noise = change.noise.map_or("", |noise| match noise {
        Noise::Passes => "passes",
        Noise::Window => "window",
    });
    let figures = |of: ChangeFigures| {
        let all = [of.baseline, of.other, of.change_percent];
        let all = all.into_iter().chain([of.low_percent, of.high_percent]);
        (
            all.map(or_empty).collect::<Vec<_>>(),
            or_empty(of.shows_from_percent),
        )
    };
    let (of_passes, of_passes_shows) = figures(change.of_passes);
    let (pooled, pooled_shows) = figures(change.pooled);
    let names = [
        pair.baseline.name.clone(),
        pair.other.name.clone(),
        pair.other.profile.clone(),
        place.to_owned(),
        held.baseline.load.clients.to_string(),
        held.other.load.clients.to_string(),
        op.to_owned(),
        change.metric.to_string(),
        change.unit.to_owned(),
    ];
    let judged = [
        noise.to_owned(),
        of_passes_shows,
        change.verdict.name().to_owned(),
        held.baseline.passes.to_string(),
        held.other.passes.to_string(),
    ];
    let shown = pooled.into_iter().chain([pooled_shows]);
    let all = names.into_iter().chain(of_passes).chain(judged);
    all.chain(shown).collect()
}
