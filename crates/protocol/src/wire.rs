//! Checked little-endian reading of hostile bytes.
//!
//! Every decoder in this crate reads through [`Reader`]; no decoder indexes a
//! slice directly. So a wrong length ends in a [`DecodeError`] that names the
//! field and its offset.

pub use smbench_kerberos::DecodeError;

/// A cursor over received bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    #[inline]
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Starts `at` bytes into `bytes`. Offsets in errors still count from byte 0.
    #[inline]
    pub(crate) const fn at(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// Makes an error at the cursor, or at the end if the bytes stop before the
    /// cursor.
    #[inline(always)]
    pub(crate) fn error(&self, what: &'static str) -> DecodeError {
        DecodeError {
            what,
            offset: self.at.min(self.bytes.len()),
        }
    }

    #[inline(always)]
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

    #[inline(always)]
    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    #[inline(always)]
    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        self.array(what).map(u16::from_le_bytes)
    }

    #[inline(always)]
    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        self.array(what).map(u32::from_le_bytes)
    }

    #[inline(always)]
    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// Returns a copy of the reader that stands `len` bytes further on.
    #[inline]
    pub(crate) const fn ahead(mut self, len: usize) -> Self {
        self.at = self.at.saturating_add(len);
        self
    }

    /// Reads the next `len` bytes as they are.
    #[inline]
    pub(crate) fn bytes(
        &mut self,
        len: usize,
        what: &'static str,
    ) -> Result<&'a [u8], DecodeError> {
        let field = self.slice(self.at, len, what)?;
        self.at += len;
        Ok(field)
    }

    /// Reads the fixed StructureSize at the start of every SMB2 body, and
    /// checks it.
    #[inline(always)]
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

    /// Returns the `len` bytes at `offset` of the whole message, as SMB2
    /// offset/length pairs address them.
    ///
    /// An error points at the cursor. So call this on a copy of the reader that
    /// was made before the pair was read.
    #[inline(always)]
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

/// A list of entries of any length. Each entry begins with the distance to the
/// next one, or zero in the last (MS-FSCC 2.4, NextEntryOffset).
///
/// Invariant: entries do not overlap, so a message cannot hold more entries
/// than its length allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linked<'a> {
    bytes: &'a [u8],
    next: Option<usize>,
}

impl<'a> Linked<'a> {
    #[inline]
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        let next = if bytes.is_empty() { None } else { Some(0) };
        Self { bytes, next }
    }

    /// Returns the next entry, or `None` at the end or after an error. `read` gets
    /// a reader at the entry's start, and returns the entry and its length.
    #[inline]
    pub(crate) fn next_entry<T>(
        &mut self,
        read: impl FnOnce(Reader<'a>) -> Result<(T, usize), DecodeError>,
    ) -> Option<Result<T, DecodeError>> {
        let at = self.next.take()?;
        Some(self.entry(at, read))
    }

    #[inline]
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
            if next < len || after > self.bytes.len() {
                return Err(start.error("next entry offset"));
            }
            // In the last entry Samba's CIFS has its length instead of zero.
            self.next = Some(after).filter(|&after| after < self.bytes.len());
        }
        Ok(entry)
    }
}
