//! Little-endian fields of messages that may be cut: a field that is not there is
//! `None`.

/// Reads fields at fixed places of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn array<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..)?.first_chunk().copied()
    }

    pub(crate) fn u8(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    pub(crate) fn u16(self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }

    /// Returns a part of the message, if all of it is there.
    pub(crate) fn slice(self, offset: usize, len: usize) -> Option<&'a [u8]> {
        self.0.get(offset..offset.checked_add(len)?)
    }

    /// Returns the part whose offset and length, of 16 bits each, lie at these places.
    pub(crate) fn part(self, offset_at: usize, len_at: usize) -> Option<&'a [u8]> {
        let offset = usize::from(self.u16(offset_at)?);
        self.slice(offset, usize::from(self.u16(len_at)?))
    }
}

/// Returns a text in UTF-16. What is no character becomes U+FFFD.
pub(crate) fn utf16(bytes: &[u8]) -> String {
    let units = bytes
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    char::decode_utf16(units)
        .map(|decoded| decoded.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}
