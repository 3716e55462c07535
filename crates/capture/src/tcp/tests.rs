use proptest::prelude::*;

use super::*;

/// What a consumer has seen.
#[derive(Default)]
struct Seen {
    bytes: Vec<u8>,
    lost: u64,
    cut: u64,
    /// The time of each piece.
    times: Vec<u64>,
}

impl StreamSink for Seen {
    fn piece(&mut self, piece: StreamPiece<'_>, at: Moment) {
        self.times.push(at.time_ns);
        match piece {
            StreamPiece::Bytes(bytes) => self.bytes.extend_from_slice(bytes),
            StreamPiece::Lost(count) => self.lost += count,
            StreamPiece::Cut(count) => self.cut += count,
        }
    }
}

struct Stream {
    half: HalfStream,
    all: WaitingBytes,
    seen: Seen,
}

/// The first sequence number: the numbers wrap soon.
const FIRST: u32 = u32::MAX - 5;

impl Stream {
    fn new() -> Self {
        let mut half = HalfStream::default();
        half.begin(FIRST.wrapping_sub(1));
        Self {
            half,
            all: WaitingBytes::default(),
            seen: Seen::default(),
        }
    }

    fn push(&mut self, offset: u32, payload: &[u8]) {
        self.push_cut(offset, payload, payload.len());
    }

    fn push_cut(&mut self, offset: u32, payload: &[u8], wire_len: usize) {
        self.push_at(offset, payload, wire_len, 0);
    }

    fn push_at(&mut self, offset: u32, payload: &[u8], wire_len: usize, time_ns: u64) {
        let segment = StreamSegment {
            sequence: FIRST.wrapping_add(offset),
            payload,
            wire_len,
            at: Moment { time_ns, frame: 1 },
        };
        self.half.push(segment, &mut self.all, &mut self.seen);
    }

    fn acknowledge(&mut self, offset: u32, time_ns: u64) {
        let number = FIRST.wrapping_add(offset);
        let at = Moment { time_ns, frame: 1 };
        self.half
            .acknowledged(number, at, &mut self.all, &mut self.seen);
    }
}

#[test]
fn segments_come_in_order_once_whatever_their_order_was() {
    let mut stream = Stream::new();
    stream.push(10, b"klm");
    stream.push(4, b"efgh");
    stream.push(4, b"ef");
    stream.push(0, b"abcdef");
    stream.push(2, b"cdefghij");
    stream.push(0, b"a");
    assert_eq!(stream.seen.bytes, b"abcdefghijklm");
    assert_eq!((stream.seen.lost, stream.all.0), (0, 0));
}

#[test]
fn what_waited_behind_a_hole_has_the_time_of_what_filled_it() {
    let mut stream = Stream::new();
    for (offset, time_ns) in [(2, 10), (6, 20), (4, 30), (0, 25), (8, 40)] {
        stream.push_at(offset, b"ab", 2, time_ns);
    }
    assert_eq!(stream.seen.times, [25, 25, 30, 30, 40]);
    // Nothing fills this hole.
    stream.push_at(12, b"ab", 2, 60);
    stream.push_at(14, b"ab", 2, 50);
    stream.half.finish(&mut stream.all, &mut stream.seen);
    assert_eq!(stream.seen.times[5..], [60, 60, 60]);
}

#[test]
fn a_hole_before_other_bytes_is_lost_once_it_was_acknowledged() {
    let mut stream = Stream::new();
    stream.push(0, b"ab");
    stream.push(5, b"fg");
    // A part of the hole.
    stream.acknowledge(4, 10);
    assert_eq!((&stream.seen.bytes[..], stream.seen.lost), (&b"ab"[..], 0));
    stream.acknowledge(5, 10);
    assert_eq!(
        (&stream.seen.bytes[..], stream.seen.lost),
        (&b"abfg"[..], 3)
    );
    // Here the acknowledgement comes first.
    stream.acknowledge(9, 10);
    assert_eq!(stream.seen.lost, 3);
    stream.push(9, b"j");
    assert_eq!(
        (&stream.seen.bytes[..], stream.seen.lost),
        (&b"abfgj"[..], 5)
    );
    assert_eq!(stream.all.0, 0);
}

#[test]
fn a_hole_before_nothing_is_lost_once_it_was_acknowledged_for_long() {
    let mut stream = Stream::new();
    stream.push(0, b"ab");
    for time_ns in [10, 10 + PATIENCE_NS - 1] {
        stream.acknowledge(5, time_ns);
        assert_eq!(stream.seen.lost, 0);
    }
    stream.acknowledge(5, 10 + PATIENCE_NS);
    for _ in 0..EVIDENCE_MAX {
        assert_eq!(stream.seen.lost, 3);
        stream.acknowledge(9, PATIENCE_NS);
    }
    assert_eq!(stream.seen.lost, 7);
    stream.push(9, b"j");
    assert_eq!(stream.seen.bytes, b"abj");
}

