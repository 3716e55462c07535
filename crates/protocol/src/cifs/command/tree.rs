//! TREE_CONNECT_ANDX (MS-CIFS 2.2.4.55).

use super::{CIFS_HEADER_LEN, NO_ANDX, align, body, push_bytes};
use crate::command::WireName;
use crate::upper::upper;
use crate::wire::{DecodeError, Reader};
/// Returns the path of a share in upper case, as Windows sends it. Some servers know their
/// shares in upper case only.
#[must_use]
pub fn share_path(host: &str, share: &str) -> String {
    upper(&format!(r"\\{host}\{share}"))
}

/// Appends the body of a request for a share, as `\\host\share`. Any service is accepted,
/// so that the answer tells what the share is.
pub fn encode_tree_connect(share: &WireName, out: &mut Vec<u8>) {
    let start = out.len() - CIFS_HEADER_LEN;
    // The password of a share, which user-level servers do not have, is one zero.
    out.extend_from_slice(&[4, NO_ANDX, 0, 0, 0, 0, 0, 1, 0]);
    push_bytes(out, |out| {
        out.push(0);
        align(2, start, out);
        out.extend_from_slice(share.as_bytes());
        out.extend_from_slice(b"\0\0?????\0");
    });
}

/// Returns whether the share of the response is a disk.
///
/// # Errors
/// If the body is cut off.
pub fn decode_is_disk(message: &[u8]) -> Result<bool, DecodeError> {
    const WHAT: &str = "TREE_CONNECT_ANDX response";
    let service = body(message, 2, WHAT)?.bytes;
    let mut shortest = service;
    shortest.array::<3>(WHAT)?;
    // A disk is `A:`. But some servers put the share's name here, so only the names of other
    // services count.
    let is = |mut from: Reader<'_>, other: &[u8]| from.bytes(other.len(), WHAT) == Ok(other);
    let others = [&b"IPC\0"[..], b"LPT1:\0", b"COMM\0"];
    Ok(!others.iter().any(|other| is(service, other)))
}
