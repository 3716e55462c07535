//! What the start of a message looks like.

use super::{ConnectionKind, MESSAGE_BYTES_MAX, PREFIX_LEN};

/// Bytes of the pattern that begins a message: the prefix and 20 bytes of the header.
pub(super) const PATTERN_LEN: usize = 24;
/// The protocol ids of SMB (MS-SMB2 2.2.1, 2.2.41, 2.2.42; MS-CIFS 2.2.3.1).
pub(super) const PROTOCOLS: [u8; 4] = [0xfe, 0xff, 0xfd, 0xfc];

/// Returns what the first bytes of a connection are.
pub(super) fn first_kind(first: &[u8]) -> ConnectionKind {
    match *first {
        [] | [0] | [0, _] | [0, _, _] | [0, _, _, _] => ConnectionKind::Unknown,
        // A session request of NetBIOS, its answers, keep-alives.
        [0x81..=0x83 | 0x85, 0, _, ..] => ConnectionKind::Smb,
        [0x81..=0x83 | 0x85] | [0x81..=0x83 | 0x85, _] => ConnectionKind::Unknown,
        [0, _, _, _, ref body @ ..] => {
            let id = &body[..body.len().min(4)];
            let known = PROTOCOLS.iter().any(|first| {
                let id_of = [*first, b'S', b'M', b'B'];
                id_of.starts_with(id)
            });
            match (known, id.len()) {
                (false, _) => ConnectionKind::Foreign,
                (true, 4) => ConnectionKind::Smb,
                (true, _) => ConnectionKind::Unknown,
            }
        }
        _ => ConnectionKind::Foreign,
    }
}

/// Returns whether bytes are the start of a message, by what its header must have.
pub(super) fn is_start(bytes: &[u8]) -> bool {
    let Some(pattern) = bytes.first_chunk::<PATTERN_LEN>() else {
        return false;
    };
    let len = u32::from_be_bytes([0, pattern[1], pattern[2], pattern[3]]) as usize;
    let header = &pattern[PREFIX_LEN..];
    if pattern[0] != 0 || header[1..4] != *b"SMB" || len > MESSAGE_BYTES_MAX {
        return false;
    }
    match header[0] {
        // StructureSize, and one of the 19 commands.
        0xfe => header[4..6] == [64, 0] && header[12] <= 18 && header[13] == 0 && len >= 64,
        0xfd => len >= 52 + 64,
        0xfc => len >= 16,
        0xff => len >= 32,
        _ => false,
    }
}
