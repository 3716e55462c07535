//! Messages as they leave: framed, and signed or encrypted.

use crate::crypto::{Signer, TRANSFORM_HEADER_LEN, Transform};
use crate::frame::PREFIX_LEN;
use crate::header::Header;

/// What keeps the messages of a session from being altered or read.
#[derive(Debug)]
pub(crate) enum Protection {
    None,
    Signed(Signer),
    Encrypted(Transform),
}

/// The same for one message to be sent.
pub(crate) enum Protect<'a> {
    Not,
    Sign(&'a Signer),
    Encrypt(&'a mut Transform),
}

impl Protection {
    pub(super) fn next(&mut self) -> Protect<'_> {
        match self {
            Self::None => Protect::Not,
            Self::Signed(signer) => Protect::Sign(signer),
            Self::Encrypted(transform) => Protect::Encrypt(transform),
        }
    }
}

/// Appends prefix, header and body of one message, and signs or encrypts it.
pub(crate) fn append_framed(
    header: &Header,
    out: &mut Vec<u8>,
    protect: Protect<'_>,
    body: impl FnOnce(&mut Vec<u8>),
) {
    let prefix = out.len();
    let frame = prefix + PREFIX_LEN;
    let message = match protect {
        Protect::Encrypt(_) => frame + TRANSFORM_HEADER_LEN,
        _ => frame,
    };
    out.resize(message, 0);
    header.encode(out);
    body(out);
    let len = (out.len() - frame) as u32;
    out[prefix..frame].copy_from_slice(&len.to_be_bytes());
    match protect {
        Protect::Not => {}
        Protect::Sign(signer) => signer.sign(&mut out[message..]),
        Protect::Encrypt(transform) => transform.seal(&mut out[frame..]),
    }
}
