//! A driver that was set up, and how.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use smbench_model::Nanos;
use smbench_model::record::Reclaimed;
use smbench_model::sessions::Caching;

use crate::smb::session::SessionError;
use crate::smb::session::caching::Acknowledged;

/// A driver with sessions set up and files open.
#[derive(Debug)]
pub struct Opened<D> {
    /// The driver, ready for calls.
    pub driver: D,
    /// Time that each session took to connect and log on, without the opens of
    /// files in it.
    pub session_setup: Vec<Nanos>,
    /// Caching granted for the files held open, if caching was requested.
    pub granted: Vec<Caching>,
    /// Number of breaks so far.
    pub breaks: u64,
    /// Durations and outcomes of the acknowledgements of breaks.
    pub acknowledged: Vec<(Nanos, Acknowledged)>,
    /// What became of durable handles of earlier sessions.
    pub reclaimed: Reclaimed,
    /// Number of TCP connections made for the sessions.
    pub connections: u32,
    /// The server's address of these connections, if it is known.
    pub server: Option<SocketAddr>,
    /// Number of clients, the last of the group, that have no session, and why; `None` if
    /// all have one.
    pub refused: Option<(u32, SessionError)>,
}

impl<D> Opened<D> {
    /// Makes an opened driver without caching. `session_setup` has the set-up time
    /// of each session.
    #[must_use]
    pub const fn new(driver: D, connections: u32, session_setup: Vec<Nanos>) -> Self {
        Self {
            driver,
            session_setup,
            granted: Vec::new(),
            breaks: 0,
            acknowledged: Vec::new(),
            reclaimed: Reclaimed {
                kept: 0,
                lost: BTreeMap::new(),
                caching_kept: 0,
                caching_lost: 0,
                locks_kept: 0,
                locks_lost: 0,
            },
            connections,
            server: None,
            refused: None,
        }
    }

    /// Applies `make` to the driver and keeps the rest.
    pub(crate) fn map<T>(self, make: impl FnOnce(D) -> T) -> Opened<T> {
        Opened {
            driver: make(self.driver),
            session_setup: self.session_setup,
            granted: self.granted,
            breaks: self.breaks,
            acknowledged: self.acknowledged,
            reclaimed: self.reclaimed,
            connections: self.connections,
            server: self.server,
            refused: self.refused,
        }
    }
}
