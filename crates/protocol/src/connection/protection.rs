//! Messages as they leave: framed, and signed or encrypted.

use std::convert::Infallible;

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
    let Ok(()) = try_append_framed(header, out, protect, |out| {
        body(out);
        Ok::<_, Infallible>(())
    });
}

/// The same with a body that may turn out impossible; `out` then ends
/// somewhere in the message.
pub(super) fn try_append_framed<E>(
    header: &Header,
    out: &mut Vec<u8>,
    protect: Protect<'_>,
    body: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let prefix = out.len();
    begin_frame(out, &protect);
    let message = out.len();
    header.encode(out);
    body(out)?;
    if let Protect::Sign(signer) = protect {
        signer.sign(&mut out[message..]);
    }
    end_frame(out, prefix, protect);
    Ok(())
}

/// Leaves room for what goes before the messages of a frame.
pub(super) fn begin_frame(out: &mut Vec<u8>, protect: &Protect<'_>) {
    let room = match protect {
        Protect::Encrypt(_) => PREFIX_LEN + TRANSFORM_HEADER_LEN,
        _ => PREFIX_LEN,
    };
    out.resize(out.len() + room, 0);
}

/// Completes the frame that begins at `prefix`: states its length, and
/// encrypts it where that is due.
pub(super) fn end_frame(out: &mut [u8], prefix: usize, protect: Protect<'_>) {
    let frame = prefix + PREFIX_LEN;
    let len = (out.len() - frame) as u32;
    out[prefix..frame].copy_from_slice(&len.to_be_bytes());
    if let Protect::Encrypt(transform) = protect {
        transform.seal(&mut out[frame..]);
    }
}
