//! Cuts the TCP byte stream into messages (MS-SMB2 2.1: direct TCP, four bytes
//! of big-endian length before each).
//!
//! Whole frames are lent out of the caller's receive buffer; only an
//! incomplete one is kept here between receives. The payload of a READ
//! response that nobody will look at is not even kept: it is counted down as
//! it arrives, so that a waiting session costs its header and no more.

use thiserror::Error;

use crate::NtStatus;
use crate::command::read::READ_RESPONSE_FIXED;
use crate::crypto::{TRANSFORM_PROTOCOL_ID, Transform};
use crate::header::{Command, Flags, Header, PROTOCOL_ID};
use crate::wire::DecodeError;

/// Bytes before each message on direct TCP.
pub const PREFIX_LEN: usize = 4;
/// The largest frame accepted: 8 MiB of payload, the most any SMB server
/// negotiates, and its headers.
pub const MAX_FRAME_LEN: usize = 8 * 1024 * 1024 + 1024;
const KEPT_OF_DISCARDED: usize = PREFIX_LEN + READ_RESPONSE_FIXED;

/// What to do with the payloads of successful READ responses that are neither
/// signed nor encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Hand them out.
    Keep,
    /// Drop them as they arrive.
    Discard,
}

/// A frame that cannot be SMB2 over direct TCP.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum FrameError {
    /// The first byte must be zero.
    #[error("a frame of type 0x{0:02x} where a session message was due")]
    Type(u8),
    /// Longer than [`MAX_FRAME_LEN`].
    #[error("a frame of {0} bytes, more than any SMB message may have")]
    TooLong(usize),
}

/// One received frame, in the caller's buffer or this module's: whoever has it
/// may decrypt it in place.
#[derive(Debug)]
pub struct Frame<'a> {
    bytes: &'a mut [u8],
    total_len: usize,
}

/// Whether a message came encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrecy {
    /// As it is.
    Plain,
    /// Encrypted, and found to be genuine.
    Encrypted {
        /// By the server of this session.
        session_id: u64,
    },
}

/// The messages of a frame; several when compounded.
#[derive(Debug)]
pub struct Messages<'a> {
    rest: &'a mut [u8],
    total_len: usize,
    secrecy: Secrecy,
}

/// One message of a frame.
#[derive(Debug)]
pub struct Message<'a> {
    /// Header and body, without the payload when that was discarded.
    pub bytes: &'a mut [u8],
    /// Bytes received, with the payload; without those of encryption.
    pub total_len: usize,
    /// How it came.
    pub secrecy: Secrecy,
}

impl<'a> Frame<'a> {
    /// The messages inside, decrypted where they are encrypted. `key_of` finds
    /// what decrypts those of a session, by its id.
    ///
    /// # Errors
    /// When the frame is encrypted and does not decrypt.
    #[inline]
    pub fn open<'k>(
        self,
        key_of: impl FnOnce(u64) -> Option<&'k Transform>,
    ) -> Result<Messages<'a>, Undecipherable> {
        if self.bytes.first_chunk() == Some(&TRANSFORM_PROTOCOL_ID) {
            let session_id = Transform::session_id_of(self.bytes).ok_or(Undecipherable)?;
            return self.decrypt(session_id, key_of(session_id));
        }
        Ok(Messages {
            rest: self.bytes,
            total_len: self.total_len,
            secrecy: Secrecy::Plain,
        })
    }

    fn decrypt(
        self,
        session_id: u64,
        transform: Option<&Transform>,
    ) -> Result<Messages<'a>, Undecipherable> {
        let rest = transform
            .and_then(|transform| transform.open(self.bytes))
            .ok_or(Undecipherable)?;
        Ok(Messages {
            total_len: rest.len(),
            rest,
            secrecy: Secrecy::Encrypted { session_id },
        })
    }
}

/// An encrypted frame that is not for this session, or not from its server.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("an encrypted message that does not decrypt")]
pub struct Undecipherable;

