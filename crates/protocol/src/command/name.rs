//! Names as SMB2 sends them: UTF-16, little-endian, with a length that fits its
//! field (MS-SMB2 2.1, "Unicode").
//!
//! Invariant: any request that takes a [`WireName`] can encode it. All errors
//! occur when the name is made.

use std::fmt;

use super::EncodeError;

/// A path below the share, a file name or a search pattern. It is encoded once
/// and can be sent many times. It has at most 32,767 UTF-16 units.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct WireName(Vec<u8>);

impl WireName {
    /// Encodes `name`. Paths have `\` between their parts and none in front.
    ///
    /// # Errors
    /// Returns an error if the name is too long for its length field.
    pub fn new(name: &str) -> Result<Self, EncodeError> {
        let mut new = Self(Vec::with_capacity(2 * name.len()));
        new.set(name)?;
        Ok(new)
    }

    /// Makes the pattern `*`, which matches every name.
    #[must_use]
    pub fn every() -> Self {
        Self(vec![b'*', 0])
    }

    /// Replaces the name. The memory is reused if it is large enough.
    ///
    /// # Errors
    /// Returns an error if the name is too long for its length field. The old
    /// name is kept then.
    pub fn set(&mut self, name: &str) -> Result<(), EncodeError> {
        wire_len(name)?;
        self.0.clear();
        write(name, &mut self.0);
        Ok(())
    }

    /// Replaces the name with the concatenation of `parts`. The memory is
    /// reused if it is large enough.
    ///
    /// # Errors
    /// Returns an error if the parts are too long for the length field. The old
    /// name is kept then.
    pub fn set_joined<'a>(
        &mut self,
        parts: impl IntoIterator<Item = &'a Self, IntoIter: Clone>,
    ) -> Result<(), EncodeError> {
        let parts = parts.into_iter();
        let len = parts.clone().map(|part| part.0.len()).sum();
        EncodeError::fit::<u16>("file name", len)?;
        self.0.clear();
        for part in parts {
            self.0.extend_from_slice(&part.0);
        }
        Ok(())
    }

    /// Appends a name in this directory.
    ///
    /// # Errors
    /// Returns an error if both are too long for the length field. The old name is
    /// kept then.
    pub fn append_below(&mut self, name: &Self) -> Result<(), EncodeError> {
        const BACKSLASH: [u8; 2] = [b'\\', 0];
        let between = if self.0.is_empty() || self.0.ends_with(&BACKSLASH) {
            &[][..]
        } else {
            &BACKSLASH
        };
        let len = self.0.len() + between.len() + name.0.len();
        EncodeError::fit::<u16>("file name", len)?;
        self.0.extend_from_slice(between);
        self.0.extend_from_slice(&name.0);
        Ok(())
    }

    /// Appends a part of a name as a server wrote it.
    ///
    /// # Errors
    /// Returns an error if both are too long for the length field. The old name is
    /// kept then.
    pub fn append_raw(&mut self, part: &[u8]) -> Result<(), EncodeError> {
        EncodeError::fit::<u16>("file name", self.0.len() + part.len())?;
        self.0.extend_from_slice(part);
        Ok(())
    }

    /// Shortens the name to its first `len` bytes on the wire.
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Returns the name as it lies on the wire.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the length of the name in bytes.
    pub(crate) fn wire_len(&self) -> u16 {
        // The cast is safe, because `set` has checked the length.
        self.0.len() as u16
    }
}

/// Appends text. Fails if the name gets too long for its length field; the part that fits may
/// be appended then.
impl fmt::Write for WireName {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|char| self.write_char(char))
    }

    #[inline]
    fn write_char(&mut self, char: char) -> fmt::Result {
        if self.0.len() + 2 * char.len_utf16() > usize::from(u16::MAX) {
            return Err(fmt::Error);
        }
        for unit in char.encode_utf16(&mut [0; 2]) {
            self.0.extend_from_slice(&unit.to_le_bytes());
        }
        Ok(())
    }
}

impl fmt::Display for WireName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&decode(&self.0))
    }
}

