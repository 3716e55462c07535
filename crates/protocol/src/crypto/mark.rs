//! The mark that requests have after their session has lost a channel: the channel sequence,
//! and whether they are replays (MS-SMB2 3.2.4.1.6, 3.2.7.1).
//!
//! It is written where a message is signed or encrypted, so that sessions with all of their
//! channels do nothing for it.

use std::mem;

use super::signing::{Mac, Signer};
use crate::header::{Flags, HEADER_LEN};

/// The position of ChannelSequence in the header of a request.
const SEQUENCE: std::ops::Range<usize> = 8..10;
/// The position of Flags in a header.
const FLAGS: std::ops::Range<usize> = 16..20;
/// The position of NextCommand in a header.
const NEXT_COMMAND: std::ops::Range<usize> = 20..24;

/// Whether a request is sent for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repetition {
    /// The request is new, or changes nothing.
    #[default]
    First,
    /// The request was sent on a channel that is lost, and had no answer.
    Replay,
}

/// The mark of a session's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChannelMark {
    /// Number of channels that the session has lost.
    pub(crate) sequence: u16,
    pub(crate) repetition: Repetition,
}

impl ChannelMark {
    /// Marks a request.
    fn write(self, message: &mut [u8]) {
        message[SEQUENCE].copy_from_slice(&self.sequence.to_le_bytes());
        if self.repetition == Repetition::Replay {
            for (byte, bits) in message[FLAGS].iter_mut().zip(Flags::REPLAY.0.to_le_bytes()) {
                *byte |= bits;
            }
        }
    }

    /// Marks all requests of a frame.
    #[cold]
    #[inline(never)]
    pub(super) fn write_all(self, mut frame: &mut [u8]) {
        while frame.len() >= HEADER_LEN {
            self.write(frame);
            let mut next = [0; 4];
            next.copy_from_slice(&frame[NEXT_COMMAND]);
            let next = u32::from_le_bytes(next) as usize;
            if next == 0 || next > frame.len() {
                return;
            }
            frame = &mut frame[next..];
        }
    }
}

/// Marks requests, and signs them if the session signs its messages.
pub(super) struct MarkedMac {
    pub(super) mark: ChannelMark,
    /// `None` in a session that signs nothing but what has to be.
    mac: Option<Mac>,
    /// Signs what has to be signed in such a session.
    pub(super) due: Option<Signer>,
}

impl MarkedMac {
    /// Returns the signature. A message to send is marked first; it has lost the flag of a
    /// signature afterwards if it needs none.
    #[cold]
    #[inline(never)]
    pub(super) fn mac_of(&self, message: &mut [u8]) -> [u8; 16] {
        let flags = message[FLAGS.start];
        let is_received = flags & Flags::RESPONSE.0 as u8 != 0;
        if !is_received {
            self.mark.write(message);
        }
        match (&self.mac, &self.due) {
            (Some(mac), _) => mac.of(message),
            (None, Some(due)) if is_received && flags & Flags::SIGNED.0 as u8 != 0 => {
                due.mac_of(message)
            }
            (None, _) => {
                if !is_received {
                    message[FLAGS.start] &= !(Flags::SIGNED.0 as u8);
                }
                // That of a message without a signature.
                [0; 16]
            }
        }
    }
}

impl Signer {
    /// Makes a signer that only marks requests. `due` signs what has to be signed.
    pub(crate) fn marking(due: Option<Self>) -> Self {
        Self::of(Mac::Marked(Box::new(MarkedMac {
            mark: ChannelMark::default(),
            mac: None,
            due,
        })))
    }

    /// Returns the mark of requests, which they have from here on.
    pub(crate) fn mark_mut(&mut self) -> &mut ChannelMark {
        if !matches!(self.mac, Mac::Marked(_)) {
            let mac = mem::replace(&mut self.mac, Self::marking(None).mac);
            if let Mac::Marked(marked) = &mut self.mac {
                marked.mac = Some(mac);
            }
        }
        match &mut self.mac {
            Mac::Marked(marked) => &mut marked.mark,
            _ => unreachable!("it was just put there"),
        }
    }

    /// Returns the signer of what has to be signed, if this one signs nothing.
    pub(crate) fn due(&self) -> Option<&Self> {
        match &self.mac {
            Mac::Marked(marked) => marked.due.as_ref(),
            _ => None,
        }
    }
}
