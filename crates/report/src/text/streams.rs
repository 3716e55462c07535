//! Streams: whether frames were there by their instants, in sentences.

use super::wrap::wrapped;
use crate::curve::{Curve, CurveRow};
use crate::doc::{RunDoc, StreamsDoc};
use crate::tone::Tone;
use crate::units::{counted, latency, percent};

/// Says of each valid load point with streams how many frames were late. Empty without streams.
#[must_use]
pub fn stream_remarks(doc: &RunDoc) -> Vec<(Tone, String)> {
    let curve = Curve::of(&doc.load_points);
    let rows = curve.rows.iter().filter(|row| row.is_valid());
    rows.filter_map(remark).collect()
}

/// Returns the same as lines for a terminal, each ending with a newline.
pub(super) fn stream_lines(doc: &RunDoc) -> String {
    let lines = stream_remarks(doc).into_iter();
    lines.map(|(_, words)| wrapped(&words)).collect()
}

fn remark(row: &CurveRow<'_>) -> Option<(Tone, String)> {
    let streams = row.streams()?;
    let StreamsDoc {
        frames,
        late,
        missing,
        streams_late,
        longest_late_ns,
        longest_gap_ns,
        ..
    } = streams;
    let at = counted(row.clients.into(), "stream");
    let gap = latency(longest_gap_ns as f64);
    if late == 0 {
        let left = streams.least_buffered_ns.map_or_else(String::new, |left| {
            format!("; the emptiest buffer had {} left", latency(left as f64))
        });
        let words = format!("{at}: {}, none late{left}", counted(frames, "frame"));
        return Some((Tone::Plain, words));
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
    Some((
        Tone::Caution,
        format!(
            "{at}: {late} of {} late ({share}) {of}{by}; up to {gap} without a new frame{never}",
            counted(frames, "frame")
        ),
    ))
}
