use proptest::prelude::*;

use super::*;

/// Messages with what is known of each.
#[derive(Debug, Default, PartialEq)]
struct Taken(Vec<(Vec<u8>, usize, bool)>, LongBytes);

impl MessageSink for Taken {
    fn message(&mut self, message: CapturedMessage<'_>) {
        let bytes = message.bytes.to_vec();
        self.0.push((bytes, message.wire_len, message.is_cut));
    }

    fn sealed(&self) -> Sealed {
        Sealed::Count
    }

    fn long(&mut self) -> &mut LongBytes {
        &mut self.1
    }
}

/// Returns a message of SMB2 with this command, flags and length, in its frame.
fn frame(command: u8, flags: u8, len: usize) -> Vec<u8> {
    let mut message = vec![command; len];
    message[..64].fill(0);
    message[..6].copy_from_slice(b"\xFESMB\x40\0");
    message[12] = command;
    message[16] = flags;
    let prefix = (len as u32).to_be_bytes();
    [&prefix[..], &message].concat()
}

fn taken(pieces: &[StreamPiece<'_>], is_joined: bool) -> (Taken, CutterLosses) {
    let mut cutter = MessageCutter::new(is_joined);
    let mut taken = Taken::default();
    for piece in pieces {
        cutter.piece(*piece, Moment::default(), &mut taken);
    }
    cutter.finish(Moment::default(), &mut taken);
    (taken, cutter.losses)
}

const READ: u8 = 8;
const ANSWER: u8 = 1;

#[test]
fn of_large_payloads_only_the_start_is_kept() {
    let stream = [frame(READ, ANSWER, 70_000), frame(READ, 0, 117)].concat();
    let (first, rest) = stream.split_at(1000);
    let pieces = [StreamPiece::Bytes(first), StreamPiece::Bytes(rest)];
    let (taken, losses) = taken(&pieces, false);
    assert_eq!(losses, CutterLosses::default());
    let lengths: Vec<_> = taken
        .0
        .iter()
        .map(|(bytes, len, _)| (bytes.len(), *len))
        .collect();
    assert_eq!(lengths, [(160, 70_000), (117, 117)]);
}

/// Returns a compound of a CREATE, a READ of this many bytes and a CLOSE, in its frame.
fn compound(read: usize) -> Vec<u8> {
    let part = |command: u8, next: usize, len: usize| {
        let mut part = frame(command, ANSWER, len)[PREFIX_LEN..].to_vec();
        part[20..24].copy_from_slice(&(next as u32).to_le_bytes());
        part
    };
    let read = 80 + read;
    let message = [part(5, 152, 152), part(READ, read, read), part(6, 0, 124)].concat();
    let prefix = (message.len() as u32).to_be_bytes();
    [&prefix[..], &message].concat()
}

#[test]
fn what_follows_a_large_payload_in_a_compound_is_kept() {
    let stream = compound(3 << 20);
    let (first, rest) = stream.split_at(1000);
    let pieces = [StreamPiece::Bytes(first), StreamPiece::Bytes(rest)];
    let (taken, _) = taken(&pieces, false);
    let message = &stream[PREFIX_LEN..];
    assert!(taken.0 == [(message.to_vec(), message.len(), false)]);
    assert_eq!(taken.1, LongBytes::default());
}

#[test]
fn memory_for_long_compounds_is_bounded_over_all_connections() {
    let stream = compound(8 << 20);
    let (first, rest) = stream[..stream.len() - 1].split_at(1000);
    let mut taken = Taken::default();
    for round in 1..3 {
        let mut cutters: Vec<_> = (0..10).map(|_| MessageCutter::new(false)).collect();
        for cutter in &mut cutters {
            for piece in [first, rest] {
                cutter.piece(StreamPiece::Bytes(piece), Moment::default(), &mut taken);
            }
        }
        for cutter in &mut cutters {
            cutter.finish(Moment::default(), &mut taken);
        }
        let of_round = taken.0.drain(..).map(|(bytes, ..)| bytes.len());
        let kept: Vec<_> = of_round.collect();
        let whole = stream.len() - PREFIX_LEN - 1;
        assert_eq!(kept, [&[whole; 7][..], &[1 << 20; 3]].concat(), "{round}");
        assert_eq!(taken.1, LongBytes::default());
    }
}

#[test]
fn a_hole_inside_of_a_message_does_not_lose_the_next() {
    let stream = [frame(READ, ANSWER, 5000), frame(5, 0, 200)].concat();
    for hole in [StreamPiece::Lost(3000), StreamPiece::Cut(3000)] {
        let pieces = [
            StreamPiece::Bytes(&stream[..1000]),
            hole,
            StreamPiece::Bytes(&stream[4000..]),
        ];
        let (taken, losses) = taken(&pieces, false);
        let found: Vec<_> = taken
            .0
            .iter()
            .map(|(_, len, is_cut)| (*len, *is_cut))
            .collect();
        assert_eq!(found, [(5000, true), (200, false)]);
        assert_eq!(losses.skipped_bytes, 0);
    }
}

#[test]
fn behind_a_hole_between_messages_the_next_start_is_found() {
    let stream = [
        frame(5, 0, 200),
        frame(5, 0, 300),
        frame(6, 0, 400),
        frame(7, 0, 100),
    ]
    .concat();
    let pieces = [
        StreamPiece::Bytes(&stream[..150]),
        StreamPiece::Lost(250),
        StreamPiece::Bytes(&stream[400..]),
    ];
    let (taken, losses) = taken(&pieces, false);
    let found: Vec<_> = taken
        .0
        .iter()
        .map(|(_, len, is_cut)| (*len, *is_cut))
        .collect();
    assert_eq!(found, [(200, true), (400, false), (100, false)]);
    assert_eq!((losses.lost_bytes, losses.skipped_bytes), (250, 108));
}

#[test]
fn other_protocols_are_distinguished_from_smb() {
    for (start, kind) in [
        (&b"\x16\x03\x01\x02\0"[..], ConnectionKind::Foreign),
        (b"\0\0\0", ConnectionKind::Unknown),
        (b"\0\0\0\x10\xFESM", ConnectionKind::Unknown),
        (b"\0\0\0\x10\xFESMB", ConnectionKind::Smb),
        (b"\0\0\0\x10\xFFSMB", ConnectionKind::Smb),
        (b"\x81\0\0\x44 ", ConnectionKind::Smb),
        (b"\0\0\0\x10\xFESMX", ConnectionKind::Foreign),
    ] {
        assert_eq!(first_kind(start), kind, "{start:?}");
    }
    let (nothing, losses) = taken(&[StreamPiece::Bytes(&[0x16; 5000])], false);
    assert_eq!(
        (nothing, losses),
        (Taken::default(), CutterLosses::default())
    );
}

proptest! {
    /// Any cut gives the same messages.
    #[test]
    fn the_cut_of_a_stream_does_not_matter(
        lengths in prop::collection::vec((0..19_u8, 0..2_u8, 64..3000_usize), 1..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let frames = lengths.iter().map(|&(command, flags, len)| frame(command, flags, len));
        let stream = frames.collect::<Vec<_>>().concat();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len())).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let pieces: Vec<_> = cuts.windows(2)
            .map(|pair| StreamPiece::Bytes(&stream[pair[0]..pair[1]]))
            .collect();
        let (found, losses) = taken(&pieces, false);
        prop_assert_eq!(losses, CutterLosses::default());
        let expected: Vec<_> = lengths.iter().map(|(_, _, len)| (*len, false)).collect();
        let found: Vec<_> = found.0.iter().map(|(_, len, is_cut)| (*len, *is_cut)).collect();
        prop_assert_eq!(found, expected);
    }

    /// Holes and bytes of any kind: no panic, and what is found has the length that it
    /// says.
    #[test]
    fn any_pieces_are_taken(
        pieces in prop::collection::vec((0..4_u8, 64..500_usize, 0..600_u64), 1..30),
        is_joined: bool,
    ) {
        let bytes: Vec<_> = pieces.iter().map(|&(kind, len, _)| match kind {
            0 => frame(kind, 0, len),
            1 => frame(READ, ANSWER, len)[..len / 2].to_vec(),
            _ => vec![kind * 70; len],
        }).collect();
        let pieces: Vec<_> = pieces.iter().zip(&bytes).map(|(&(kind, _, hole), bytes)| {
            match kind {
                3 if hole > 0 => StreamPiece::Lost(hole),
                _ => StreamPiece::Bytes(bytes),
            }
        }).collect();
        let (taken, _) = taken(&pieces, is_joined);
        for (bytes, len, is_cut) in taken.0 {
            prop_assert!(bytes.len() == len || is_cut || bytes.len() == 160 && len > 160);
        }
    }
}
