//! Intervals as an HDR interval log, which the HdrHistogram tools and libraries of
//! other languages read.
//!
//! Response times are in nanoseconds; the column of the longest ones is in
//! milliseconds. Each interval has these lines:
//!
//! - one line without a tag for all operations of the workload, which those tools
//!   show by default
//! - one line per kind of operation, tagged with the kind; if the run has several
//!   load points, the tag also names the load point
//! - of several populations, the same lines for each, tagged with its name first
//!
//! Operations that the server asked for have a tagged line only, because no sum
//! contains them. Load points follow each other in time. A comment before each of
//! them names it.

use std::io::{self, Write};
use std::iter;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};
use smbench_model::progress::{MeasuredInterval, PointNumber};
use smbench_model::record::OpRecord;

use crate::load::Load;

/// Nanoseconds in a millisecond, the unit of the log's column of longest values.
const MAX_DIVISOR: f64 = 1e6;
/// Characters that the tag of a line cannot have.
const NOT_IN_TAGS: [char; 4] = [',', ' ', '\r', '\n'];

/// Writes an interval log.
#[derive(Debug)]
pub struct IntervalLog<W> {
    output: W,
    /// Instant that the log counts from.
    start: Option<SystemTime>,
    /// The load point that was written last, and its pass.
    load_point: Option<(Load, u32)>,
}

impl<W: Write> IntervalLog<W> {
    /// Creates a log without intervals; writes nothing yet.
    pub const fn new(output: W) -> Self {
        Self {
            output,
            start: None,
            load_point: None,
        }
    }

    /// Writes one interval. Intervals must come in the order of time.
    ///
    /// # Errors
    ///
    /// When the output cannot be written.
    pub fn write(&mut self, interval: &MeasuredInterval<'_>) -> io::Result<()> {
        let mut builder = IntervalLogWriterBuilder::new();
        builder.with_max_value_divisor(MAX_DIVISOR);
        let mut text = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        // Each new writer writes the divisor first. The log needs it only once.
        let mut skipped = Vec::new();
        let start = match self.start {
            Some(start) => {
                builder.begin_log_with(&mut skipped, &mut V2DeflateSerializer::new())?;
                start
            }
            None => {
                builder.add_comment("smbench: response times in nanoseconds, all and by operation");
                builder.with_start_time(interval.start);
                *self.start.insert(interval.start)
            }
        };
        let mut writer = builder.begin_log_with(&mut text, &mut serializer)?;
        let load_point = (load(interval), interval.point.repeat);
        if self.load_point.replace(load_point) != Some(load_point) {
            let (load, pass) = load_point;
            writer.write_comment(&format!("{load}, pass {pass}"))?;
        }
        // The clock may have been set back since the start.
        let from = interval
            .start
            .duration_since(start)
            .unwrap_or(Duration::ZERO);
        let mut add = |op: &OpRecord, tag: Option<Tag<'_>>| {
            writer
                .write_histogram(op.latency(), from, interval.length, tag)
                .map_err(|error| match error {
                    IntervalLogWriterError::IoError(error) => error,
                    IntervalLogWriterError::SerializeError(error) => io::Error::other(error),
                })
        };
        let parts = interval.populations.iter();
        let parts = parts.map(|part| (part.name.replace(NOT_IN_TAGS, "_") + "/", part.ops));
        for (part, ops) in iter::once((String::new(), interval.ops)).chain(parts) {
            let tag = |name: &str| tag_name(&format!("{part}{name}"), interval);
            let all = ops.all();
            if all.count() > 0 {
                let name = (!part.is_empty()).then(|| tag("all"));
                add(&all, name.as_deref().and_then(Tag::new))?;
            }
            for (kind, op) in ops.ops().filter(|(_, op)| op.count() > 0) {
                add(op, Tag::new(&tag(kind.name())))?;
            }
        }
        self.output.write_all(&text[skipped.len()..])
    }
}

/// Returns the load of an interval.
fn load(interval: &MeasuredInterval<'_>) -> Load {
    let PointNumber { clients, rate, .. } = interval.point;
    Load::of(clients, rate.map(|rate| rate.of_all(clients)))
}

/// Returns the tag of operations of this name: `read`. In a run with several load
/// points or passes it is `read-16` at 16 clients, and `read-16-2` in the second
/// pass. Load points of different rates have the rate in place of the clients.
///
/// The first pass has no number, because the log cannot know yet whether a second
/// pass will follow.
fn tag_name(name: &str, interval: &MeasuredInterval<'_>) -> String {
    let load = load(interval).number();
    match (interval.point.of, interval.point.repeat) {
        (1, _) => name.to_owned(),
        (_, 1) => format!("{name}-{load}"),
        (_, pass) => format!("{name}-{load}-{pass}"),
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::kind::OpKind;

    use super::*;

    /// Without a valid tag, a line would count as one without a tag, and its
    /// operations would be counted twice.
    #[test]
    fn every_kind_of_operation_has_a_name_that_makes_a_tag() {
        for kind in OpKind::ALL {
            assert!(Tag::new(kind.name()).is_some(), "{}", kind.name());
        }
    }
}
