//! CLOSE, FLUSH, ECHO: requests of a few words (MS-CIFS 2.2.4.5, 2.2.4.6, 2.2.4.39).

use super::{FileNumber, encode_words, push_bytes};

/// Appends the body of a CLOSE. The server sets the time of the last write.
#[inline]
pub fn encode_close(file: FileNumber, out: &mut Vec<u8>) {
    let [low, high] = file.0.to_le_bytes();
    encode_words(&[low, high, 0xFF, 0xFF, 0xFF, 0xFF], out);
}

/// Appends the body of a FLUSH.
#[inline]
pub fn encode_flush(file: FileNumber, out: &mut Vec<u8>) {
    encode_words(&file.0.to_le_bytes(), out);
}

/// Appends the body of an ECHO that asks for one answer.
pub fn encode_echo(out: &mut Vec<u8>) {
    out.extend_from_slice(&[1, 1, 0]);
    // Some servers answer only if there is a byte to echo.
    push_bytes(out, |out| out.push(0));
}
