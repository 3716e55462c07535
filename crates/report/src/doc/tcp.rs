//! What TCP did on the connections to the server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::record::{TcpRecord, TcpRtt, TcpUse};

/// TCP's counters of the connections of the generator's machine, over the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TcpDoc {
    /// Why they were not measured. Absent if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_measured: Option<String>,
    /// The counters. Absent if they were not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<TcpCountersDoc>,
}

/// TCP's counters, summed over the connections that carried segments in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TcpCountersDoc {
    /// Number of these connections.
    pub connections: u32,
    /// Connections that ended within the window. Their counters are in no sum.
    pub ended: u32,
    /// Segments sent, with acknowledgements and with those that were sent again.
    pub segments_sent: u64,
    /// Segments received, with acknowledgements.
    pub segments_received: u64,
    /// Segments that were sent again. Those that the server sent again are not known here.
    pub retransmitted: u64,
    /// Segments received out of order: one before them was lost or overtaken.
    pub out_of_order: u64,
    /// Bytes sent, with those that were sent again, without headers of TCP.
    pub bytes_sent: u64,
    /// Bytes received, without headers of TCP.
    pub bytes_received: u64,
    /// Rate in Mbit/s (10^6 bits) at which the server last acknowledged bytes, summed over
    /// connections.
    pub delivery_rate_mbps: f64,
    /// Connections whose last rate was limited by how much there was to send.
    pub app_limited: u32,
    /// Seconds in which a connection had bytes to send or waited for their acknowledgement,
    /// summed over connections.
    pub busy_s: f64,
    /// Seconds of `busy_s` in which the server's receive window was full.
    pub receive_window_limited_s: f64,
    /// Seconds of `busy_s` in which the send buffer of the generator's machine was full.
    pub send_buffer_limited_s: f64,
    /// Round-trip times. They contain the server's time until it acknowledges, which it may do
    /// with its answer. Absent without a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_ns: Option<TcpRttDoc>,
}

/// Round-trip times of TCP over connections, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TcpRttDoc {
    /// The least that any connection has seen, for up to five minutes before.
    pub least: u64,
    /// The shortest of the smoothed times of connections, when the window closed.
    pub min: u64,
    /// Their median. Absent in merged results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50: Option<u64>,
    /// The longest of them.
    pub max: u64,
}

impl From<&TcpRecord> for TcpDoc {
    fn from(record: &TcpRecord) -> Self {
        Self {
            not_measured: record.as_ref().err().cloned(),
            counters: record.as_ref().ok().map(TcpCountersDoc::from),
        }
    }
}

impl From<&TcpUse> for TcpCountersDoc {
    fn from(used: &TcpUse) -> Self {
        Self {
            connections: used.connections,
            ended: used.ended,
            segments_sent: used.segments_sent,
            segments_received: used.segments_received,
            retransmitted: used.retransmitted,
            out_of_order: used.out_of_order,
            bytes_sent: used.bytes_sent,
            bytes_received: used.bytes_received,
            delivery_rate_mbps: used.delivery_rate as f64 * 8.0 / 1e6,
            app_limited: used.app_limited,
            busy_s: used.busy.as_secs_f64(),
            receive_window_limited_s: used.receive_window_limited.as_secs_f64(),
            send_buffer_limited_s: used.send_buffer_limited.as_secs_f64(),
            rtt_ns: used.rtt.map(TcpRttDoc::from),
        }
    }
}

impl From<TcpRtt> for TcpRttDoc {
    fn from(rtt: TcpRtt) -> Self {
        let ns = |time: std::time::Duration| time.as_nanos() as u64;
        Self {
            least: ns(rtt.least),
            min: ns(rtt.shortest),
            p50: Some(ns(rtt.median)),
            max: ns(rtt.longest),
        }
    }
}

impl TcpRttDoc {
    /// Joins the times of other connections.
    fn and(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            min: self.min.min(other.min),
            p50: None,
            max: self.max.max(other.max),
        }
    }
}

impl TcpCountersDoc {
    /// Adds the counters of another machine over the same window, or of the same connections
    /// over another window.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        let sum = u64::saturating_add;
        Self {
            connections: self.connections.saturating_add(other.connections),
            ended: self.ended.saturating_add(other.ended),
            segments_sent: sum(self.segments_sent, other.segments_sent),
            segments_received: sum(self.segments_received, other.segments_received),
            retransmitted: sum(self.retransmitted, other.retransmitted),
            out_of_order: sum(self.out_of_order, other.out_of_order),
            bytes_sent: sum(self.bytes_sent, other.bytes_sent),
            bytes_received: sum(self.bytes_received, other.bytes_received),
            delivery_rate_mbps: self.delivery_rate_mbps + other.delivery_rate_mbps,
            app_limited: self.app_limited.saturating_add(other.app_limited),
            busy_s: self.busy_s + other.busy_s,
            receive_window_limited_s: self.receive_window_limited_s
                + other.receive_window_limited_s,
            send_buffer_limited_s: self.send_buffer_limited_s + other.send_buffer_limited_s,
            rtt_ns: match (self.rtt_ns, other.rtt_ns) {
                (Some(one), Some(other)) => Some(one.and(other)),
                (one, other) => one.or(other),
            },
        }
    }
}

impl TcpDoc {
    /// Joins what several machines measured over the same window; the reason of the first that
    /// did not measure it, if one did not. `None` if none was asked to.
    pub(crate) fn joined(parts: &[Option<&Self>]) -> Option<Self> {
        let asked = || parts.iter().copied().flatten();
        let mut missing = asked().filter(|part| part.counters.is_none());
        if let Some(missing) = missing.next() {
            return Some(missing.clone());
        }
        let counters = asked()
            .filter_map(|part| part.counters)
            .reduce(TcpCountersDoc::and)?;
        if parts.iter().any(Option::is_none) {
            return Some(Self {
                not_measured: Some("not all machines measured it".to_owned()),
                counters: None,
            });
        }
        Some(Self {
            not_measured: None,
            counters: Some(counters),
        })
    }
}
