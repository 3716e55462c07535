//! Encoding of messages to send: framing, and signing or encryption.

use super::SessionTerms;
use crate::crypto::{Signer, TRANSFORM_HEADER_LEN, Transform};
use crate::frame::PREFIX_LEN;
use crate::header::Header;

/// The protection of a session's messages.
#[derive(Debug)]
pub(crate) enum Protection {
    None,
    Signed(Signer),
    Encrypted(Transform),
    /// The session is being set up. Each request is protected as its step
    /// requires, and the set-up code checks the answers.
    Opening(Box<Keys>),
}

/// The keys of a session that is being set up, and the protection in use.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    pub(crate) signer: Option<Signer>,
    pub(crate) transform: Option<Transform>,
    pub(crate) shield: MessageProtection,
}

/// The protection of one message of a session that is being set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MessageProtection {
    #[default]
    None,
    Signature,
    Encryption,
}

/// The protection of one message to send, with its key.
pub(crate) enum Protect<'a> {
    Not,
    Sign(&'a Signer),
    Encrypt(&'a mut Transform),
}

impl Protection {
    #[inline]
    pub(super) fn next(&mut self) -> Protect<'_> {
        match self {
            Self::None => Protect::Not,
            Self::Signed(signer) => Protect::Sign(signer),
            Self::Encrypted(transform) => Protect::Encrypt(transform),
            Self::Opening(keys) => keys.next(),
        }
    }

    /// Returns whether the session is being set up, so that the set-up code
    /// checks its answers.
    #[inline]
    pub(super) const fn is_opening(&self) -> bool {
        matches!(self, Self::Opening(_))
    }

    /// Returns the keys that decrypt the session's messages, if there are any.
    #[inline]
    pub(super) fn transform(&self) -> Option<&Transform> {
        match self {
            Self::Encrypted(transform) => Some(transform),
            // A share may require encryption from its TREE_CONNECT on.
            Self::Opening(keys) => keys.transform.as_ref(),
            Self::None | Self::Signed(_) => None,
        }
    }

    /// Returns the protection after the set-up. In an unsigned session it also
    /// returns the key for the few messages that must be signed.
    #[inline]
    pub(super) fn settled(self, terms: &SessionTerms) -> (Self, Option<Signer>) {
        let Self::Opening(keys) = self else {
            return (self, None);
        };
        match (keys.transform, keys.signer) {
            (Some(transform), _) if terms.encryption.is_some() => {
                (Self::Encrypted(transform), None)
            }
            (_, Some(signer)) if terms.signing.is_some() => (Self::Signed(signer), None),
            (_, signer) => (Self::None, signer),
        }
    }
}

impl Keys {
    #[inline]
    fn next(&mut self) -> Protect<'_> {
        match (self.shield, &self.signer, &mut self.transform) {
            (MessageProtection::Signature, Some(signer), _) => Protect::Sign(signer),
            (MessageProtection::Encryption, _, Some(transform)) => Protect::Encrypt(transform),
            _ => Protect::Not,
        }
    }
}

/// Appends prefix, header and body of one message, and signs or encrypts it.
#[inline]
pub(crate) fn append_framed(
    header: &Header,
    out: &mut Vec<u8>,
    protect: Protect<'_>,
    body: impl FnOnce(&mut Vec<u8>),
) {
    let prefix = out.len();
    begin_frame(out, &protect);
    let message = out.len();
    header.encode(out);
    body(out);
    if let Protect::Sign(signer) = protect {
        signer.sign(&mut out[message..]);
    }
    end_frame(out, prefix, protect);
}

/// Leaves space for the prefix and the transform header of a frame.
#[inline]
pub(super) fn begin_frame(out: &mut Vec<u8>, protect: &Protect<'_>) {
    let room = match protect {
        Protect::Encrypt(_) => PREFIX_LEN + TRANSFORM_HEADER_LEN,
        _ => PREFIX_LEN,
    };
    out.resize(out.len() + room, 0);
}

/// Completes the frame that begins at `prefix`: sets its length, and encrypts
/// it if required.
#[inline]
pub(super) fn end_frame(out: &mut [u8], prefix: usize, protect: Protect<'_>) {
    let frame = prefix + PREFIX_LEN;
    let len = (out.len() - frame) as u32;
    out[prefix..frame].copy_from_slice(&len.to_be_bytes());
    if let Protect::Encrypt(transform) = protect {
        transform.seal(&mut out[frame..]);
    }
}
