//! Reassembly of frames from the received stream.

mod spare;

use super::{Frame, FrameError, MAX_FRAME_LEN, PREFIX_LEN, Payload};
use crate::NtStatus;
use crate::command::read::READ_RESPONSE_FIXED;
use crate::header::{Command, Flags, Header};

pub(super) const KEPT_OF_DISCARDED: usize = PREFIX_LEN + READ_RESPONSE_FIXED;

/// Reassembles frames from pieces of the stream of any length.
#[derive(Debug, Default)]
pub struct Inbound {
    /// Prefix and bytes of the frame that has not arrived completely.
    pub(super) partial: Vec<u8>,
    state: InboundState,
}

#[derive(Debug, Default)]
enum InboundState {
    /// The next bytes of the frame go to `partial`.
    #[default]
    Collecting,
    /// `partial` has all that is kept. The remaining bytes are only counted.
    Discarding { remaining: usize, total_len: usize },
    /// `partial` was lent to the caller, and is cleared at the next call.
    Delivered,
}

impl Inbound {
    /// Takes the next complete frame from the pending bytes and `input`, and
    /// moves `input` past the bytes consumed.
    ///
    /// `None` means that all of `input` was taken and more is needed.
    ///
    /// # Errors
    /// Returns an error if the stream is not direct-TCP framing. The connection
    /// is unusable then.
    #[inline]
    pub fn next<'f, 'i: 'f>(
        &'f mut self,
        input: &mut &'i mut [u8],
        payload: Payload,
    ) -> Result<Option<Frame<'f>>, FrameError> {
        if matches!(self.state, InboundState::Delivered) {
            self.state = InboundState::Collecting;
            spare::give_back(&mut self.partial);
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

    /// Returns the number of coming bytes that will be discarded. The caller
    /// need not receive them: see [`Inbound::skip`].
    #[must_use]
    #[inline]
    pub const fn skippable(&self) -> usize {
        match self.state {
            InboundState::Discarding { remaining, .. } => remaining,
            InboundState::Collecting | InboundState::Delivered => 0,
        }
    }

    /// Returns whether a part of a frame has arrived that will be handed out.
    #[must_use]
    #[inline]
    pub const fn is_collecting(&self) -> bool {
        matches!(self.state, InboundState::Collecting) && !self.partial.is_empty()
    }

    /// Counts `len` of the [`Inbound::skippable`] bytes as dropped by the
    /// caller. After the last of them, [`Inbound::next`] returns their frame
    /// without further input.
    #[inline]
    pub const fn skip(&mut self, len: usize) {
        if let InboundState::Discarding { remaining, .. } = &mut self.state {
            *remaining = remaining.saturating_sub(len);
        }
    }

    /// Moves `input` into the pending frame. Returns the frame's length once it
    /// is complete.
    #[inline]
    fn collect(
        &mut self,
        input: &mut &mut [u8],
        payload: Payload,
    ) -> Result<Option<usize>, FrameError> {
        if let InboundState::Discarding {
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
        // Only the fixed part shows whether a payload is to be discarded. So
        // take no more than the fixed part until it is complete.
        if payload == Payload::Discard && whole > KEPT_OF_DISCARDED {
            self.fill(input, KEPT_OF_DISCARDED);
            if self.partial.len() < KEPT_OF_DISCARDED {
                return Ok(None);
            }
            if self.partial.len() == KEPT_OF_DISCARDED && discardable(&self.partial[PREFIX_LEN..]) {
                return Ok(self.discard(input, whole - KEPT_OF_DISCARDED, total_len));
            }
        }
        if whole > self.partial.capacity() {
            spare::enlarge(&mut self.partial, whole);
        }
        self.fill(input, whole);
        if self.partial.len() < whole {
            return Ok(None);
        }
        self.state = InboundState::Delivered;
        Ok(Some(total_len))
    }

    #[inline]
    fn discard(
        &mut self,
        input: &mut &mut [u8],
        remaining: usize,
        total_len: usize,
    ) -> Option<usize> {
        let remaining = remaining - take(input, remaining).len();
        if remaining > 0 {
            self.state = InboundState::Discarding {
                remaining,
                total_len,
            };
            return None;
        }
        self.state = InboundState::Delivered;
        Some(total_len)
    }

    /// Fills `partial` up to `len` bytes, as far as `input` reaches.
    #[inline]
    fn fill(&mut self, input: &mut &mut [u8], len: usize) {
        let missing = len.saturating_sub(self.partial.len());
        self.partial.extend_from_slice(take(input, missing));
    }
}

/// Cuts up to `len` bytes off the front of `input`.
#[inline]
fn take<'i>(input: &mut &'i mut [u8], len: usize) -> &'i mut [u8] {
    let whole = std::mem::take(input);
    let (taken, rest) = whole.split_at_mut(len.min(whole.len()));
    *input = rest;
    taken
}

