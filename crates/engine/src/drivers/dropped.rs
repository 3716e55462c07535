//! Reasons why a client did not finish its load point.

use smbench_model::Nanos;
use smbench_protocol::{NtStatus, ProtocolError};
use thiserror::Error;

use crate::machine::clock;

/// The reason why a client did not finish its load point, as a lower-case clause
/// for the drop-outs in a record.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum Dropped {
    /// A connection to the server was lost.
    #[error(transparent)]
    Link(Box<LostLink>),
    /// A connection to the server was lost, and no new one could be set up.
    #[error(transparent)]
    NotReconnected(Box<NotReconnected>),
    /// An I/O error that no new connection can mend, in the system's words.
    #[error("the connection broke: {0}")]
    Io(String),
    /// Data of the server violates the protocol.
    #[error("the server broke the protocol with {0}")]
    Protocol(#[from] ProtocolError),
    /// The server ended the session.
    #[error("the server ended the session with {0}")]
    SessionEnded(NtStatus),
    /// An operation took longer than [`Limits::operation`](smbench_model::limits::Limits).
    #[error("no answer to a {kind} within {}", humantime::format_duration((*.limit).into()))]
    Stalled {
        /// Name of the operation.
        kind: &'static str,
        /// Limit that was exceeded.
        limit: Nanos,
    },
    /// No operation is in flight, and none can be sent for lack of credits.
    #[error(
        "the server left the client without credits for its next request, which costs one for \
         each 64 KiB or part of it"
    )]
    NoCredits,
    /// The same in a plan whose costliest operation takes this many.
    #[error(
        "the server left the client without credits for its next request: its largest operation \
         costs {0}, one for each 64 KiB or part of it; ask the server for fewer credits, and it \
         is split"
    )]
    FewCredits(u16),
    /// A request beside the operations, such as the acknowledgement of a break, has
    /// no answer, and the credits suffice for no operation.
    #[error(
        "no answer to a request beside its operations within {}, and no credits for another",
        humantime::format_duration((*.0).into())
    )]
    Unanswered(Nanos),
    /// The session expired, and could not be reauthenticated for this reason.
    #[error("the session expired: {0}")]
    NotRenewed(String),
    /// A further session of the workload could not be set up.
    #[error("a further session could not be set up: {0}")]
    LogOn(String),
    /// An operation waited too long for the reauthentication of its session.
    #[error(
        "the session expired while a {kind} was under way, and was not authenticated again within {}",
        humantime::format_duration((*.limit).into())
    )]
    RenewalStalled {
        /// Name of the operation.
        kind: &'static str,
        /// Limit that was exceeded.
        limit: Nanos,
    },
    /// Error text of an external driver.
    #[error("{0}")]
    Other(String),
    /// An external driver answered a slot without a call.
    #[error("the driver answered slot {0}, in which no call was under way")]
    Unasked(u32),
    /// An external stream returned an operation that the plan does not allow.
    #[error("the stream of operations has {0}")]
    Unplanned(String),
    /// Error text of smb-rs.
    #[cfg(feature = "smb-rs")]
    #[error("smb-rs failed: {0}")]
    Client(String),
    /// smb-rs waits for credits, but no answer of the server is outstanding.
    #[cfg(feature = "smb-rs")]
    #[error(
        "smb-rs ran out of credits: the server granted too few, or smb-rs lost those of interim responses"
    )]
    ClientCredits,
}

/// A connection to the server that was lost. A driver that can set it up anew goes on. A
/// driver of your own reports it by [`LinkCause::of_connection`].
#[derive(Clone, Debug, Error)]
#[error("{cause}")]
#[non_exhaustive]
pub struct LostLink {
    /// Number of the connection in its group, from 0.
    pub connection: usize,
    /// When the loss was noticed.
    pub at: Nanos,
    /// Why it was lost.
    pub cause: LinkCause,
}

