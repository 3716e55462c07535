//! The sessions of a connection: what a request of each carries, and what
//! keeps it from being altered or read.
//!
//! A session may have channels on several connections (MS-SMB2 3.2.1.8): they
//! share its id, its tree connect and the keys of encryption, and each has a
//! signing key of its own. What a connection has of a session is its channel.

use std::fmt;

use super::Negotiated;
use super::protection::{Keys, Protection};
use crate::algorithm::{Cipher, SigningAlgorithm};
use crate::auth::Logon;
use crate::crypto::{KeySource, NONCE_SEED_LEN, Signer, Transform};

/// Which session of a connection a request is made in. Of use on the
/// connection that it came from only, until the session is forgotten there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionIndex(u16);

impl SessionIndex {
    /// The session that a handshake has set up.
    pub const FIRST: Self = Self(0);

    /// The next one behind `count` others.
    pub(super) const fn after(count: usize) -> Self {
        // Each takes a SESSION_SETUP in flight; memory ends long before.
        Self(count as u16)
    }

    pub(super) const fn at(self) -> usize {
        self.0 as usize
    }
}

/// What came of the log-on to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionTerms {
    /// Algorithm that signs every message, `None` when messages go unsigned;
    /// encrypted ones do.
    pub signing: Option<SigningAlgorithm>,
    /// Cipher that encrypts every message, `None` when messages go in plain.
    pub encryption: Option<Cipher>,
    /// As what the server let the user in.
    pub logon: Logon,
}

impl SessionTerms {
    /// Those of nobody, until something else is known.
    pub(super) const NONE: Self = Self {
        signing: None,
        encryption: None,
        logon: Logon::Anonymous,
    };
}

/// A session as far as one connection has part in it.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) session_id: u64,
    pub(crate) tree_id: u32,
    pub(crate) protection: Protection,
    pub(crate) terms: SessionTerms,
    /// What signs by exception, where the session's messages go unsigned.
    pub(crate) signer: Option<Signer>,
    /// What further channels are made from, where there are to be some.
    pub(crate) root: Option<Box<Root>>,
}

impl Channel {
    /// One of a session yet to be set up, or known from another connection.
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

    /// What nothing is sent in.
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

    /// What a further channel needs to know; `None` where none was to follow,
    /// the session has no key, or it has had all channels it can have.
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

/// The keys of a session that its channels have in common.
pub(crate) struct Root {
    signing_key: [u8; 16],
    cipher: Option<(Cipher, [Vec<u8>; 2])>,
    nonce_seed: [u8; NONCE_SEED_LEN],
    /// Number of the latest channel: none is given twice, so that no two
    /// channels have a nonce in common.
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

    /// What encrypts on the latest channel.
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

/// What makes another connection a channel of a session: for one connection,
/// once. See [`Connection::binding`](super::Connection::binding).
#[derive(Debug)]
pub struct Binding {
    pub(crate) session_id: u64,
    pub(crate) tree_id: u32,
    pub(crate) terms: SessionTerms,
    /// What was agreed on the first connection, and must be on each.
    pub(crate) negotiated: Negotiated,
    /// Signs the requests that bind (MS-SMB2 3.2.4.2.3.1).
    pub(crate) signer: Signer,
    pub(crate) transform: Option<Transform>,
}
