//! Cuts the TCP byte stream into messages (MS-SMB2 2.1, direct TCP: four bytes
//! of big-endian length before each message).
//!
//! Whole frames are borrowed from the caller's receive buffer. Only an
//! incomplete frame is kept here between receives. The payload of a READ
//! response is not kept if the caller discards it: the module only counts its
//! bytes as they arrive. So a waiting session costs the memory of one header.

mod inbound;

use thiserror::Error;

use crate::crypto::{TRANSFORM_PROTOCOL_ID, Transform};
use crate::header::PROTOCOL_ID;
use crate::wire::DecodeError;

pub use inbound::Inbound;

/// Length of the prefix of each message on direct TCP, in bytes.
pub const PREFIX_LEN: usize = 4;
/// The largest frame accepted: 8 MiB of payload, the most that any SMB server
/// negotiates, and its headers.
pub const MAX_FRAME_LEN: usize = 8 * 1024 * 1024 + 1024;

/// The treatment of payloads of successful READ responses that are neither
/// signed nor encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Payloads are handed out.
    Keep,
    /// Payloads are dropped as they arrive.
    Discard,
}

/// Error for a frame that cannot be SMB2 over direct TCP.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum FrameError {
    /// The first byte is this value, but must be zero.
    #[error("a frame of type 0x{0:02x}, which is not SMB over TCP")]
    Type(u8),
    /// The frame has this many bytes, more than [`MAX_FRAME_LEN`].
    #[error("a frame of {0} bytes, more than any SMB message may have")]
    TooLong(usize),
}

/// One received frame. It lies in the caller's buffer or in this module's, and
/// may be decrypted in place.
#[derive(Debug)]
pub struct Frame<'a> {
    bytes: &'a mut [u8],
    total_len: usize,
}

/// Whether a message was received encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrecy {
    /// The message was not encrypted.
    Plain,
    /// The message was encrypted, and its tag was right.
    Encrypted {
        /// Id of the session whose server encrypted the message.
        session_id: u64,
    },
}

/// The messages of a frame. A compound has several.
#[derive(Debug)]
pub struct Messages<'a> {
    rest: &'a mut [u8],
    total_len: usize,
    secrecy: Secrecy,
}

/// One message of a frame.
#[derive(Debug)]
pub struct Message<'a> {
    /// Header and body, without the payload if that was discarded.
    pub bytes: &'a mut [u8],
    /// Bytes received, including a discarded payload, without the overhead of
    /// encryption.
    pub total_len: usize,
    /// Whether the message was encrypted.
    pub secrecy: Secrecy,
}

impl<'a> Frame<'a> {
    /// Returns the messages inside, decrypted if they were encrypted. `key_of`
    /// finds the keys of a session by its id.
    ///
    /// # Errors
    /// Returns an error if the frame is encrypted and cannot be decrypted.
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

    /// Returns the frame as one message, as CIFS has it.
    #[must_use]
    #[inline]
    pub fn into_message(self) -> Message<'a> {
        Message {
            bytes: self.bytes,
            total_len: self.total_len,
            secrecy: Secrecy::Plain,
        }
    }

    #[inline]
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

/// Error for an encrypted frame that is of another session, or was not sent by
/// this session's server.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("an encrypted message that does not decrypt")]
pub struct Undecipherable;

impl<'a> Messages<'a> {
    /// Returns the next message of the frame, or `None` after the last.
    ///
    /// # Errors
    /// Returns an error if NextCommand is not a multiple of 8 or points outside
    /// the frame. A message with a NextCommand must also start with the SMB2
    /// protocol id.
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

    /// Splits the first message of a compound from the rest.
    #[inline]
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

#[inline]
const fn bad_next_command() -> DecodeError {
    DecodeError {
        what: "next command offset",
        offset: 20,
    }
}

#[inline]
fn next_command(message: &[u8]) -> usize {
    message
        .get(20..24)
        .and_then(|field| field.first_chunk::<4>())
        .map_or(0, |field| u32::from_le_bytes(*field) as usize)
}

#[cfg(test)]
mod tests;
