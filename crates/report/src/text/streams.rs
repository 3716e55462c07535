//! Streams: whether frames were there by their instants, in sentences.

use super::wrap::wrapped;
use crate::curve::{Curve, CurveRow};
use crate::doc::{RunDoc, StreamsDoc};
use crate::population::PopulationRow;
use crate::tone::Tone;
use crate::units::{counted, latency, percent, plain};

/// Says of each valid load point with streams how many frames were late. Empty without streams.
#[must_use]
pub fn stream_remarks(doc: &RunDoc) -> Vec<(Tone, String)> {
    let curve = Curve::of(&doc.load_points);
    let rows = curve.rows.iter().filter(|row| row.is_valid());
    rows.flat_map(remarks).collect()
}

/// Returns the same as lines for a terminal, each ending with a newline.
pub(super) fn stream_lines(doc: &RunDoc) -> String {
    let lines = stream_remarks(doc).into_iter();
    lines.map(|(_, words)| wrapped(&words)).collect()
}

/// Returns the remark on a load point, or on each population with streams.
fn remarks(row: &CurveRow<'_>) -> Vec<(Tone, String)> {
    let of_population = |name| {
        let population = PopulationRow::named(row, name)?;
        let place = format!("{}, {}", row.load(), plain(name));
        population
            .streams()
            .map(|streams| remark(row, &place, &streams))
    };
    let of_each: Vec<_> = PopulationRow::names(row)
        .filter_map(of_population)
        .collect();
    if !of_each.is_empty() {
        return of_each;
    }
    let place = match row.load().stage {
        Some(_) => row.load().to_string(),
        None => counted(row.clients.into(), "stream"),
    };
    let streams = row.streams();
    streams
        .map(|streams| remark(row, &place, &streams))
        .into_iter()
        .collect()
}

fn remark(row: &CurveRow<'_>, at: &str, streams: &StreamsDoc) -> (Tone, String) {
    let StreamsDoc {
        frames,
        late,
        missing,
        streams_late,
        longest_late_ns,
        longest_gap_ns,
        ..
    } = *streams;
    let gap = latency(longest_gap_ns as f64);
    if late == 0 {
        let left = streams.least_buffered_ns.map_or_else(String::new, |left| {
            format!("; the emptiest buffer had {} left", latency(left as f64))
        });
        let words = format!("{at}: {}, none late{left}", counted(frames, "frame"));
        return (Tone::Plain, words);
    }
    let share = percent(late as f64 * 100.0 / frames as f64);
    let by = match longest_late_ns {
        0 => String::new(),
        longest => format!(", by up to {}", latency(longest as f64)),
    };
    let never = match missing {
        0 => String::new(),
        missing => format!("; {} were never there", counted(missing, "frame")),
    };
    let passes = row.passes.len() as u64;
    let of = match passes {
        1 => format!("in {}", counted(streams_late, "stream")),
        passes => format!("in {} of {passes} passes", counted(streams_late, "stream")),
    };
    (
        Tone::Caution,
        format!(
            "{at}: {late} of {} late ({share}) {of}{by}; up to {gap} without a new frame{never}",
            counted(frames, "frame")
        ),
    )
}
