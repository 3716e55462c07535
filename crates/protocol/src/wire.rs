//! Checked little-endian reading of hostile bytes.
//!
//! Every decoder in this crate reads through [`Reader`]; none indexes a
//! slice by itself, so a lying length ends in a [`DecodeError`] that names
//! the field and its offset.

use thiserror::Error;

/// A message that does not follow MS-SMB2.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("malformed {what} at byte {offset} of the message")]
pub struct DecodeError {
    /// The field or structure that could not be read.
    pub what: &'static str,
    /// Offset of the field at fault from the start of the decoded slice, at
    /// most the slice's length.
    pub offset: usize,
}

/// A cursor over received bytes.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Starts `at` bytes into `bytes`; offsets in errors count from byte 0.
    pub(crate) const fn at(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// An error at the cursor, or at the end when the bytes stop before it.
    pub(crate) fn error(&self, what: &'static str) -> DecodeError {
        DecodeError {
            what,
            offset: self.at.min(self.bytes.len()),
        }
    }

    pub(crate) fn array<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], DecodeError> {
        let field = self
            .bytes
            .get(self.at..)
            .and_then(<[u8]>::first_chunk::<N>)
            .ok_or(self.error(what))?;
        self.at += N;
        Ok(*field)
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        self.array(what).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// The fixed StructureSize that opens every SMB2 body.
    pub(crate) fn structure_size(
        &mut self,
        expected: u16,
        what: &'static str,
    ) -> Result<(), DecodeError> {
        let start = *self;
        if self.u16(what)? == expected {
            Ok(())
        } else {
            Err(start.error(what))
        }
    }

    /// The `len` bytes at `offset` of the whole message, as SMB2 offset/length
    /// pairs address them. An error points at the cursor, so call this on a
    /// copy of the reader made before the pair was read.
    pub(crate) fn slice(
        &self,
        offset: usize,
        len: usize,
        what: &'static str,
    ) -> Result<&'a [u8], DecodeError> {
        offset
            .checked_add(len)
            .and_then(|end| self.bytes.get(offset..end))
            .ok_or(self.error(what))
    }
}
