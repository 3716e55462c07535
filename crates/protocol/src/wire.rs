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
#[derive(Clone, Copy, Debug)]
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
    #[cold]
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
            .ok_or_else(|| self.error(what))?;
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

    /// A copy `len` bytes further on.
    pub(crate) const fn ahead(mut self, len: usize) -> Self {
        self.at = self.at.saturating_add(len);
        self
    }

    /// The next `len` bytes as they are.
    pub(crate) fn bytes(
        &mut self,
        len: usize,
        what: &'static str,
    ) -> Result<&'a [u8], DecodeError> {
        let field = self.slice(self.at, len, what)?;
        self.at += len;
        Ok(field)
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
            .ok_or_else(|| self.error(what))
    }
}

/// Entries of any length, of which each begins with how far the next one is
/// (MS-FSCC 2.4, NextEntryOffset), zero for the last.
///
/// Invariant: entries do not overlap, so that no message holds more than fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linked<'a> {
    bytes: &'a [u8],
    next: Option<usize>,
}

impl<'a> Linked<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        let next = if bytes.is_empty() { None } else { Some(0) };
        Self { bytes, next }
    }

    /// The next entry as `read` makes it of a reader at its start; `read` says
    /// how long the entry is, too. There is none after an error.
    pub(crate) fn next_entry<T>(
        &mut self,
        read: impl FnOnce(Reader<'a>) -> Result<(T, usize), DecodeError>,
    ) -> Option<Result<T, DecodeError>> {
        let at = self.next.take()?;
        Some(self.entry(at, read))
    }

    fn entry<T>(
        &mut self,
        at: usize,
        read: impl FnOnce(Reader<'a>) -> Result<(T, usize), DecodeError>,
    ) -> Result<T, DecodeError> {
        let start = Reader::at(self.bytes, at);
        let mut reader = start;
        let next = reader.u32("next entry offset")? as usize;
        let (entry, len) = read(start)?;
        if next != 0 {
            let after = at.saturating_add(next);
            if next < len || after >= self.bytes.len() {
                return Err(start.error("next entry offset"));
            }
            self.next = Some(after);
        }
        Ok(entry)
    }
}
