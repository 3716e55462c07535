//! Whether the link to a server is full.
//!
//! Several loads then reach one rate, and segments wait before the link. TCP tells that in three
//! ways. Segments are lost. Round trips grow though CPUs are idle. A sender has bytes on the way
//! all of the time, and neither its buffer nor the receiver's is full; that holds on a busy
//! machine too.
//!
//! A server on this machine has no link: with busy CPUs it loses segments too.

use super::super::steps::{CheckupStep, MeasuredStep, points};
use super::super::values::CheckupFinding;
use super::{finding, is_here, is_idle, rate};
use crate::doc::{LoadPointDoc, TcpCountersDoc};
use crate::units;

/// How close the rates of loads must be that one link limits.
const SAME_RATE: f64 = 0.07;
/// How many times the least round trip takes in a queue before a full link.
const QUEUED_MIN: f64 = 3.0;
/// Share of segments that a full link loses at least.
const LOST_MIN: f64 = 0.001;
/// Share of the window in which each connection of a sender waits for the link at least.
const WAITED_MIN: f64 = 0.8;

/// A direction of data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LinkDirection {
    Reads,
    Writes,
}

/// A load that may fill the link.
struct LinkLoad<'a> {
    point: &'a LoadPointDoc,
    tcp: TcpCountersDoc,
    /// Megabytes per second (10^6) that TCP carried, each byte once.
    rate: f64,
}

/// Returns the finding for the first direction that shows it.
pub(super) fn full(measured: &[MeasuredStep]) -> Option<CheckupFinding> {
    if is_here(measured) {
        return None;
    }
    let directions = [LinkDirection::Reads, LinkDirection::Writes];
    directions.into_iter().find_map(|of| of.full(measured))
}

impl LinkDirection {
    const fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
        }
    }

    /// The loads with 8 in flight and with 4 clients.
    const fn steps(self) -> [(CheckupStep, u32); 2] {
        match self {
            Self::Reads => [(CheckupStep::ReadAhead, 1), (CheckupStep::Read, 4)],
            Self::Writes => [(CheckupStep::WriteBehind, 1), (CheckupStep::Write, 4)],
        }
    }

    fn load(
        self,
        measured: &[MeasuredStep],
        step: CheckupStep,
        clients: u32,
    ) -> Option<LinkLoad<'_>> {
        let point = points(measured, step, clients).next()?;
        let tcp = point.tcp.as_ref()?.counters?;
        let bytes = match self {
            Self::Reads => tcp.bytes_received as f64,
            Self::Writes => {
                let again = tcp.retransmitted as f64 / tcp.segments_sent.max(1) as f64;
                tcp.bytes_sent as f64 * (1.0 - again)
            }
        };
        let rate = bytes / point.window_s / 1e6;
        (rate > 0.0).then_some(LinkLoad { point, tcp, rate })
    }

    fn full(self, measured: &[MeasuredStep]) -> Option<CheckupFinding> {
        let [one, other] = self
            .steps()
            .map(|(step, clients)| self.load(measured, step, clients));
        let (one, other) = (one?, other?);
        if (one.rate - other.rate).abs() > one.rate.max(other.rate) * SAME_RATE {
            return None;
        }
        let rtt = other.tcp.rtt_ns?;
        let is_queued = rtt.max as f64 >= rtt.least as f64 * QUEUED_MIN;
        let waits = self == Self::Writes && one.waits() && other.waits();
        (other.is_lossy() || (is_queued && (waits || is_idle(other.point)))).then(|| {
            let TcpCountersDoc {
                retransmitted,
                out_of_order,
                ..
            } = other.tcp;
            let text = format!(
                "The link is full: {} get {} with 8 in flight and {} with 4 clients. Under this \
                 load a round trip takes up to {}, and {} at least. Of {} segments, \
                 {retransmitted} were sent again and {out_of_order} came out of order. Next: a \
                 faster link, or look for a slow port or cable.",
                self.name(),
                rate(one.rate),
                rate(other.rate),
                units::latency(rtt.max as f64),
                units::latency(rtt.least as f64),
                other.segments(),
            );
            finding("link_full", (one.rate + other.rate) / 2.0, "MB/s", text)
        })
    }
}

impl LinkLoad<'_> {
    const fn segments(&self) -> u64 {
        self.tcp
            .segments_sent
            .saturating_add(self.tcp.segments_received)
    }

    fn is_lossy(&self) -> bool {
        let lost = self.tcp.retransmitted.saturating_add(self.tcp.out_of_order);
        lost as f64 > self.segments() as f64 * LOST_MIN
    }

    /// Returns whether the sending connections waited for the link.
    fn waits(&self) -> bool {
        let buffers_s = self.tcp.receive_window_limited_s + self.tcp.send_buffer_limited_s;
        let all_s = self.point.window_s * f64::from(self.tcp.connections);
        self.tcp.busy_s - buffers_s >= all_s * WAITED_MIN
    }
}
