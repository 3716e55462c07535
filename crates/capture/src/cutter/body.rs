//! A message while its bytes arrive.

use super::{CapturedMessage, LongBytes, MessageSink, Sealed};
use crate::tcp::Moment;

/// The start of a message that decides how much of it is kept.
const DECISION_LEN: usize = 64;
/// Bytes that are kept of a message whose payload is only counted.
const START_LEN: usize = 160;
/// Bytes that are kept of any other message.
const WHOLE_LEN_MAX: usize = 1 << 20;
/// Bytes of longer compounds in all connections.
const ALL_LONG_BYTES_MAX: usize = 64 << 20;

impl LongBytes {
    /// Takes memory for a message, if there is enough. Returns how much it took.
    const fn take(&mut self, len: usize) -> usize {
        let is_enough = self.0 + len <= ALL_LONG_BYTES_MAX;
        let taken = if is_enough { len } else { 0 };
        self.0 += taken;
        taken
    }
}

#[derive(Debug)]
pub(super) struct Body {
    pub(super) len: usize,
    /// Bytes of the message that have passed.
    pub(super) passed: usize,
    kept: Vec<u8>,
    keep: usize,
    /// Memory that it took of all connections.
    long: usize,
    /// Nothing more is kept, because of a hole.
    pub(super) is_cut: bool,
    /// The message is none of SMB: a session request or a keep-alive.
    is_ignored: bool,
}

impl Body {
    pub(super) const fn new(len: usize, is_ignored: bool) -> Self {
        Self {
            len,
            passed: 0,
            kept: Vec::new(),
            keep: DECISION_LEN,
            long: 0,
            is_cut: false,
            is_ignored,
        }
    }

    /// Adds bytes of the message. Returns those behind it.
    pub(super) fn add<'a>(
        &mut self,
        bytes: &'a [u8],
        at: Moment,
        sink: &mut impl MessageSink,
    ) -> &'a [u8] {
        let (own, rest) = bytes.split_at(bytes.len().min(self.len - self.passed));
        self.passed += own.len();
        let is_whole = own.len() == self.len;
        if is_whole && !self.is_ignored {
            // The usual case: nothing is copied.
            sink.message(CapturedMessage {
                bytes: own,
                wire_len: self.len,
                is_cut: false,
                end: at,
            });
            return rest;
        }
        if !self.is_cut {
            self.keep_bytes(own, sink);
        }
        if self.passed == self.len {
            self.hand_out(at, sink);
        }
        rest
    }

    fn keep_bytes(&mut self, own: &[u8], sink: &mut impl MessageSink) {
        self.keep_more(own);
        if self.keep == DECISION_LEN && self.kept.len() >= DECISION_LEN.min(self.len) {
            self.keep = wanted(&self.kept, self.len, sink.sealed());
            if self.len > WHOLE_LEN_MAX && is_compound(&self.kept) {
                self.long = sink.long().take(self.len);
                self.keep = self.long.max(WHOLE_LEN_MAX);
            }
            let before = self.passed - own.len();
            let from = self.kept.len() - before;
            self.keep_more(own.get(from..).unwrap_or_default());
        }
    }

    /// Keeps bytes as far as they are wanted.
    fn keep_more(&mut self, bytes: &[u8]) {
        let room = self.keep.saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Hands out the message, once.
    pub(super) fn hand_out(&self, at: Moment, sink: &mut impl MessageSink) {
        sink.long().0 -= self.long;
        if !self.is_ignored {
            sink.message(CapturedMessage {
                bytes: &self.kept,
                wire_len: self.len,
                is_cut: self.is_cut,
                end: at,
            });
        }
    }
}

/// Returns whether other messages follow in the same frame.
fn is_compound(start: &[u8]) -> bool {
    start.first() == Some(&0xfe) && start.get(20..24) != Some(&[0; 4])
}

/// Returns how many bytes of a message are wanted.
fn wanted(start: &[u8], len: usize, sealed: Sealed) -> usize {
    const READ: u8 = 8;
    const WRITE: u8 = 9;
    const QUERY_DIRECTORY: u8 = 14;
    let field = |at: usize| start.get(at).copied().unwrap_or_default();
    match field(0) {
        0xfe if !is_compound(start) => {
            let is_answer = field(16) & 1 != 0;
            let is_payload = match field(12) {
                READ | QUERY_DIRECTORY => is_answer,
                WRITE => !is_answer,
                _ => false,
            };
            if is_payload { len.min(START_LEN) } else { len }
        }
        0xfd if sealed == Sealed::Count => len.min(START_LEN),
        // READ_ANDX and WRITE_ANDX.
        0xff if matches!(field(4), 0x2e | 0x2f) => len.min(START_LEN),
        0xfd => len,
        _ => len.min(WHOLE_LEN_MAX),
    }
}
