//! Reads the big-endian files of MIT Kerberos. Their content is untrusted.

use super::principal::Principal;

/// Error for a file that is damaged, or is not a keytab or credential cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {offset}")]
pub struct MalformedFile {
    pub(super) what: &'static str,
    pub(super) offset: usize,
}

/// A cursor over a file or over one record of it.
#[derive(Clone, Copy)]
pub(super) struct FileReader<'a> {
    bytes: &'a [u8],
    /// Offset of `bytes` in the file.
    offset: usize,
}

impl<'a> FileReader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    pub(super) const fn error(&self, what: &'static str) -> MalformedFile {
        MalformedFile {
            what,
            offset: self.offset,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn take(
        &mut self,
        len: usize,
        what: &'static str,
    ) -> Result<&'a [u8], MalformedFile> {
        let error = self.error(what);
        let (taken, rest) = self.bytes.split_at_checked(len).ok_or(error)?;
        self.bytes = rest;
        self.offset += len;
        Ok(taken)
    }

    /// Returns a reader over the next `len` bytes as a separate record.
    pub(super) fn record(&mut self, len: usize, what: &'static str) -> Result<Self, MalformedFile> {
        let offset = self.offset;
        let bytes = self.take(len, what)?;
        Ok(Self { bytes, offset })
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], MalformedFile> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self, what: &'static str) -> Result<u8, MalformedFile> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self, what: &'static str) -> Result<u16, MalformedFile> {
        self.array(what).map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, MalformedFile> {
        self.array(what).map(u32::from_be_bytes)
    }

    /// Reads bytes that follow their 16-bit length.
    pub(super) fn counted16(&mut self, what: &'static str) -> Result<&'a [u8], MalformedFile> {
        let len = self.u16(what)?;
        self.take(len.into(), what)
    }

    /// Reads bytes that follow their 32-bit length.
    pub(super) fn counted32(&mut self, what: &'static str) -> Result<&'a [u8], MalformedFile> {
        let len = self.u32(what)?;
        self.take(len as usize, what)
    }

    /// Reads a principal of `count` components. `counted` reads each text.
    pub(super) fn principal(
        &mut self,
        kind: i64,
        count: usize,
        counted: fn(&mut Self, &'static str) -> Result<&'a [u8], MalformedFile>,
    ) -> Result<Principal, MalformedFile> {
        const WHAT: &str = "malformed principal";
        let error = self.error(WHAT);
        let mut text = || {
            let bytes = counted(self, WHAT)?;
            String::from_utf8(bytes.to_vec()).map_err(|_| error)
        };
        let realm = text()?;
        // The file states `count`, so no memory is reserved by it.
        let mut components = Vec::new();
        for _ in 0..count {
            components.push(text()?);
        }
        Ok(Principal::new(kind, realm, components))
    }
}
