//! How the sessions of a run share TCP connections, the local addresses of these,
//! and the credits of each.

use smbench_protocol::credit::{MAX_CREDIT_TARGET, charge_for};
use smbench_protocol::{Dialect, DialectRange};
use thiserror::Error;

use crate::digest::digested;
use crate::lists::sources::SourceList;
use crate::units::Size;

/// The most sessions that may share a connection.
pub const SESSIONS_PER_CONNECTION_MAX: u32 = 256;
/// The most connections a session may have: the limit of Windows.
pub const CONNECTIONS_PER_SESSION_MAX: u32 = 32;

digested! {
    /// The TCP connections of a run. The clients form groups that share connections.
    /// Each group has `connections_per_session` connections, and each session of the
    /// group uses all of them.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Connections {
        /// Sessions that share connections, one for each client, 1 to
        /// [`SESSIONS_PER_CONNECTION_MAX`].
        pub sessions_per_connection: u32
            => given("sessions_per_connection", several(*sessions_per_connection)),
        /// Connections that each session uses at the same time, 1 to
        /// [`CONNECTIONS_PER_SESSION_MAX`].
        pub connections_per_session: u32
            => given("connections_per_session", several(*connections_per_session)),
        /// Maximum number of credits that each connection holds and uses, 1 to
        /// [`MAX_CREDIT_TARGET`]. `None` takes the number that its requests in flight
        /// need.
        pub credits: Option<u16> => given("credits", *credits),
        /// Local addresses that connections use in turn; `None` leaves it to the
        /// system.
        pub sources: Option<SourceList> => none,
    }
}

/// Returns a number if it is more than the 1 that digests do not have.
fn several(number: u32) -> Option<u32> {
    (number > 1).then_some(number)
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            sessions_per_connection: 1,
            connections_per_session: 1,
            credits: None,
            sources: None,
        }
    }
}

/// A problem with the connections asked for, and how to correct it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConnectionsProblem {
    /// The number of sessions on a connection is out of bounds.
    #[error("sessions_per_connection is {0}: give 1 to {SESSIONS_PER_CONNECTION_MAX}")]
    Sessions(u32),
    /// The number of connections of a session is out of bounds.
    #[error("connections_per_session is {0}: give 1 to {CONNECTIONS_PER_SESSION_MAX}")]
    Connections(u32),
    /// The dialect allows only one connection per session.
    #[error(
        "connections_per_session is {wanted}, but dialect is {dialect}: several connections need \
         3.0 or newer"
    )]
    Dialect {
        /// Connections per session.
        wanted: u32,
        /// The newest dialect allowed.
        dialect: Dialect,
    },
    /// The number of credits is out of bounds.
    #[error("credits is {0}: give 1 to {MAX_CREDIT_TARGET}")]
    Credits(u16),
    /// A request costs more credits than the connection may hold, so it could never
    /// be sent.
    #[error(
        "credits is {credits}, but a request of {size:#} costs {charge}: give at least as many"
    )]
    TooFewCredits {
        /// The maximum number of credits.
        credits: u16,
        /// Bytes of the largest request.
        size: Size,
        /// Credits that the request costs.
        charge: u16,
    },
    /// A frame of several requests costs more credits than the connection may hold.
    #[error(
        "credits is {credits}, but an operation sends requests that cost {charge} at once: give at least as many"
    )]
    TooFewForFrame {
        /// The maximum number of credits.
        credits: u16,
        /// Credits that the requests cost together.
        charge: u16,
    },
}

impl Connections {
    /// Returns these clients in groups that share connections.
    pub fn groups(
        &self,
        mut clients: impl ExactSizeIterator<Item = u32>,
    ) -> impl ExactSizeIterator<Item = Box<[u32]>> {
        let size = self.sessions_per_connection as usize;
        let groups = clients.len().div_ceil(size);
        (0..groups).map(move |_| clients.by_ref().take(size).collect())
    }

    /// Returns the number of TCP connections for this number of clients.
    #[must_use]
    pub fn count(&self, clients: u32) -> u64 {
        let groups = clients.div_ceil(self.sessions_per_connection);
        u64::from(groups) * u64::from(self.connections_per_session)
    }

    /// Finds the first problem. The error names the option at fault. The largest
    /// request has `largest` bytes, and no operation costs more than `charge_max`
    /// credits.
    pub(crate) fn check(
        &self,
        largest: u32,
        charge_max: u16,
        dialects: DialectRange,
    ) -> Result<(), (&'static str, ConnectionsProblem)> {
        let sessions = self.sessions_per_connection;
        if !(1..=SESSIONS_PER_CONNECTION_MAX).contains(&sessions) {
            let problem = ConnectionsProblem::Sessions(sessions);
            return Err(("sessions_per_connection", problem));
        }
        let wanted = self.connections_per_session;
        if !(1..=CONNECTIONS_PER_SESSION_MAX).contains(&wanted) {
            let problem = ConnectionsProblem::Connections(wanted);
            return Err(("connections_per_session", problem));
        }
        let dialect = dialects.newest();
        if wanted > 1 && dialect < Dialect::Smb30 {
            let problem = ConnectionsProblem::Dialect { wanted, dialect };
            return Err(("connections_per_session", problem));
        }
        let Some(credits) = self.credits else {
            return Ok(());
        };
        if !(1..=MAX_CREDIT_TARGET).contains(&credits) {
            return Err(("credits", ConnectionsProblem::Credits(credits)));
        }
        let charge = charge_for(largest);
        if charge > credits {
            let size = Size(largest.into());
            let problem = ConnectionsProblem::TooFewCredits {
                credits,
                size,
                charge,
            };
            return Err(("credits", problem));
        }
        if charge_max > credits {
            let charge = charge_max;
            let problem = ConnectionsProblem::TooFewForFrame { credits, charge };
            return Err(("credits", problem));
        }
        Ok(())
    }
}
