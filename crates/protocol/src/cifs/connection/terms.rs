//! What a connection and its sessions agreed to, and the sizes of requests that follow.

use super::CifsConnection;
use crate::auth::Logon;
use crate::cifs::command::session::cifs_capabilities;

/// Bytes of a message around the data of a READ or WRITE, at most.
const OVERHEAD: u32 = 64;
/// The largest READ and WRITE beyond MaxBufferSize in bytes. Servers differ in what they
/// accept above it.
const LARGE_MAX: u32 = 65_536;

/// The largest data of a transaction's answer (MaxDataCount): what fits the client's own
/// buffer beside the words. The server's MaxBufferSize limits requests only. A longer
/// answer comes in parts (MS-CIFS 2.2.4.46.2), and other clients ask for 65,535 as well.
pub const TRANSACTION_DATA_MAX: u16 = 65_024;

/// What the server agreed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CifsNegotiated {
    /// Largest number of requests in flight.
    pub max_mpx: u16,
    /// Largest message that the server accepts, in bytes.
    pub max_buffer: u32,
    /// [`cifs_capabilities`] bits of the server.
    pub capabilities: u32,
    /// Whether the server can sign.
    pub can_sign: bool,
    /// Whether the server requires signatures.
    pub server_requires_signing: bool,
}

impl CifsNegotiated {
    /// Returns whether a session can be authenticated again. Samba does that without
    /// stating CAP_DYNAMIC_REAUTH, so the bit is not asked for.
    #[must_use]
    pub const fn can_renew(&self) -> bool {
        self.capabilities & cifs_capabilities::EXTENDED_SECURITY != 0
    }
}

/// A session with its tree connect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CifsUser {
    pub(crate) uid: u16,
    pub(crate) tid: u16,
    /// The kind of log-on; `None` until it is accepted.
    pub(crate) logon: Option<Logon>,
    /// Whether the index is free for another session.
    pub(super) is_vacant: bool,
}

impl CifsConnection {
    /// Returns the largest READ in bytes.
    #[must_use]
    pub const fn max_read(&self) -> u32 {
        self.max_data(cifs_capabilities::LARGE_READ)
    }

    /// Returns the largest WRITE in bytes. A signed one must fit MaxBufferSize (MS-SMB
    /// 3.2.4.15).
    #[must_use]
    pub const fn max_write(&self) -> u32 {
        if self.is_signed() {
            self.max_data(0)
        } else {
            self.max_data(cifs_capabilities::LARGE_WRITE)
        }
    }

    const fn max_data(&self, large: u32) -> u32 {
        let CifsNegotiated {
            max_buffer,
            capabilities,
            ..
        } = self.negotiated;
        if large != 0 && capabilities & large != 0 {
            return LARGE_MAX;
        }
        let fits = max_buffer.saturating_sub(OVERHEAD);
        if fits < LARGE_MAX { fits } else { LARGE_MAX }
    }
}