/// A lost connection that could not be replaced.
#[derive(Clone, Debug, Error)]
#[error("{lost}, and no new session could be set up{}: {reason}{}", within(*limit), at_first(first.as_deref()))]
#[non_exhaustive]
pub struct NotReconnected {
    /// The loss.
    pub lost: LostLink,
    /// Time for setting up a new session, if it has passed. `None` if the server gave an
    /// answer that no further attempt would change.
    pub limit: Option<Nanos>,
    /// Why the first of several attempts failed, if not for the same reason as the last.
    pub first: Option<String>,
    /// Why the last attempt failed.
    pub reason: String,
}

fn within(limit: Option<Nanos>) -> String {
    let limit = limit.map(|limit| humantime::format_duration(limit.into()));
    limit.map_or_else(String::new, |limit| format!(" within {limit}"))
}

fn at_first(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| {
        format!("; the first attempt: {reason}")
    })
}

/// The reason why a connection was lost.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum LinkCause {
    /// The server closed it.
    #[error("the server closed the connection")]
    Closed,
    /// An I/O error, in the system's words.
    #[error("the connection broke: {0}")]
    Io(String),
    /// An answer was overdue, for this reason.
    #[error("{0}")]
    Silent(String),
    /// The path to the server is interrupted. Another connection of the client has one.
    #[error("the server acknowledges nothing on the connection")]
    Unacknowledged,
    /// The server ended a session on it.
    #[error("the server ended the session with {0}")]
    SessionEnded(NtStatus),
    /// An event of the plan.
    #[error("an event of the run cut the connection")]
    Event,
    /// The clients left, as the plan asks for.
    #[error("the client left to come back")]
    Churn,
}

impl LinkCause {
    /// Returns the error of a driver that noticed just now that it has lost the connection
    /// with this number, from 0 in its group. It has the instant on the engine's clock.
    ///
    /// ```
    /// use smbench_engine::driver::{Dropped, LinkCause};
    ///
    /// let error = LinkCause::Closed.of_connection(0);
    /// assert!(matches!(error, Dropped::Link(ref lost) if lost.connection == 0));
    /// assert_eq!(error.to_string(), "the server closed the connection");
    /// ```
    #[cold]
    #[must_use]
    pub fn of_connection(self, connection: usize) -> Dropped {
        Dropped::Link(Box::new(LostLink {
            connection,
            at: clock::now(),
            cause: self,
        }))
    }
}

impl From<std::io::Error> for LinkCause {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error.to_string())
    }
}

impl Dropped {
    /// Returns the lost connection, if a new one can replace it. Any other error comes back. A
    /// session that the server ended is set up again like a lost connection.
    pub(crate) fn mendable(self) -> Result<Box<LostLink>, Self> {
        let error = match self {
            Self::SessionEnded(status) | Self::Protocol(ProtocolError::SessionEnded(status)) => {
                LinkCause::SessionEnded(status).of_connection(0)
            }
            other => other,
        };
        match error {
            Self::Link(lost) => Ok(lost),
            other => Err(other),
        }
    }

    /// Adds the credits that the costliest operation of the plan takes to a lack of them.
    pub(crate) fn with_cost(self, cost: u16) -> Self {
        match self {
            Self::NoCredits => Self::FewCredits(cost),
            other => other,
        }
    }
}

/// Returns the number of bytes that the socket of a connection has received, or why there
/// are none.
pub(super) fn received(len: std::io::Result<usize>, connection: usize) -> Result<usize, Dropped> {
    match len {
        Ok(0) => Err(LinkCause::Closed.of_connection(connection)),
        Ok(len) => Ok(len),
        Err(error) => Err(LinkCause::from(error).of_connection(connection)),
    }
}

/// Returns the loss of a connection on which bytes could not be sent.
pub(super) fn unsent(error: std::io::Error, connection: usize) -> Dropped {
    LinkCause::from(error).of_connection(connection)
}

impl From<std::io::Error> for Dropped {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error.to_string())
    }
}
