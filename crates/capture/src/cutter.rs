//! Cuts one direction of a connection into SMB messages (MS-SMB2 2.1), where bytes may
//! be missing.
//!
//! Each message has four bytes before it, with its length. Of large messages only the
//! start is kept, so that a READ of 8 MiB needs no memory. When bytes are lost, the
//! length of the message tells where the next one begins. When that is lost too, the
//! stream is picked up at the next bytes that are the start of a message.

mod body;
mod start;

use self::body::Body;
use self::start::{PATTERN_LEN, PROTOCOLS, first_kind, is_start};
use crate::tcp::{Moment, StreamPiece};

/// Bytes before each message.
const PREFIX_LEN: usize = 4;
/// The largest message: 8 MiB of payload and its headers.
const MESSAGE_BYTES_MAX: usize = 8 * 1024 * 1024 + 65_536;
/// Bytes that decide what a connection is.
const FIRST_LEN: usize = 8;
/// Bytes that are searched for a first message in a connection that joined in the middle.
const SEARCHED_BYTES_MAX: u64 = 4 << 20;

/// A message, or what is there of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CapturedMessage<'a> {
    /// The start of the message, up to the first hole.
    pub(crate) bytes: &'a [u8],
    /// Length of the message on the wire.
    pub(crate) wire_len: usize,
    /// A part of the message is not in the capture.
    pub(crate) is_cut: bool,
    /// The packet with its last byte.
    pub(crate) end: Moment,
}

/// Whether whole messages are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sealed {
    /// Encrypted messages are only counted.
    Count,
    /// Encrypted messages can be decrypted.
    Open,
}

/// A consumer of messages.
pub(crate) trait MessageSink {
    fn message(&mut self, message: CapturedMessage<'_>);
    /// Whether encrypted messages are needed as a whole.
    fn sealed(&self) -> Sealed;
    /// Memory for long compounds of all connections.
    fn long(&mut self) -> &mut LongBytes;
}

/// Memory for long compounds of all connections. Any message of a compound may have a
/// payload, and those behind it are needed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LongBytes(usize);

/// What the first bytes of a connection are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ConnectionKind {
    /// Too few bytes to tell.
    #[default]
    Unknown,
    Smb,
    /// Another protocol.
    Foreign,
}

/// Bytes that were not part of a readable message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CutterLosses {
    /// Bytes of packets that the capture lacks.
    pub(crate) lost_bytes: u64,
    /// Bytes that the snap length cut off.
    pub(crate) cut_bytes: u64,
    /// Bytes that are there, but whose message began in a hole or before the capture.
    pub(crate) skipped_bytes: u64,
}

#[derive(Debug)]
enum CutterState {
    /// The first bytes, which decide what the connection is.
    First(Vec<u8>),
    /// The bytes before a message.
    Prefix(Vec<u8>),
    Body(Body),
    /// Looks for the start of a message.
    Search(Vec<u8>),
    /// Another protocol: all is ignored.
    Foreign,
}

/// One direction of a connection.
#[derive(Debug)]
pub(crate) struct MessageCutter {
    state: CutterState,
    pub(crate) kind: ConnectionKind,
    pub(crate) losses: CutterLosses,
    /// The connection may have begun before the capture.
    is_joined: bool,
    /// The first bytes, for what is no SMB.
    pub(crate) start: Vec<u8>,
}

impl MessageCutter {
    /// Makes the cutter of a connection. `is_joined` tells that its beginning was not
    /// seen.
    pub(crate) fn new(is_joined: bool) -> Self {
        Self {
            state: CutterState::First(Vec::new()),
            kind: ConnectionKind::Unknown,
            losses: CutterLosses::default(),
            is_joined,
            start: Vec::new(),
        }
    }

    /// Returns whether it looks for the start of a message: some may be missing.
    pub(crate) const fn is_searching(&self) -> bool {
        matches!(self.state, CutterState::Search(_))
    }

    /// Takes the next piece of the stream.
    pub(crate) fn piece(
        &mut self,
        piece: StreamPiece<'_>,
        at: Moment,
        sink: &mut impl MessageSink,
    ) {
        match piece {
            StreamPiece::Bytes(bytes) => self.bytes(bytes, at, sink),
            StreamPiece::Lost(len) => {
                self.losses.lost_bytes += len;
                self.hole(len, at, sink);
            }
            StreamPiece::Cut(len) => {
                self.losses.cut_bytes += len;
                self.hole(len, at, sink);
            }
        }
    }

    /// Ends the stream. A message whose end is missing is handed out as cut.
    pub(crate) fn finish(&mut self, at: Moment, sink: &mut impl MessageSink) {
        let state = std::mem::replace(&mut self.state, CutterState::Search(Vec::new()));
        match state {
            CutterState::Body(mut body) => {
                body.is_cut = true;
                body.hand_out(at, sink);
            }
            CutterState::Search(rest) => self.losses.skipped_bytes += rest.len() as u64,
            CutterState::Prefix(bytes) => self.losses.skipped_bytes += bytes.len() as u64,
            CutterState::First(_) | CutterState::Foreign => {}
        }
    }

