//! Examines a server in CIFS.

use smbench_protocol::cifs::connection::CifsNegotiated;
use smbench_protocol::{Dialect, Logon};

use super::{ShowStep, TimeSpread};
use crate::smb::session::cifs::CifsSession;
use crate::smb::session::{Endpoint, SessionError};

/// Everything that a probe found out about a server in CIFS.
#[derive(Clone, Debug)]
pub struct CifsProbe {
    /// Terms that client and server negotiated.
    pub negotiated: CifsNegotiated,
    /// Whether the session signs.
    pub is_signed: bool,
    /// The largest READ and WRITE in bytes.
    pub largest: (u32, u32),
    /// The kind of log-on that the server accepted.
    pub logon: Logon,
    /// Each dialect of this build, and whether the server accepted it when only that one
    /// was offered.
    pub dialects: Vec<(Dialect, Result<(), String>)>,
    /// Free bytes on the share for this user; `None` when the server does not tell.
    pub free_bytes: Option<u64>,
    /// Set-up times of several sessions, one after the other. Each counts from the first
    /// SYN to the tree connect.
    pub setup: TimeSpread,
}

/// Describes a session, and offers each dialect alone.
pub(super) async fn examine(
    session: CifsSession,
    setup: TimeSpread,
    free_bytes: Option<u64>,
    endpoint: &Endpoint,
    show_step: ShowStep<'_>,
) -> Result<CifsProbe, SessionError> {
    let connection = &session.connection;
    let found = CifsProbe {
        negotiated: *connection.negotiated(),
        is_signed: connection.is_signed(),
        largest: (connection.max_read(), connection.max_write()),
        logon: connection.logon(session.current),
        dialects: super::dialects(endpoint, show_step).await,
        free_bytes,
        setup,
    };
    session.log_off().await;
    Ok(found)
}
