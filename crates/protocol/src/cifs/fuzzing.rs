//! Access for the fuzz targets to connections that were made without a handshake.
//!
//! The module is compiled with the feature `fuzzing` only.

use super::command::session::cifs_capabilities;
use super::connection::{CifsConnection, CifsNegotiated, CifsReplies, CifsSigner};
use super::header::cifs_flags2;
use crate::connection::SessionIndex;

/// The key of every signed [`connection`].
const KEY: [u8; 16] = [7; 16];

/// The protection of a [`connection`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CifsFuzzProtection {
    /// Messages are not signed.
    None,
    /// Messages are signed.
    Signed,
}

/// Makes a connection that is set up and permits 20 requests.
#[must_use]
pub fn connection(protection: CifsFuzzProtection) -> CifsConnection {
    let negotiated = CifsNegotiated {
        max_mpx: 20,
        max_buffer: 16_644,
        capabilities: cifs_capabilities::LARGE_READ | cifs_capabilities::LARGE_WRITE,
        can_sign: true,
        server_requires_signing: false,
    };
    let mut connection = CifsConnection::new(negotiated, 0);
    let first = connection.add_user();
    debug_assert_eq!(first, SessionIndex::FIRST);
    let user = connection.user_mut(first);
    (user.uid, user.tid) = (5, 4);
    if protection == CifsFuzzProtection::Signed {
        connection.signer = Some(CifsSigner::new(KEY.to_vec()));
        connection.flags2 |= cifs_flags2::SIGNATURE;
    }
    connection
}

/// Signs answers like the server of a [`connection`].
pub struct CifsAnswerSigner(CifsSigner);

impl CifsAnswerSigner {
    /// Makes the signer of the answer after those to `before` requests.
    #[must_use]
    pub fn after(before: u32) -> Self {
        let mut signer = Self(CifsSigner::new(KEY.to_vec()));
        for _ in 0..before {
            signer.0.sign(&mut [], CifsReplies::Yes);
        }
        signer
    }

    /// Signs the answer to the next request. Its number follows that of the request.
    pub fn sign(&mut self, message: &mut [u8]) {
        self.0.sign(&mut [], CifsReplies::No);
        self.0.sign(message, CifsReplies::No);
    }
}