    fn bytes(&mut self, mut bytes: &[u8], at: Moment, sink: &mut impl MessageSink) {
        while !bytes.is_empty() {
            bytes = match &mut self.state {
                CutterState::Foreign => return,
                CutterState::First(_) => self.decide(bytes, at, sink),
                CutterState::Prefix(prefix) => {
                    if prefix.is_empty()
                        && let Some((whole, rest)) = bytes.split_first_chunk()
                    {
                        // The usual case: nothing is copied.
                        self.begin_message(*whole);
                        rest
                    } else {
                        let missing = (PREFIX_LEN - prefix.len()).min(bytes.len());
                        prefix.extend_from_slice(&bytes[..missing]);
                        if let Some(&whole) = prefix.first_chunk() {
                            self.begin_message(whole);
                        }
                        &bytes[missing..]
                    }
                }
                CutterState::Body(body) => {
                    let rest = body.add(bytes, at, sink);
                    if body.passed == body.len {
                        self.state = prefix();
                    }
                    rest
                }
                CutterState::Search(_) => self.search(bytes, at, sink),
            };
        }
    }

    /// Decides by the first bytes what the connection is. Returns the bytes that are still
    /// to be read.
    fn decide<'a>(&mut self, bytes: &'a [u8], at: Moment, sink: &mut impl MessageSink) -> &'a [u8] {
        let CutterState::First(first) = &mut self.state else {
            return bytes;
        };
        let taken = bytes.len().min(FIRST_LEN - first.len());
        first.extend_from_slice(&bytes[..taken]);
        let kind = first_kind(first);
        if kind == ConnectionKind::Unknown {
            return &bytes[taken..];
        }
        self.start = std::mem::take(first);
        let start = self.start.clone();
        if kind == ConnectionKind::Smb {
            self.kind = kind;
            self.state = prefix();
        } else if self.is_joined {
            // Perhaps the middle of a message.
            self.state = CutterState::Search(Vec::new());
        } else {
            self.kind = kind;
            self.state = CutterState::Foreign;
        }
        self.bytes(&start, at, sink);
        &bytes[taken..]
    }

    /// Begins the message with this prefix.
    fn begin_message(&mut self, prefix_bytes: [u8; PREFIX_LEN]) {
        let [kind, a, b, c] = prefix_bytes;
        let len = u32::from_be_bytes([0, a, b, c]) as usize;
        // 0x81 to 0x85: requests, answers and keep-alives of NetBIOS (RFC 1002 4.3).
        let is_session = matches!(kind, 0x81..=0x85) && len <= 1024;
        if len == 0 && (kind == 0 || is_session) {
            self.state = prefix();
        } else if (kind == 0 && len <= MESSAGE_BYTES_MAX) || is_session {
            self.state = CutterState::Body(Body::new(len, kind != 0));
        } else {
            self.losses.skipped_bytes += PREFIX_LEN as u64;
            self.state = CutterState::Search(Vec::new());
        }
    }

    /// Looks for the start of a message. Returns the bytes from there.
    fn search<'a>(&mut self, bytes: &'a [u8], at: Moment, sink: &mut impl MessageSink) -> &'a [u8] {
        let CutterState::Search(rest) = &mut self.state else {
            return bytes;
        };
        // A start that lies in two pieces.
        let before = rest.len();
        rest.extend_from_slice(&bytes[..bytes.len().min(PATTERN_LEN)]);
        let found = (0..before).find(|&from| is_start(&rest[from..]));
        if let Some(from) = found {
            self.losses.skipped_bytes += from as u64;
            let begun = rest[from..before].to_vec();
            self.kind = ConnectionKind::Smb;
            self.state = prefix();
            self.bytes(&begun, at, sink);
            return bytes;
        }
        let found = (0..bytes.len()).find(|&from| {
            // Most bytes are no start; the fifth byte tells.
            let protocol = bytes.get(from + PREFIX_LEN);
            protocol.is_some_and(|byte| PROTOCOLS.contains(byte)) && is_start(&bytes[from..])
        });
        if let Some(from) = found {
            self.losses.skipped_bytes += (before + from) as u64;
            self.kind = ConnectionKind::Smb;
            self.state = prefix();
            return &bytes[from..];
        }
        // The end may be the begin of a start.
        if bytes.len() < PATTERN_LEN {
            let excess = rest.len().saturating_sub(PATTERN_LEN - 1);
            rest.drain(..excess);
            self.losses.skipped_bytes += excess as u64;
        } else {
            let kept = PATTERN_LEN - 1;
            self.losses.skipped_bytes += (before + bytes.len() - kept) as u64;
            rest.clear();
            rest.extend_from_slice(&bytes[bytes.len() - kept..]);
        }
        if self.kind == ConnectionKind::Unknown && self.losses.skipped_bytes > SEARCHED_BYTES_MAX {
            self.kind = ConnectionKind::Foreign;
            self.state = CutterState::Foreign;
        }
        &[]
    }

    /// Steps over bytes that are not in the capture.
    fn hole(&mut self, len: u64, at: Moment, sink: &mut impl MessageSink) {
        match &mut self.state {
            CutterState::Foreign => {}
            CutterState::First(first) => {
                self.start = std::mem::take(first);
                self.is_joined = true;
                self.state = CutterState::Search(Vec::new());
            }
            CutterState::Search(rest) => {
                self.losses.skipped_bytes += rest.len() as u64;
                rest.clear();
            }
            CutterState::Prefix(bytes) => {
                self.losses.skipped_bytes += bytes.len() as u64;
                self.state = CutterState::Search(Vec::new());
            }
            CutterState::Body(body) => {
                body.is_cut = true;
                let left = (body.len - body.passed) as u64;
                if len < left {
                    // The cast is safe: the hole is smaller than the message.
                    body.passed += len as usize;
                    return;
                }
                body.hand_out(at, sink);
                self.state = if len == left {
                    prefix()
                } else {
                    CutterState::Search(Vec::new())
                };
            }
        }
    }
}

const fn prefix() -> CutterState {
    CutterState::Prefix(Vec::new())
}

#[cfg(test)]
mod tests;
