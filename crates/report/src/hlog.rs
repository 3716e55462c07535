//! Intervals as an HDR interval log, which the HdrHistogram tools and libraries
//! of other languages read.
//!
//! Response times in nanoseconds, with the longest in milliseconds beside them. An
//! interval has a line without a tag, of all operations of the workload, which is what
//! those tools show unless told otherwise; and one per kind of operation, tagged with the
//! kind and, where the run has several, with the load point. What the server asks for
//! has a tag but is not in the line of all: it is in no sum elsewhere either. Load points
//! follow each other in time, each after a comment that names it.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};
use smbench_model::progress::MeasuredInterval;
use smbench_model::record::{OpKind, OpRecord};

use crate::units::counted;

/// Nanoseconds in the unit of the log's column of longest values.
const MAX_DIVISOR: f64 = 1e6;

/// Writes an interval log.
#[derive(Debug)]
pub struct IntervalLog<W> {
    output: W,
    /// What instants in the log count from.
    start: Option<SystemTime>,
    /// Clients and pass of the load point that was written last.
    load_point: Option<(u32, u32)>,
}

impl<W: Write> IntervalLog<W> {
    /// A log without intervals; nothing is written yet.
    pub const fn new(output: W) -> Self {
        Self {
            output,
            start: None,
            load_point: None,
        }
    }

    /// Writes one interval, which must not be earlier than those before it.
    ///
    /// # Errors
    ///
    /// When the output cannot be written.
    pub fn write(&mut self, interval: &MeasuredInterval<'_>) -> io::Result<()> {
        let mut builder = IntervalLogWriterBuilder::new();
        builder.with_max_value_divisor(MAX_DIVISOR);
        let mut text = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        // A writer begins with the divisor each time; the log shall do so once.
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
        let load_point = (interval.point.clients, interval.repeat);
        if self.load_point.replace(load_point) != Some(load_point) {
            let (clients, pass) = load_point;
            let clients = counted(clients.into(), "client");
            writer.write_comment(&format!("{clients}, pass {pass}"))?;
        }
        // The clock may have been set back meanwhile.
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
        let all = interval.ops.all();
        if all.count() > 0 {
            add(&all, None)?;
        }
        for (kind, op) in interval.ops.ops().filter(|(_, op)| op.count() > 0) {
            let name = tag_name(kind, interval);
            add(op, Tag::new(&name))?;
        }
        self.output.write_all(&text[skipped.len()..])
    }
}

/// The tag of a kind of operation: `read`; of a run with several load points or passes
/// `read-16` at 16 clients, and `read-16-2` in the second pass.
///
/// The first pass has no number, as whether there will be a second one is not known yet.
fn tag_name(kind: OpKind, interval: &MeasuredInterval<'_>) -> String {
    let (name, clients) = (kind.name(), interval.point.clients);
    match (interval.point.of, interval.repeat) {
        (1, _) => name.to_owned(),
        (_, 1) => format!("{name}-{clients}"),
        (_, pass) => format!("{name}-{clients}-{pass}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is no tag would be a line without one, and counted twice.
    #[test]
    fn every_kind_of_operation_has_a_name_that_makes_a_tag() {
        for kind in OpKind::ALL {
            assert!(Tag::new(kind.name()).is_some(), "{}", kind.name());
        }
    }
}
