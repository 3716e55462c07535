//! Streams: whether frames were there by their instants, in sentences.

use itertools::Itertools as _;

use super::wrap::wrapped;
use crate::curve::{Curve, CurveRow};
use crate::doc::{RunDoc, StreamsDoc};
use crate::population::PopulationRow;
use crate::tone::Tone;
use crate::units::{counted, latency, percent, plain};

/// The frames of all streams at a load point, or of those of a population.
struct RowFrames<'a, 'b> {
    row: &'b CurveRow<'a>,
    population: Option<&'a str>,
    streams: StreamsDoc,
}

impl RowFrames<'_, '_> {
    /// Returns whether it is a stage that says no more than others do.
    fn is_quiet_stage(&self) -> bool {
        self.streams.late == 0 && self.row.load().stage.is_some()
    }

    fn remark(&self) -> (Tone, String) {
        let load = self.row.load();
        let place = match (self.population, load.stage) {
            (Some(name), _) => format!("{load}, {}", plain(name)),
            (None, Some(_)) => load.to_string(),
            (None, None) => counted(self.row.clients.into(), "stream"),
        };
        remark(self.row, &place, &self.streams)
    }
}

/// Says of each valid load point with streams how many frames were late. Stages without a late
/// frame have one sentence together. Empty without streams.
#[must_use]
pub fn stream_remarks(doc: &RunDoc) -> Vec<(Tone, String)> {
    let curve = Curve::of(&doc.load_points);
    let rows = curve.rows.iter().filter(|row| row.is_valid());
    let all: Vec<_> = rows.flat_map(frames).collect();
    let (quiet, others): (Vec<_>, Vec<_>) = all.iter().partition(|one| one.is_quiet_stage());
    let populations = quiet.iter().map(|one| one.population).unique();
    let together = populations.filter_map(|name| {
        let stages = quiet.iter().copied();
        let stages: Vec<_> = stages.filter(|one| one.population == name).collect();
        let of = all.iter().filter(|one| one.population == name).count();
        quiet_stages(&stages, of)
    });
    let others = others.into_iter().map(RowFrames::remark);
    together.chain(others).collect()
}

/// Returns the same as lines for a terminal, each ending with a newline.
pub(super) fn stream_lines(doc: &RunDoc) -> String {
    let lines = stream_remarks(doc).into_iter();
    lines.map(|(_, words)| wrapped(&words)).collect()
}

/// Returns the frames of each population with streams at a load point, or those of all clients.
fn frames<'a, 'b>(row: &'b CurveRow<'a>) -> Vec<RowFrames<'a, 'b>> {
    let of = |population, streams: Option<StreamsDoc>| {
        Some(RowFrames {
            row,
            population,
            streams: streams?,
        })
    };
    let names = PopulationRow::names(row);
    let of_each = names.filter_map(|name| {
        let streams = PopulationRow::named(row, name)?.streams();
        of(Some(name), streams)
    });
    let of_each: Vec<_> = of_each.collect();
    if of_each.is_empty() {
        of(None, row.streams()).into_iter().collect()
    } else {
        of_each
    }
}

/// Returns the remark on stages of one population without a late frame, of this many with frames.
fn quiet_stages(stages: &[&RowFrames<'_, '_>], of: usize) -> Option<(Tone, String)> {
    let (first, more) = stages.split_first()?;
    if more.is_empty() {
        return Some(first.remark());
    }
    let all = counted(of as u64, first.row.load().stage?.name.word());
    let place = match stages.len() {
        some if some < of => format!("{some} of {all}"),
        _ => all,
    };
    let place = match first.population {
        Some(name) => format!("{place}, {}", plain(name)),
        None => place,
    };
    let streams = StreamsDoc::of_all(stages.iter().map(|stage| stage.streams))?;
    Some(remark(first.row, &place, &streams))
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