/// A SESSION KEEPALIVE packet (RFC 1002 4.3.6). Samba sends it every `keepalive`
/// seconds in CIFS, 300 by default, also on port 445. It needs no answer.
const KEEPALIVE: [u8; PREFIX_LEN] = [0x85, 0, 0, 0];

/// Returns the length of what is no message: a keepalive packet is an empty frame.
#[cold]
fn other_len(prefix: [u8; PREFIX_LEN]) -> Result<Option<usize>, FrameError> {
    match prefix {
        KEEPALIVE => Ok(Some(0)),
        [kind, ..] => Err(FrameError::Type(kind)),
    }
}

#[inline]
fn frame_len(bytes: &[u8]) -> Result<Option<usize>, FrameError> {
    let Some(&[kind, a, b, c]) = bytes.first_chunk::<PREFIX_LEN>() else {
        return Ok(None);
    };
    if kind != 0 {
        return other_len([kind, a, b, c]);
    }
    let len = u32::from_be_bytes([0, a, b, c]) as usize;
    if len > MAX_FRAME_LEN {
        return Err(FrameError::TooLong(len));
    }
    Ok(Some(len))
}

/// Returns whether the payload after this fixed part can be discarded.
///
/// A signed message must be kept, because the signature covers the payload. A
/// compound must be kept, because a second answer follows. An encrypted message
/// starts with another protocol id, so its header does not decode.
#[inline]
fn discardable(fixed: &[u8]) -> bool {
    if fixed.first_chunk() == Some(&CIFS_PROTOCOL_ID) {
        return is_plain_read(fixed);
    }
    Header::decode(fixed).is_ok_and(|header| {
        header.command == Command::Read
            && header.status == NtStatus::SUCCESS
            && header.next_command == 0
            && header.flags.contains(Flags::RESPONSE)
            && !header.flags.contains(Flags::SIGNED)
    })
}

/// The four bytes at the start of every CIFS message (MS-CIFS 2.2.3.1).
const CIFS_PROTOCOL_ID: [u8; 4] = *b"\xFFSMB";
/// Command READ_ANDX with STATUS_SUCCESS (MS-CIFS 2.2.4.42.2).
const CIFS_READ: [u8; 5] = [0x2E, 0, 0, 0, 0];
/// SMB_FLAGS_REPLY, SMB_FLAGS2_SMB_SECURITY_SIGNATURE, and no further command.
const CIFS_REPLY: u8 = 0x80;
const CIFS_SIGNED: u8 = 0x04;
const CIFS_NO_ANDX: u8 = 0xFF;

/// Returns whether these are the first bytes of an unsigned, successful READ_ANDX response.
#[inline]
fn is_plain_read(fixed: &[u8]) -> bool {
    let Some(&head) = fixed.first_chunk::<34>() else {
        return false;
    };
    head[4..9] == CIFS_READ
        && head[9] & CIFS_REPLY != 0
        && head[10] & CIFS_SIGNED == 0
        && head[33] == CIFS_NO_ANDX
}
