//! Bodies of the commands of CIFS.
//!
//! A request's `encode` appends the body to a header that the caller has
//! already written. Offsets inside bodies count from the start of that header.
//!
//! A request must fit the server's MaxBufferSize (MS-CIFS 2.2.4.52.2), which is at
//! most 65,535 bytes. Its encoder does not check this, because the limit holds for
//! every command. A longer message has wrong lengths, and is not to be sent.

pub mod find;
pub mod information;
pub mod names;
pub mod nt_transact;
pub mod transaction;

use crate::command::WireName;

/// Length of a header in bytes (MS-CIFS 2.2.3.1).
const HEADER_LEN: usize = 32;

/// Fills in the ByteCount at `at`, which counts everything behind it.
#[inline]
fn close_body(out: &mut [u8], at: usize) {
    let byte_count = (out.len() - at - 2) as u16;
    out[at..at + 2].copy_from_slice(&byte_count.to_le_bytes());
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
