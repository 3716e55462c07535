//! What TCP did on the connections to the server.

use std::time::Duration;

/// TCP's counters over a window, or the reason why they are unknown.
pub type TcpRecord = Result<TcpUse, String>;

/// TCP's counters over a window, summed over the connections of this machine that carried
/// segments in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpUse {
    /// Number of these connections.
    pub connections: u32,
    /// Connections that ended within the window. Their counters are lost.
    pub ended: u32,
    /// Segments sent, with acknowledgements and retransmitted ones.
    pub segments_sent: u64,
    /// Segments received, with acknowledgements.
    pub segments_received: u64,
    /// Segments sent again. Those of the server are not known here.
    pub retransmitted: u64,
    /// Segments received out of order: some before them were lost or overtaken.
    pub out_of_order: u64,
    /// Bytes sent, without headers of TCP, with retransmitted ones.
    pub bytes_sent: u64,
    /// Bytes received, without headers of TCP.
    pub bytes_received: u64,
    /// The rate in bytes per second at which the server acknowledged bytes most recently.
    pub delivery_rate: u64,
    /// Connections whose rate was limited by how much was sent.
    pub app_limited: u32,
    /// Time in which bytes were on the way or waited.
    pub busy: Duration,
    /// The part of it in which the server's receive window was full.
    pub receive_window_limited: Duration,
    /// The part of it in which the send buffer here was full.
    pub send_buffer_limited: Duration,
    /// Round-trip times; `None` without a connection.
    pub rtt: Option<TcpRtt>,
}

/// Round-trip times over connections. Each contains the server's time until it acknowledges,
/// which it may do with its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpRtt {
    /// The least that any connection has seen.
    pub least: Duration,
    /// The shortest of the smoothed times of connections, when the window closed.
    pub shortest: Duration,
    /// The median of them.
    pub median: Duration,
    /// The longest of them.
    pub longest: Duration,
}
