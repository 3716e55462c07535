//! One direction of a TCP connection: puts its segments in order, without I/O.
//!
//! Segments may come out of order, twice, overlapping, and of any size. A hole is given
//! up when the other side has acknowledged it and bytes behind it came, when too much waits
//! behind it, or at the end. So what waits is handed out before what the other side sends
//! next. Memory is bounded for each direction and for all together.

use std::collections::BTreeMap;

/// Bytes that wait behind a hole of one direction: as many as a client or a server sends until
/// a lost segment comes again.
const WAITING_BYTES_MAX: usize = 8 << 20;
/// Bytes that wait behind holes in all connections.
const ALL_WAITING_BYTES_MAX: usize = 32 << 20;
/// Memory of a waiting segment beside its bytes.
const SEGMENT_BYTES: usize = 96;
/// A hole that was acknowledged, and that nothing came behind, is given up after this time.
/// A capture of several CPUs may have acknowledgements some milliseconds before the data.
const PATIENCE_NS: u64 = 250_000_000;
/// It is also given up after this many acknowledgements.
const EVIDENCE_MAX: u32 = 128;
/// A segment that is farther away belongs to another connection or is damaged.
const WINDOW_MAX: i64 = 1 << 30;

/// The packet in which something was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Nanoseconds since 1970.
    pub(crate) time_ns: u64,
    /// Number of the frame.
    pub(crate) frame: u64,
}

/// A piece of a stream, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamPiece<'a> {
    Bytes(&'a [u8]),
    /// Bytes of packets that are not in the capture.
    Lost(u64),
    /// Bytes at the end of a packet that the snap length cut off.
    Cut(u64),
}

/// A consumer of the pieces of a stream.
pub(crate) trait StreamSink {
    fn piece(&mut self, piece: StreamPiece<'_>, at: Moment);
}

/// Memory for waiting segments of all connections.
#[derive(Debug, Default)]
pub(crate) struct WaitingBytes(usize);

struct WaitingSegment {
    bytes: Box<[u8]>,
    wire_len: u64,
    at: Moment,
}

/// A segment of this direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamSegment<'a> {
    pub(crate) sequence: u32,
    pub(crate) payload: &'a [u8],
    pub(crate) wire_len: usize,
    pub(crate) at: Moment,
}

/// One direction of a connection.
#[derive(Default)]
pub(crate) struct HalfStream {
    /// The sequence number of `position`; `None` before the first packet.
    next: Option<u32>,
    /// The number that acknowledges a FIN. No byte of the stream has the one before.
    end: Option<u32>,
    /// Bytes of the stream that were handed out or given up.
    position: u64,
    waiting: BTreeMap<u64, WaitingSegment>,
    waiting_bytes: usize,
    /// The position up to which the other side has acknowledged more than was seen; 0 if it has
    /// not.
    acknowledged_to: u64,
    /// Packets that acknowledged more than was seen.
    evidence: u32,
    /// The time of the first of them.
    evident_ns: u64,
}

impl HalfStream {
    /// Begins at the sequence number of a SYN.
    pub(crate) fn begin(&mut self, sequence: u32) {
        self.next = Some(sequence.wrapping_add(1));
    }

    /// Learns that a FIN has this sequence number.
    pub(crate) fn ends_at(&mut self, sequence: u32) {
        self.end = Some(sequence.wrapping_add(1));
    }

    /// Returns whether a SYN with this number would be the one that was seen.
    pub(crate) fn began_at(&self, sequence: u32) -> bool {
        let begin = self
            .next
            .map(|next| next.wrapping_sub(self.position as u32));
        begin == Some(sequence.wrapping_add(1))
    }

    /// Returns whether nothing of this direction was seen.
    pub(crate) const fn is_unseen(&self) -> bool {
        self.next.is_none()
    }

    /// Takes a segment with payload.
    pub(crate) fn push(
        &mut self,
        segment: StreamSegment<'_>,
        all: &mut WaitingBytes,
        sink: &mut impl StreamSink,
    ) {
        let next = *self.next.get_or_insert(segment.sequence);
        let distance = i64::from(segment.sequence.wrapping_sub(next).cast_signed());
        if distance.abs() > WINDOW_MAX {
            return;
        }
        if distance <= 0 {
            let skip = distance.unsigned_abs();
            self.deliver(
                segment.payload,
                segment.wire_len as u64,
                skip,
                segment.at,
                sink,
            );
            self.drain(segment.at, all, sink);
            return;
        }
        self.hold(self.position + distance.unsigned_abs(), segment, all);
        self.give_up_acknowledged(all, sink);
        while self.waiting_bytes > WAITING_BYTES_MAX
            || all.0 > ALL_WAITING_BYTES_MAX && !self.waiting.is_empty()
        {
            self.give_up(all, sink);
        }
    }