impl<'a> Messages<'a> {
    /// The next message of the frame, `None` after the last.
    ///
    /// # Errors
    /// When NextCommand points off its alignment or out of the frame, or what
    /// seems to have one is no SMB2 message at all.
    #[inline]
    pub fn next_message(&mut self) -> Result<Option<Message<'a>>, DecodeError> {
        let bytes = std::mem::take(&mut self.rest);
        if bytes.is_empty() {
            return Ok(None);
        }
        match next_command(bytes) {
            0 => Ok(Some(Message {
                bytes,
                total_len: self.total_len,
                secrecy: self.secrecy,
            })),
            next => self.split(bytes, next).map(Some),
        }
    }

    /// Parts the first message of a compound from the rest.
    fn split(&mut self, bytes: &'a mut [u8], next: usize) -> Result<Message<'a>, DecodeError> {
        if bytes.first_chunk() != Some(&PROTOCOL_ID) {
            return Err(DecodeError {
                what: "protocol id",
                offset: 0,
            });
        }
        if !next.is_multiple_of(8) {
            return Err(bad_next_command());
        }
        let (first, rest) = bytes
            .split_at_mut_checked(next)
            .filter(|(_, rest)| !rest.is_empty())
            .ok_or(bad_next_command())?;
        self.total_len -= next;
        self.rest = rest;
        Ok(Message {
            bytes: first,
            total_len: next,
            secrecy: self.secrecy,
        })
    }
}

const fn bad_next_command() -> DecodeError {
    DecodeError {
        what: "next command offset",
        offset: 20,
    }
}

fn next_command(message: &[u8]) -> usize {
    message
        .get(20..24)
        .and_then(|field| field.first_chunk::<4>())
        .map_or(0, |field| u32::from_le_bytes(*field) as usize)
}

/// Reassembles frames from arbitrary pieces of the stream.
#[derive(Debug, Default)]
pub struct Inbound {
    /// Prefix and bytes of the frame that has not fully arrived.
    partial: Vec<u8>,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    /// More of the frame goes to `partial`.
    #[default]
    Collecting,
    /// `partial` has all that is kept; the rest is counted down.
    Discarding { remaining: usize, total_len: usize },
    /// `partial` was lent out and is forgotten at the next call.
    Delivered,
}

