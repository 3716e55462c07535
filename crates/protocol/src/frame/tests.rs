//! Tests of reassembly: any cut of the stream, and wrong or hostile headers.

mod cifs;

use proptest::prelude::*;

use super::inbound::KEPT_OF_DISCARDED;
use super::*;
use crate::command::read::READ_RESPONSE_FIXED;
use crate::header::{Command, Flags, Header};

/// A caller that skips the skippable bytes gets the same frames as one that
/// receives everything.
#[test]
fn a_payload_may_be_dropped_before_it_is_received() {
    let message = read_response(&[7; 50_000], Flags(0));
    let mut stream = framed(&message);
    stream.extend(framed(&message));
    for piece_len in [1, 83, 84, 100, 4096] {
        let mut inbound = Inbound::default();
        let mut rest = &stream[..];
        let (mut frames, mut received) = (0, 0);
        loop {
            let len = piece_len.min(rest.len());
            let (piece, behind) = rest.split_at(len);
            (rest, received) = (behind, received + len);
            let mut piece = piece.to_vec();
            let mut input = &mut piece[..];
            loop {
                while let Some(frame) = inbound.next(&mut input, Payload::Discard).unwrap() {
                    assert_eq!(frame.total_len, message.len());
                    assert_eq!(frame.bytes[..], message[..READ_RESPONSE_FIXED]);
                    frames += 1;
                }
                // Skip in two steps, like a socket that has only a part of the
                // bytes yet.
                let first = inbound.skippable().div_ceil(2).min(rest.len());
                if first == 0 {
                    break;
                }
                inbound.skip(first);
                rest = &rest[first..];
            }
            if rest.is_empty() {
                break;
            }
        }
        assert_eq!(frames, 2, "{piece_len}");
        assert!(
            received <= 2 * (KEPT_OF_DISCARDED + piece_len),
            "{received}"
        );
        assert!(!inbound.is_collecting());
    }
}