    /// Learns that the other side has everything before this number.
    pub(crate) fn acknowledged(
        &mut self,
        number: u32,
        at: Moment,
        all: &mut WaitingBytes,
        sink: &mut impl StreamSink,
    ) {
        let Some(next) = self.next else {
            // The capture began later than the connection.
            self.next = Some(number);
            return;
        };
        let of_fin = u32::from(self.end == Some(number));
        let ahead = number.wrapping_sub(of_fin).wrapping_sub(next);
        let ahead = i64::from(ahead.cast_signed());
        if !(1..=WINDOW_MAX).contains(&ahead) {
            self.evidence = 0;
            self.acknowledged_to = 0;
            return;
        }
        let to = self.position + ahead.unsigned_abs();
        self.acknowledged_to = to;
        self.give_up_acknowledged(all, sink);
        if self.position >= to {
            return;
        }
        if self.evidence == 0 {
            self.evident_ns = at.time_ns;
        }
        self.evidence += 1;
        let is_recent = at.time_ns.saturating_sub(self.evident_ns) < PATIENCE_NS;
        if is_recent && self.evidence < EVIDENCE_MAX {
            return;
        }
        self.lose(to, at, sink);
        self.evidence = 0;
    }

    /// Ends the stream: holes are given up.
    pub(crate) fn finish(&mut self, all: &mut WaitingBytes, sink: &mut impl StreamSink) {
        while !self.waiting.is_empty() {
            self.give_up(all, sink);
        }
    }

    /// Keeps a segment that lies behind a hole.
    fn hold(&mut self, offset: u64, segment: StreamSegment<'_>, all: &mut WaitingBytes) {
        let known = self.waiting.get(&offset);
        if known.is_some_and(|known| known.wire_len >= segment.wire_len as u64) {
            return;
        }
        let kept = WaitingSegment {
            bytes: segment.payload.into(),
            wire_len: segment.wire_len as u64,
            at: segment.at,
        };
        let memory = kept.bytes.len() + SEGMENT_BYTES;
        self.waiting_bytes += memory;
        all.0 += memory;
        if let Some(old) = self.waiting.insert(offset, kept) {
            self.release(&old, all);
        }
    }

    fn release(&mut self, segment: &WaitingSegment, all: &mut WaitingBytes) {
        let memory = segment.bytes.len() + SEGMENT_BYTES;
        self.waiting_bytes -= memory;
        all.0 -= memory;
    }

    /// Gives up the holes that the other side has acknowledged and that bytes came behind. Two
    /// directions may be apart in a capture, but mostly each is in order: what is missing does
    /// not come any more. If acknowledgements come before the data, a segment that comes late
    /// or again is lost. To wait for it would hand out the bytes behind each hole too late.
    fn give_up_acknowledged(&mut self, all: &mut WaitingBytes, sink: &mut impl StreamSink) {
        while let Some((&first, _)) = self.waiting.first_key_value()
            && first <= self.acknowledged_to
        {
            self.give_up(all, sink);
            self.evidence = 0;
        }
    }

    /// Gives up the first hole.
    fn give_up(&mut self, all: &mut WaitingBytes, sink: &mut impl StreamSink) {
        if let Some((&offset, first)) = self.waiting.first_key_value() {
            let at = first.at;
            self.lose(offset, at, sink);
            self.drain(at, all, sink);
        }
    }

    fn lose(&mut self, to: u64, at: Moment, sink: &mut impl StreamSink) {
        if let Some(lost) = to.checked_sub(self.position).filter(|&lost| lost > 0) {
            sink.piece(StreamPiece::Lost(lost), at);
            self.advance(lost);
        }
    }

    /// Hands out the segments that no hole precedes. None is complete before the packet that
    /// filled the hole, nor before those in front of it.
    fn drain(&mut self, filled: Moment, all: &mut WaitingBytes, sink: &mut impl StreamSink) {
        let mut at = filled;
        while let Some(entry) = self.waiting.first_entry()
            && *entry.key() <= self.position
        {
            let (offset, segment) = entry.remove_entry();
            self.release(&segment, all);
            if segment.at.time_ns > at.time_ns {
                at = segment.at;
            }
            let skip = self.position - offset;
            self.deliver(&segment.bytes, segment.wire_len, skip, at, sink);
        }
    }

    /// Hands out a segment without its first `skip` bytes, which were seen before.
    fn deliver(
        &mut self,
        payload: &[u8],
        wire_len: u64,
        skip: u64,
        at: Moment,
        sink: &mut impl StreamSink,
    ) {
        let Some(fresh) = wire_len.checked_sub(skip).filter(|&fresh| fresh > 0) else {
            return;
        };
        // The cast is safe: a segment has less than 4 GiB.
        let captured = payload.get(skip as usize..).unwrap_or_default();
        if !captured.is_empty() {
            sink.piece(StreamPiece::Bytes(captured), at);
        }
        let cut = fresh.saturating_sub(captured.len() as u64);
        if cut > 0 {
            sink.piece(StreamPiece::Cut(cut), at);
        }
        self.advance(fresh);
    }

    fn advance(&mut self, by: u64) {
        self.position += by;
        // Sequence numbers wrap at 2^32.
        self.next = self.next.map(|next| next.wrapping_add(by as u32));
    }
}

#[cfg(test)]
mod tests;
