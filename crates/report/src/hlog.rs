//! Intervals as an HDR interval log, which the HdrHistogram tools and libraries
//! of other languages read.
//!
//! One line per interval and kind of operation, tagged with the kind: response
//! times in nanoseconds, with the longest in milliseconds beside them. Load
//! points follow each other in time, each after a comment that names it.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};
use smbench_engine::run::MeasuredInterval;

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
                builder.add_comment("smbench: response times in nanoseconds, by operation");
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
        for (kind, op) in interval.ops.ops().filter(|(_, op)| op.count() > 0) {
            let tag = Tag::new(kind.name());
            writer
                .write_histogram(op.latency(), from, interval.length, tag)
                .map_err(|error| match error {
                    IntervalLogWriterError::IoError(error) => error,
                    IntervalLogWriterError::SerializeError(error) => io::Error::other(error),
                })?;
        }
        self.output.write_all(&text[skipped.len()..])
    }
}