impl fmt::Debug for WireName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WireName({:?})", decode(&self.0))
    }
}

/// Returns the number of bytes that `name` takes on the wire.
pub(super) fn wire_len(name: &str) -> Result<u16, EncodeError> {
    EncodeError::fit("file name", name.encode_utf16().count() * 2)
}

/// Appends `name` as it lies on the wire.
pub(super) fn write(name: &str, out: &mut Vec<u8>) {
    for unit in name.encode_utf16() {
        out.extend_from_slice(&unit.to_le_bytes());
    }
}

/// Decodes a received name. Invalid UTF-16 becomes replacement characters, and
/// an odd last byte is dropped.
pub(crate) fn decode(bytes: &[u8]) -> String {
    let units = bytes
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    char::decode_utf16(units)
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    #[test]
    fn a_name_is_utf_16_and_comes_back() {
        let mut name = WireName::new(r"a\é").unwrap();
        assert_eq!(name.as_bytes(), [b'a', 0, b'\\', 0, 0xE9, 0]);
        assert_eq!(name.to_string(), r"a\é");
        name.set("𝄞").unwrap();
        assert_eq!(name.as_bytes(), [0x34, 0xD8, 0x1E, 0xDD]);
        assert_eq!(format!("{name:?}"), "WireName(\"𝄞\")");
    }

    #[test]
    fn a_name_too_long_leaves_the_old_one() {
        let mut name = WireName::new(&"n".repeat(32_767)).unwrap();
        let before = name.clone();
        for long in ["n".repeat(32_768), "𝄞".repeat(16_384)] {
            let error = name.set(&long).unwrap_err();
            assert_eq!((error.what, error.len), ("file name", 65_536));
            assert_eq!(WireName::new(&long), Err(error));
        }
        assert_eq!(name, before);
    }

    #[test]
    fn a_new_name_takes_the_memory_of_the_old() {
        let mut name = WireName::new("one name").unwrap();
        let before = name.as_bytes().as_ptr();
        name.set("another").unwrap();
        assert_eq!(name.as_bytes().as_ptr(), before);
    }

    #[test]
    fn a_name_is_appended_below_its_directory() {
        for (directory, path) in [("", "é"), ("a", r"a\é"), (r"a\", r"a\é")] {
            let mut name = WireName::new(directory).unwrap();
            name.append_below(&WireName::new("é").unwrap()).unwrap();
            assert_eq!(name.to_string(), path);
        }
        let mut long = WireName::new(&"n".repeat(32_766)).unwrap();
        let before = long.clone();
        assert!(long.append_below(&WireName::new("é").unwrap()).is_err());
        assert_eq!(long, before);
    }

    #[test]
    fn parts_make_one_name_unless_it_is_too_long() {
        let part = |text: &str| WireName::new(text).unwrap();
        let mut name = WireName::default();
        name.set_joined(&[part(r"a\"), part("é"), part("")])
            .unwrap();
        assert_eq!(name, part(r"a\é"));
        let half = part(&"n".repeat(16_384));
        let error = name.set_joined([&half, &half]).unwrap_err();
        assert_eq!((error.what, error.len), ("file name", 65_536));
        assert_eq!(name, part(r"a\é"));
    }

    #[test]
    fn what_is_no_text_is_replaced() {
        assert_eq!(decode(&[0x41, 0, 0x34, 0xD8, 0x42, 0, 0x43]), "A\u{FFFD}B");
    }

    #[test]
    fn text_is_appended_and_cut_again() {
        let mut name = WireName::new(r"a\b").unwrap();
        let stem = name.as_bytes().len();
        for end in ["1.dat", "é𝄞", ""] {
            name.truncate(stem);
            name.write_str(end).unwrap();
            assert_eq!(name, WireName::new(&format!(r"a\b{end}")).unwrap());
        }
        let longest = "n".repeat(32_767);
        assert!(name.write_str(&longest).is_err());
        assert_eq!(name.as_bytes().len(), 65_534);
        assert_eq!(name.write_char('n'), Err(fmt::Error));
    }
}
