//! The sizes of a ring, and the events that it reports.

use std::io;

/// Sizes of a ring.
#[derive(Clone, Copy, Debug)]
pub struct RingSize {
    /// Greatest number of sockets.
    pub sockets: u32,
    /// Number of receive buffers, a power of two.
    pub buffers: u16,
    /// Length of each receive buffer in bytes.
    pub buffer_len: usize,
    /// Greatest number of requests in one system call, a power of two.
    pub batch: u32,
}

/// The number of a socket in its ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketNumber(pub(crate) u32);

impl SocketNumber {
    /// Returns the number as an index, from 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What has happened to a socket.
#[derive(Debug)]
pub enum RingEvent {
    /// The first `len` bytes of the buffer have arrived. The buffer goes back to the ring by
    /// [`Ring::provide`](crate::Ring::provide).
    Received {
        /// The socket.
        socket: SocketNumber,
        /// The buffer.
        buffer: Box<[u8]>,
        /// Number of bytes that have arrived, at least 1.
        len: usize,
    },
    /// Nothing more arrives: the peer has closed the connection, or it is broken.
    Ended {
        /// The socket.
        socket: SocketNumber,
        /// The error, if there is one.
        why: io::Result<()>,
    },
    /// All bytes of a [`Ring::send`](crate::Ring::send) are sent, or could not be sent.
    Sent {
        /// The socket.
        socket: SocketNumber,
        /// The error, if there is one.
        how: io::Result<()>,
    },
}
