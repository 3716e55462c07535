//! The sessions of a connection: the ids that their requests carry, and their
//! protection.
//!
//! A session may have channels on several connections (MS-SMB2 3.2.1.8). They share
//! its id, its tree connect and the encryption keys, but each has its own signing
//! key. A [`Channel`] is the part of a session that belongs to one connection.

use std::fmt;

use super::Negotiated;
use super::protection::{Keys, Protection};
use crate::algorithm::{Cipher, SigningAlgorithm};
use crate::auth::Logon;
use crate::crypto::{KeySource, NONCE_SEED_LEN, Signer, Transform};

/// Identifies a session of a connection. It is valid only on the connection
/// that returned it, and until the session is forgotten there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionIndex(u16);

impl SessionIndex {
    /// The session that the handshake has set up.
    pub const FIRST: Self = Self(0);

    /// Returns the index after `count` other sessions.
    pub(crate) const fn after(count: usize) -> Self {
        // The cast is safe: each session takes a SESSION_SETUP, and memory runs
        // out long before 65,536 of them.
        Self(count as u16)
    }

    pub(crate) const fn at(self) -> usize {
        self.0 as usize
    }
}

/// The result of a session's log-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionTerms {
    /// Algorithm that signs every message. It is `None` if messages are
    /// unsigned, which includes encrypted messages.
    pub signing: Option<SigningAlgorithm>,
    /// Cipher that encrypts every message, or `None` if messages are not encrypted.
    pub encryption: Option<Cipher>,
    /// The kind of log-on that the server accepted.
    pub logon: Logon,
}

impl SessionTerms {
    /// Terms of a session without a log-on, before its terms are known.
    pub(super) const NONE: Self = Self {
        signing: None,
        encryption: None,
        logon: Logon::Anonymous,
    };
}

/// The part of a session that belongs to one connection.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) session_id: u64,
    pub(crate) tree_id: u32,
    pub(crate) protection: Protection,
    pub(crate) terms: SessionTerms,
    /// Key for the few messages that must be signed in an unsigned session.
    pub(crate) signer: Option<Signer>,
    /// The keys for further channels, if there will be any.
    pub(crate) root: Option<Box<Root>>,
}

impl Channel {
    /// Makes a channel of a session that is set up now, or that another
    /// connection has set up.
    pub(crate) fn opening(session_id: u64, tree_id: u32, keys: Keys) -> Self {
        Self {
            session_id,
            tree_id,
            protection: Protection::Opening(Box::new(keys)),
            terms: SessionTerms::NONE,
            signer: None,
            root: None,
        }
    }

    /// Makes an unused channel, in which nothing is sent.
    pub(super) fn vacant() -> Self {
        Self {
            session_id: 0,
            tree_id: 0,
            protection: Protection::None,
            terms: SessionTerms::NONE,
            signer: None,
            root: None,
        }
    }

    /// Returns the data for a further channel. The result is `None` if none was
    /// planned, if the session has no key, or if it has the largest number of
    /// channels.
    pub(super) fn bind(&mut self, negotiated: &Negotiated) -> Option<Binding> {
        let root = self.root.as_mut()?;
        root.channels = root.channels.checked_add(1)?;
        Some(Binding {
            session_id: self.session_id,
            tree_id: self.tree_id,
            terms: self.terms,
            negotiated: *negotiated,
            signer: Signer::new(negotiated.signing_algorithm, &root.signing_key),
            transform: root.transform(self.session_id),
        })
    }
}

/// The keys of a session that its channels share.
pub(crate) struct Root {
    signing_key: [u8; 16],
    cipher: Option<(Cipher, [Vec<u8>; 2])>,
    nonce_seed: [u8; NONCE_SEED_LEN],
    /// Number of the latest channel. No number is used twice, so that no two
    /// channels use the same nonce.
    channels: u8,
}

impl Root {
    pub(crate) fn new(
        keys: &KeySource<'_>,
        cipher: Option<Cipher>,
        nonce_seed: [u8; NONCE_SEED_LEN],
    ) -> Self {
        Self {
            signing_key: keys.signing(),
            cipher: cipher.map(|cipher| (cipher, keys.encryption(cipher))),
            nonce_seed,
            channels: 0,
        }
    }

    /// Makes the encryption of the latest channel.
    fn transform(&self, session_id: u64) -> Option<Transform> {
        let (cipher, keys) = self.cipher.as_ref()?;
        Some(Transform::of_channel(
            *cipher,
            keys,
            session_id,
            self.nonce_seed,
            self.channels,
        ))
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Root({} channels more)", self.channels)
    }
}

/// The data that makes another connection a channel of a session. It is for one
/// connection and one use. See [`Connection::binding`](super::Connection::binding).
#[derive(Debug)]
pub struct Binding {
    pub(crate) session_id: u64,
    pub(crate) tree_id: u32,
    pub(crate) terms: SessionTerms,
    /// The terms of the first connection. The other connections must have the same.
    pub(crate) negotiated: Negotiated,
    /// Signs the requests that bind the channel (MS-SMB2 3.2.4.2.3.1).
    pub(crate) signer: Signer,
    pub(crate) transform: Option<Transform>,
}
