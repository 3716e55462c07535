//! Bodies of CIFS commands, one file per command, written by hand.
//!
//! A request's `encode` appends WordCount, words, ByteCount and bytes to a header that the
//! caller has already written. Offsets count from the start of that header, and Unicode
//! strings begin at an even one. A response's `decode` takes the whole message.

pub mod close;
pub mod create;
pub mod find;
pub mod information;
pub mod lock;
pub mod names;
pub mod nt_transact;
pub mod read;
pub mod session;
pub mod transaction;
pub mod tree;
pub mod write;

use super::header::CIFS_HEADER_LEN;
use crate::command::WireName;
use crate::wire::{DecodeError, Reader};

/// An open file or directory of a connection (FID).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileNumber(pub u16);

impl Default for FileNumber {
    /// Returns the number that no open has.
    fn default() -> Self {
        Self(0xFFFF)
    }
}

/// AndXCommand of a message that has no further command in it.
pub(crate) const NO_ANDX: u8 = 0xFF;

/// The two parts of a response's body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CifsBody<'a> {
    /// Reads the words.
    pub(crate) words: Reader<'a>,
    /// Number of words.
    pub(crate) word_count: usize,
    /// Reads the bytes, with offsets from the start of the message.
    pub(crate) bytes: Reader<'a>,
}

/// Reads WordCount and ByteCount. `words_min` is the smallest number of words that the
/// response may have.
#[inline]
pub(crate) fn body<'a>(
    message: &'a [u8],
    words_min: usize,
    what: &'static str,
) -> Result<CifsBody<'a>, DecodeError> {
    let mut reader = Reader::at(message, CIFS_HEADER_LEN);
    let before_count = reader;
    let word_count = usize::from(reader.u8(what)?);
    if word_count < words_min {
        return Err(before_count.error(what));
    }
    let words = reader;
    let mut bytes = reader.ahead(2 * word_count);
    bytes.u16(what)?;
    Ok(CifsBody {
        words,
        word_count,
        bytes,
    })
}

/// Checks a response without words and bytes. Some servers add bytes, which mean nothing.
///
/// # Errors
/// If the body is cut off.
pub fn decode_empty(message: &[u8]) -> Result<(), DecodeError> {
    body(message, 0, "empty CIFS response").map(|_| ())
}

/// Appends a body without words and bytes.
#[inline]
pub fn encode_empty(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0; 3]);
}

/// Appends a body of words and no bytes.
#[inline]
pub(crate) fn encode_words<const N: usize>(words: &[u8; N], out: &mut Vec<u8>) {
    out.push((N / 2) as u8);
    out.extend_from_slice(words);
    out.extend_from_slice(&[0; 2]);
}

/// Appends a path with `\` in front and a null at its end. A [`WireName`] has
/// none in front, but some servers of CIFS need it.
#[inline]
fn write_path(path: &WireName, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'\\', 0]);
    write_name(path.as_bytes(), out);
}

/// Appends a name in UTF-16 with a null at its end.
#[inline]
fn write_name(name: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(name);
    out.extend_from_slice(&[0, 0]);
}

/// Fills in the ByteCount at `at`, which counts everything behind it.
#[inline]
fn close_body(out: &mut [u8], at: usize) {
    let byte_count = (out.len() - at - 2) as u16;
    out[at..at + 2].copy_from_slice(&byte_count.to_le_bytes());
}

/// Pads the message that begins at `start` to a multiple of `unit` bytes.
#[inline]
pub(crate) fn align(unit: usize, start: usize, out: &mut Vec<u8>) {
    let len = (out.len() - start).next_multiple_of(unit);
    out.resize(start + len, 0);
}

/// Appends the bytes that `bytes` writes, with their ByteCount in front. A count of more
/// than 65,535 is truncated, as clients of large WRITEs do it.
#[inline]
pub(crate) fn push_bytes(out: &mut Vec<u8>, bytes: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 2]);
    bytes(out);
    close_body(out, at);
}