#[test]
fn data_may_come_after_its_acknowledgement() {
    let mut stream = Stream::new();
    stream.push(0, b"ab");
    stream.acknowledge(5, 1);
    stream.push(2, b"cde");
    stream.acknowledge(5, PATIENCE_NS * 2);
    stream.acknowledge(8, PATIENCE_NS * 2 + 1);
    stream.push(5, b"fgh");
    assert_eq!(
        (&stream.seen.bytes[..], stream.seen.lost),
        (&b"abcdefgh"[..], 0)
    );
}

/// A FIN takes a number, but no byte.
#[test]
fn the_acknowledgement_of_a_fin_shows_no_hole() {
    let mut stream = Stream::new();
    stream.push(0, b"ab");
    stream.half.ends_at(FIRST.wrapping_add(2));
    for time_ns in [1, PATIENCE_NS * 2, PATIENCE_NS * 4] {
        stream.acknowledge(3, time_ns);
    }
    assert_eq!(stream.seen.lost, 0);
    // It does show one of the bytes before.
    stream.half.ends_at(FIRST.wrapping_add(7));
    for time_ns in [1, PATIENCE_NS * 2] {
        stream.acknowledge(8, time_ns);
    }
    assert_eq!(stream.seen.lost, 5);
}

#[test]
fn the_end_of_a_segment_that_was_cut_is_counted_once() {
    let mut stream = Stream::new();
    stream.push_cut(0, b"ab", 10);
    stream.push_cut(0, b"ab", 10);
    stream.push(10, b"x");
    assert_eq!(stream.seen.cut, 8);
    assert_eq!(stream.seen.bytes, b"abx");
}

#[test]
fn what_waits_behind_a_hole_is_bounded() {
    let mut stream = Stream::new();
    let block = [7; 65_536];
    for number in 0..160_u32 {
        stream.push(10 + number * 65_536, &block);
        assert!(stream.all.0 <= WAITING_BYTES_MAX, "{}", stream.all.0);
    }
    assert_eq!(stream.seen.lost, 10);
    stream.half.finish(&mut stream.all, &mut stream.seen);
    assert_eq!((stream.seen.bytes.len(), stream.all.0), (160 * 65_536, 0));
}

#[test]
fn a_segment_that_is_sent_again_after_megabytes_is_not_lost() {
    let mut stream = Stream::new();
    let block = [7; 65_536];
    for number in 0..100 {
        stream.push(10 + number * 65_536, &block);
    }
    stream.push(0, &block[..10]);
    assert_eq!(stream.seen.bytes.len(), 10 + 100 * 65_536);
    assert_eq!((stream.seen.lost, stream.all.0), (0, 0));
}

#[test]
fn a_stream_may_begin_in_the_middle() {
    let mut stream = Stream::new();
    stream.half = HalfStream::default();
    stream.acknowledge(3, 0);
    stream.push(0, b"abc");
    stream.push(3, b"d");
    assert_eq!((&stream.seen.bytes[..], stream.seen.lost), (&b"d"[..], 0));
}

proptest! {
    /// Any cut, any order, and repetitions give the same stream; what is left out is
    /// counted.
    #[test]
    fn every_byte_is_delivered_or_counted(
        parts in prop::collection::vec((0..200_u32, 1..60_usize), 1..60),
        left_out in prop::collection::vec(any::<bool>(), 60),
    ) {
        let whole: Vec<u8> = (0..300_u32).map(|at| at as u8).collect();
        let mut stream = Stream::new();
        let mut is_there = [false; 300];
        for ((from, len), is_out) in parts.iter().zip(left_out) {
            if !is_out {
                let range = *from as usize..*from as usize + len;
                is_there[range.clone()].fill(true);
                stream.push(*from, &whole[range]);
            }
        }
        stream.half.finish(&mut stream.all, &mut stream.seen);
        let end = is_there.iter().rposition(|there| *there).map_or(0, |last| last + 1);
        let expected: Vec<u8> = (0..end).filter(|&at| is_there[at]).map(|at| whole[at]).collect();
        prop_assert_eq!(stream.seen.lost as usize, end - expected.len());
        prop_assert_eq!(&stream.seen.bytes, &expected);
        prop_assert_eq!(stream.all.0, 0);
    }
}