impl Inbound {
    /// Takes the next complete frame from what is pending and `input`, and
    /// moves `input` past the bytes consumed. `None` means that all of `input`
    /// was taken and more is needed.
    ///
    /// # Errors
    /// When the stream is not direct-TCP framing; the connection is unusable.
    pub fn next<'f, 'i: 'f>(
        &'f mut self,
        input: &mut &'i mut [u8],
        payload: Payload,
    ) -> Result<Option<Frame<'f>>, FrameError> {
        if matches!(self.state, State::Delivered) {
            self.state = State::Collecting;
            self.partial.clear();
        }
        if self.partial.is_empty() {
            let whole = frame_len(input)?.map(|len| PREFIX_LEN + len);
            if let Some(whole) = whole.filter(|&whole| whole <= input.len()) {
                let frame = take(input, whole);
                return Ok(Some(Frame {
                    bytes: &mut frame[PREFIX_LEN..],
                    total_len: whole - PREFIX_LEN,
                }));
            }
        }
        Ok(self.collect(input, payload)?.map(|total_len| Frame {
            bytes: &mut self.partial[PREFIX_LEN..],
            total_len,
        }))
    }

    /// Bytes that come next and are of no use to anybody, so that they need not
    /// be received at all: see [`Inbound::skip`].
    #[must_use]
    pub const fn skippable(&self) -> usize {
        match self.state {
            State::Discarding { remaining, .. } => remaining,
            State::Collecting | State::Delivered => 0,
        }
    }

    /// Whether a frame that will be handed out has arrived in part.
    #[must_use]
    pub const fn is_collecting(&self) -> bool {
        matches!(self.state, State::Collecting) && !self.partial.is_empty()
    }

    /// Takes note that so many of the [`Inbound::skippable`] bytes have been
    /// dropped elsewhere. Where that was the last of them, [`Inbound::next`]
    /// has their frame without further input.
    pub const fn skip(&mut self, len: usize) {
        if let State::Discarding { remaining, .. } = &mut self.state {
            *remaining = remaining.saturating_sub(len);
        }
    }

    /// Moves `input` into the pending frame; its length once it is complete.
    fn collect(
        &mut self,
        input: &mut &mut [u8],
        payload: Payload,
    ) -> Result<Option<usize>, FrameError> {
        if let State::Discarding {
            remaining,
            total_len,
        } = self.state
        {
            return Ok(self.discard(input, remaining, total_len));
        }
        self.fill(input, PREFIX_LEN);
        let Some(total_len) = frame_len(&self.partial)? else {
            return Ok(None);
        };
        let whole = PREFIX_LEN + total_len;
        // A payload to discard can only be told from one to keep once its
        // fixed part is here; until then, take no more than that.
        if payload == Payload::Discard && whole > KEPT_OF_DISCARDED {
            self.fill(input, KEPT_OF_DISCARDED);
            if self.partial.len() < KEPT_OF_DISCARDED {
                return Ok(None);
            }
            if self.partial.len() == KEPT_OF_DISCARDED && discardable(&self.partial[PREFIX_LEN..]) {
                return Ok(self.discard(input, whole - KEPT_OF_DISCARDED, total_len));
            }
        }
        self.fill(input, whole);
        if self.partial.len() < whole {
            return Ok(None);
        }
        self.state = State::Delivered;
        Ok(Some(total_len))
    }

    fn discard(
        &mut self,
        input: &mut &mut [u8],
        remaining: usize,
        total_len: usize,
    ) -> Option<usize> {
        let remaining = remaining - take(input, remaining).len();
        if remaining > 0 {
            self.state = State::Discarding {
                remaining,
                total_len,
            };
            return None;
        }
        self.state = State::Delivered;
        Some(total_len)
    }

    /// Brings `partial` up to `len` bytes, as far as `input` reaches.
    fn fill(&mut self, input: &mut &mut [u8], len: usize) {
        let missing = len.saturating_sub(self.partial.len());
        self.partial.extend_from_slice(take(input, missing));
    }
}

/// Cuts up to `len` bytes off the front of `input`.
fn take<'i>(input: &mut &'i mut [u8], len: usize) -> &'i mut [u8] {
    let whole = std::mem::take(input);
    let (taken, rest) = whole.split_at_mut(len.min(whole.len()));
    *input = rest;
    taken
}

fn frame_len(bytes: &[u8]) -> Result<Option<usize>, FrameError> {
    let Some(&[kind, a, b, c]) = bytes.first_chunk::<PREFIX_LEN>() else {
        return Ok(None);
    };
    if kind != 0 {
        return Err(FrameError::Type(kind));
    }
    let len = u32::from_be_bytes([0, a, b, c]) as usize;
    if len > MAX_FRAME_LEN {
        return Err(FrameError::TooLong(len));
    }
    Ok(Some(len))
}

/// Whether the payload after this fixed part is of use to nobody: a signature
/// would cover it, a compound would hide a second answer in it. What is
/// encrypted starts with another protocol id and is no header at all.
fn discardable(fixed: &[u8]) -> bool {
    Header::decode(fixed).is_ok_and(|header| {
        header.command == Command::Read
            && header.status == NtStatus::SUCCESS
            && header.next_command == 0
            && header.flags.contains(Flags::RESPONSE)
            && !header.flags.contains(Flags::SIGNED)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whoever skips what may be skipped gets the same frames as whoever
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
                    // In two steps, as a socket that has not all of it yet.
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

    /// Feeds `stream` in pieces; the messages and their total lengths.
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
        /// However TCP cuts the stream, the same messages come out.
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
            // Discarding may shorten unsigned ones to their fixed part, no less.
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
    fn a_length_beyond_any_message_ends_the_connection() {
        let mut inbound = Inbound::default();
        for (mut bytes, expected) in [
            ([0, 0xff, 0xff, 0xff], FrameError::TooLong(0xff_ffff)),
            ([0x85, 0, 0, 0], FrameError::Type(0x85)),
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
}