fn framed(message: &[u8]) -> Vec<u8> {
    let mut bytes = (message.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(message);
    bytes
}

fn read_response(data: &[u8], flags: Flags) -> Vec<u8> {
    let mut message = Vec::new();
    let mut header = Header::request(Command::Read, 3);
    header.flags = Flags::RESPONSE.union(flags);
    header.encode(&mut message);
    message.extend_from_slice(&17u16.to_le_bytes());
    message.extend_from_slice(&[80, 0]);
    message.extend_from_slice(&(data.len() as u32).to_le_bytes());
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(data);
    message
}

/// Feeds `stream` in pieces. Returns the messages and their total lengths.
fn reassemble(
    stream: &[u8],
    pieces: impl IntoIterator<Item = usize>,
    payload: Payload,
) -> Vec<(Vec<u8>, usize)> {
    let mut inbound = Inbound::default();
    let mut stream = stream.to_vec();
    let mut rest = stream.as_mut_slice();
    let mut messages = Vec::new();
    let mut pieces = pieces.into_iter();
    while !rest.is_empty() {
        let len = pieces.next().unwrap_or(usize::MAX).clamp(1, rest.len());
        let (mut piece, after) = rest.split_at_mut(len);
        rest = after;
        while let Some(frame) = inbound.next(&mut piece, payload).unwrap() {
            let mut opened = frame.open(|_| None).unwrap();
            while let Some(message) = opened.next_message().unwrap() {
                messages.push((message.bytes.to_vec(), message.total_len));
            }
        }
        assert!(piece.is_empty());
    }
    messages
}

proptest! {
    /// The same messages result from any cut of the stream.
    #[test]
    fn the_cut_does_not_matter(
        sizes in proptest::collection::vec(0usize..300, 1..8),
        pieces in proptest::collection::vec(1usize..200, 0..60),
    ) {
        let messages: Vec<_> = sizes
            .iter()
            .enumerate()
            .map(|(n, &size)| {
                let flags = if n % 2 == 0 { Flags(0) } else { Flags::SIGNED };
                read_response(&vec![n as u8; size], flags)
            })
            .collect();
        let stream: Vec<_> = messages.iter().flat_map(|message| framed(message)).collect();
        let kept = reassemble(&stream, pieces.clone(), Payload::Keep);
        let expected: Vec<_> = messages.iter().map(|m| (m.clone(), m.len())).collect();
        prop_assert_eq!(&kept, &expected);
        // Discarding may shorten unsigned messages to their fixed part, but not
        // further.
        let discarded = reassemble(&stream, pieces, Payload::Discard);
        prop_assert_eq!(discarded.len(), expected.len());
        for (n, ((bytes, total), (whole, len))) in discarded.iter().zip(&expected).enumerate() {
            prop_assert_eq!(total, len);
            prop_assert!(whole.starts_with(bytes));
            prop_assert!(bytes.len() == *len || (n % 2 == 0 && bytes.len() == READ_RESPONSE_FIXED));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        mut stream in proptest::collection::vec(any::<u8>(), 0..400),
        piece in 1usize..50,
    ) {
        let mut inbound = Inbound::default();
        'stream: for mut piece in stream.chunks_mut(piece) {
            loop {
                match inbound.next(&mut piece, Payload::Discard) {
                    Ok(Some(frame)) => if let Ok(mut messages) = frame.open(|_| None) {
                        while let Ok(Some(_)) = messages.next_message() {}
                    },
                    Ok(None) => break,
                    Err(_) => break 'stream,
                }
            }
        }
    }
}

#[test]
fn a_discarded_payload_takes_no_memory() {
    let message = read_response(&vec![1; 1 << 20], Flags(0));
    let mut stream = framed(&message);
    let mut inbound = Inbound::default();
    let mut delivered = 0;
    for mut piece in stream.chunks_mut(1000) {
        while let Some(frame) = inbound.next(&mut piece, Payload::Discard).unwrap() {
            let mut messages = frame.open(|_| None).unwrap();
            let received = messages.next_message().unwrap().unwrap();
            assert_eq!(received.total_len, message.len());
            delivered += 1;
        }
    }
    assert_eq!(delivered, 1);
    assert!(inbound.partial.capacity() < 1024);
}

#[test]
fn keepalive_packets_are_frames_without_a_message_wherever_the_stream_is_cut() {
    let message = read_response(&[7; 100], Flags(0));
    let keepalive = [0x85, 0, 0, 0];
    let stream = [&keepalive, &keepalive, &framed(&message)[..], &keepalive].concat();
    let twice = stream.repeat(2);
    for payload in [Payload::Keep, Payload::Discard] {
        for cut in 1..20 {
            let mut stream = twice.clone();
            let mut inbound = Inbound::default();
            let mut lens = Vec::new();
            for mut piece in stream.chunks_mut(cut) {
                while let Some(frame) = inbound.next(&mut piece, payload).unwrap() {
                    let len = frame.total_len;
                    let mut messages = frame.open(|_| None).unwrap();
                    assert_eq!(messages.next_message().unwrap().is_none(), len == 0);
                    lens.push(len);
                }
            }
            let once = [0, 0, message.len(), 0];
            assert_eq!(lens, [once, once].concat(), "{cut}");
        }
    }
}

#[test]
fn a_length_beyond_any_message_ends_the_connection() {
    let mut inbound = Inbound::default();
    for (mut bytes, expected) in [
        ([0, 0xff, 0xff, 0xff], FrameError::TooLong(0xff_ffff)),
        ([0x85, 0, 0, 1], FrameError::Type(0x85)),
    ] {
        let error = inbound.next(&mut &mut bytes[..], Payload::Keep);
        assert_eq!(error.unwrap_err(), expected);
    }
}

#[test]
fn compounds_are_split_and_a_lying_offset_is_an_error() {
    let mut first = read_response(&[], Flags(0));
    let at = first.len() as u32;
    first[20..24].copy_from_slice(&at.to_le_bytes());
    let second = read_response(b"12345678", Flags(0));
    let both: Vec<u8> = [first.clone(), second.clone()].concat();
    let messages = reassemble(&framed(&both), [], Payload::Discard);
    assert_eq!(messages[0], (first.clone(), first.len()));
    assert_eq!(messages[1], (second.clone(), second.len()));

    first[20..24].copy_from_slice(&4096u32.to_le_bytes());
    let mut noise = vec![0xA5; first.len()];
    for (bytes, at_fault) in [(&mut first, "next command"), (&mut noise, "protocol id")] {
        let total_len = bytes.len();
        let frame = Frame { bytes, total_len };
        let error = frame.open(|_| None).unwrap().next_message().unwrap_err();
        assert!(error.what.starts_with(at_fault), "{error}");
    }
}

#[test]
fn encrypted_frames_are_kept_whole_and_need_a_key() {
    let mut message = read_response(&[7; 500], Flags(0));
    message[..4].copy_from_slice(&TRANSFORM_PROTOCOL_ID);
    let mut stream = framed(&message);
    let mut inbound = Inbound::default();
    for mut piece in stream.chunks_mut(90) {
        if let Some(frame) = inbound.next(&mut piece, Payload::Discard).unwrap() {
            assert_eq!(frame.bytes, message);
            assert_eq!(frame.open(|_| None).unwrap_err(), Undecipherable);
            return;
        }
    }
    panic!("the frame is complete");
}
