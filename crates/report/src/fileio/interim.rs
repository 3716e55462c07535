//! Figures while a test runs, as sysbench prints them at regular intervals.

use itertools::Itertools as _;
use smbench_model::fileio::Flushing;
use smbench_model::kind::{Direction, OpKind};
use smbench_model::record::{OpRecord, Recorder};

use super::latency::quantile;
use super::{MIB, NS_PER_MS};
use crate::statistics::per;

/// Operations that completed in a part of the window.
#[derive(Clone, Debug)]
pub struct Interim {
    flushing: Flushing,
    length_s: f64,
    /// Bytes read and written.
    bytes: (u64, u64),
    /// Latencies of events; of requests alone where each write has its own flush.
    events: OpRecord,
    flushes: OpRecord,
}

impl Interim {
    /// Creates an empty sum for a test with this way of flushing.
    #[must_use]
    pub fn new(flushing: Flushing) -> Self {
        Self {
            flushing,
            length_s: 0.0,
            bytes: (0, 0),
            events: OpRecord::default(),
            flushes: OpRecord::default(),
        }
    }

    /// Adds the operations that were recorded in further `length_s` seconds.
    pub fn add(&mut self, recorder: &Recorder, length_s: f64) {
        self.length_s += length_s;
        for (kind, op) in recorder.ops().filter(|(kind, _)| kind.is_asked_for()) {
            match kind.direction() {
                Some(Direction::Read) => self.bytes.0 += op.bytes,
                Some(Direction::Write) => self.bytes.1 += op.bytes,
                None => {}
            }
            if kind == OpKind::Flush {
                self.flushes.merge(op);
            }
            if kind != OpKind::Flush || self.flushing != Flushing::EachWrite {
                self.events.merge(op);
            }
        }
    }

    /// Returns the number of seconds added.
    #[must_use]
    pub const fn length_s(&self) -> f64 {
        self.length_s
    }

    /// Returns sysbench's line for these figures, `end_s` seconds after the window
    /// opened. Ends with a newline.
    #[must_use]
    pub fn line(&self, end_s: f64, percentiles: &[f64]) -> String {
        let rate = |amount: f64| per(amount, self.length_s);
        let names = percentiles.iter().map(|p| format!("{p}%")).join("/");
        let latency = |title: &str, of: &OpRecord| {
            let mut values = percentiles.iter().map(|&percentile| {
                let value = quantile(of.latency(), percentile) / NS_PER_MS;
                format!("{value:.3}")
            });
            format!(" {title} (ms,{names}): {}", values.join("/"))
        };
        let latencies = match self.flushing {
            _ if percentiles.is_empty() => String::new(),
            // Not sysbench's name, which means a write together with its flush.
            Flushing::EachWrite => {
                latency("request", &self.events) + &latency("fsync", &self.flushes)
            }
            Flushing::Sets { .. } => latency("latency", &self.events),
        };
        format!(
            "[ {end_s:.0}s ] reads: {:.2} MiB/s writes: {:.2} MiB/s fsyncs: {:.2}/s{latencies}\n",
            rate(self.bytes.0 as f64 / MIB),
            rate(self.bytes.1 as f64 / MIB),
            rate(self.flushes.count() as f64),
        )
    }
}
