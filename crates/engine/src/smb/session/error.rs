//! Errors of sessions and of requests while setting up.
//!
//! Each error is one clear line that names the failed step, the place and the
//! remedy.

mod advice;
mod phase;
mod step;

use std::io;
use std::time::Duration;

use smbench_model::fileio::FileioError;
use smbench_model::lists::sources::SourceIp;
use smbench_model::record::SetupPhase;
use smbench_model::setting::{Advice, CONNECTIONS_PER_SESSION, DIALECT, FILE_SIZE, SOURCE_IP};
use smbench_model::tree::TreeError;
use smbench_protocol::header::Command;
use smbench_protocol::{Dialect, HandshakeError, NtStatus};
use thiserror::Error;

use super::LogonIdentity;
use crate::smb::tickets::TicketError;
use advice::{handshake_action, handshake_advice, where_given};
pub use step::StepFailure;

/// Returns the resolver's reason, without the words that std puts before it.
fn reason(source: &io::Error) -> String {
    let text = source.to_string();
    let known = "failed to lookup address information: ";
    text.strip_prefix(known).unwrap_or(&text).to_owned()
}

/// A failure outside the measured part of a run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// A failure of a connector that is not part of smbench, in its own words.
    #[error("failed to set up a client: {0}")]
    Other(String),
    /// A failure on another host of the run.
    #[error("host {host}: {text}")]
    OnHost {
        /// Name of that host.
        host: String,
        /// Its message.
        text: String,
        /// The phase that failed there.
        phase: SetupPhase,
        /// The cause in a few words, or the status.
        cause: String,
        /// Whether that host is the reason, not the server.
        own_limit: bool,
    },
    /// The host name has no address.
    #[error(
        "failed to look up host '{host}': {}; check the name in the target URL",
        reason(source)
    )]
    Resolve {
        /// The host name as written in the URL.
        host: String,
        /// The resolver's reason.
        source: io::Error,
    },
    /// TCP could not connect.
    #[error(
        "failed to connect to {at}: {source}; check the address and port, and that the server is up"
    )]
    Connect {
        /// Host and port of the server.
        at: String,
        /// The operating system's reason.
        source: io::Error,
    },
    /// TCP got no answer.
    #[error("failed to connect to {at}: no answer within {}; check the address, and that no firewall drops the packets", humantime::format_duration(*.limit))]
    ConnectTimeout {
        /// Host and port of the server.
        at: String,
        /// Time that the client waited.
        limit: Duration,
    },
    /// The first answer on a connection is not SMB.
    #[error(
        "failed to connect to {at}: this is not an SMB server: unexpected answer (0x{byte:02x}) on \
         port {port}; check the port"
    )]
    NotSmb {
        /// Host and port of the server.
        at: String,
        /// The port.
        port: u16,
        /// The first byte of the answer.
        byte: u8,
    },
    /// A chosen local address cannot be used.
    #[error(
        "failed to connect from {source_ip}: {source}; give addresses of this machine ({SOURCE_IP})"
    )]
    Source {
        /// The local address.
        source_ip: SourceIp,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A chosen local address and the server have no address family in common.
    #[error(
        "failed to connect to {at} from {source_ip}: the server has no {family} address; give addresses of its kind ({SOURCE_IP})"
    )]
    SourceFamily {
        /// The local address.
        source_ip: SourceIp,
        /// Host and port of the server.
        at: String,
        /// "IPv4" or "IPv6".
        family: &'static str,
    },
    /// The system refuses another socket for this process.
    #[error("failed to open a socket to {at}: {source}; this machine is the limit: {remedy}")]
    LocalLimit {
        /// Host and port of the server.
        at: String,
        /// The operating system's reason.
        source: io::Error,
        /// Advice for the user.
        remedy: Advice,
    },
    /// A session could not be set up after others of the same load point had been.
    #[error("{source} (when {ready} of {clients} sessions stood)")]
    AfterSome {
        /// Number of sessions that were already set up.
        ready: u32,
        /// Number of sessions of the load point.
        clients: u32,
        /// Why the next session failed.
        source: Box<SessionError>,
    },
    /// The server does not support several connections per session.
    #[error(
        "{at} offers no session on several connections (multichannel) in SMB {dialect}; leave out {CONNECTIONS_PER_SESSION}"
    )]
    OneChannel {
        /// Host and port of the server.
        at: String,
        /// The dialect negotiated.
        dialect: Dialect,
    },
    /// Another connection could not be added to an established session.
    #[error("failed to add connection {number} to a session: {source}")]
    Channel {
        /// Number of the connection within the session, from 2.
        number: u32,
        /// Why the connection could not be added.
        source: Box<SessionError>,
    },
    /// The session has no key to add connections with.
    #[error(
        "failed to add a connection to a session on {at}: a guest or anonymous session has no key to do so; leave out {CONNECTIONS_PER_SESSION}"
    )]
    NoChannelKey {
        /// Host and port of the server.
        at: String,
    },
    /// A step of a session failed.
    #[error("failed to {doing} on {at}: {source}")]
    Step {
        /// The step, worded to follow "failed to".
        doing: String,
        /// Host and port of the server, or host, port and share.
        at: String,
        /// The reason.
        source: StepFailure,
        /// The step of the set-up, if it was one.
        phase: Option<SetupPhase>,
    },
    /// A session could not be established.
    #[error("failed to {} on {at}: {source}{}{}", handshake_action(.source, .who, .share), Advice(handshake_advice(.source, .who)), where_given(.source, .who, .password_note))]
    Handshake {
        /// Host and port of the server.
        at: Box<str>,
        /// The identity that logs on.
        who: LogonIdentity,
        /// The share.
        share: Box<str>,
        /// [`Secret::source_note`] of the password.
        ///
        /// [`Secret::source_note`]: smbench_model::secret::Secret::source_note
        password_note: Box<str>,
        /// Why the handshake failed.
        source: HandshakeError,
    },
    /// No Kerberos ticket is available for the log-on.
    #[error(transparent)]
    Ticket(#[from] TicketError),
    /// The share has too little free space for the files of the run.
    #[error(
        "the share at {at} has {free} free, but the run needs {needed}; use fewer clients, smaller files ({FILE_SIZE}) or another share"
    )]
    NoSpace {
        /// Host, port and share.
        at: String,
        /// Size of the data that the run would write.
        needed: String,
        /// Free space as reported by the server.
        free: String,
    },
    /// A file in our directory is still open in a session that has ended badly.
    #[error(
        "failed to remove directory '{directory}' on {at}: another session still has '{name}' open; \
         remove it with `smbench cleanup` when the server has ended that session"
    )]
    Held {
        /// The directory.
        directory: String,
        /// The share.
        at: String,
        /// The file.
        name: String,
    },
    /// A directory of a run contains a file that smbench did not create.
    #[error(
        "failed to remove directory '{directory}' on {at}: it holds '{name}', which smbench did not put there; move it away first"
    )]
    NotEmpty {
        /// The run's directory.
        directory: String,
        /// Host, port and share.
        at: String,
        /// Name of that file.
        name: String,
    },
    /// A request size of the workload exceeds the server's limit.
    #[error(
        "the workload has {kind}s of {wanted}, but {at} takes at most {limit}{why}, and these are not \
         split; use smaller sizes, or replay the recording on another server"
    )]
    TooLarge {
        /// "read" or "write".
        kind: &'static str,
        /// The largest size of the workload.
        wanted: String,
        /// Host and port of the server.
        at: String,
        /// The negotiated limit.
        limit: String,
        /// The reason of the limit, if it is one that the user chose.
        why: &'static str,
    },
    /// The sessions of a connection have more requests in flight than the server permits.
    #[error(
        "the plan has {wanted} requests in flight on a connection, but {at} permits {limit} (MaxMpxCount); reduce {}, or use more clients",
        Advice("@outstanding or @sessions_per_connection")
    )]
    TooManyInFlight {
        /// Requests that the plan has in flight on a connection.
        wanted: u64,
        /// Host and port of the server.
        at: String,
        /// The server's limit.
        limit: u16,
    },
    /// The workload uses a feature that the negotiated dialect lacks.
    #[error("{what} needs SMB {needs}, but {dialect} was agreed on with {at}; see {DIALECT}")]
    NotInDialect {
        /// The operation, or one of its parameters.
        what: &'static str,
        /// The dialects that have it, in words.
        needs: &'static str,
        /// The dialect in use.
        dialect: Dialect,
        /// Host, port and share.
        at: String,
    },
    /// The run asks for leases, persistent handles, or listings for Macs, but the server has none.
    #[error("the server {at} {lack}")]
    Lacks {
        /// What it does not do, and what to do.
        lack: Advice,
        /// Host, port and share.
        at: String,
    },
    /// A path cannot be encoded in a request.
    #[error("failed to {doing}: the path is too long for SMB")]
    Path {
        /// The step that failed, worded to follow "failed to".
        doing: String,
    },
    /// smbench panicked, because of a bug of its own.
    #[error("failed to {doing}: a task panicked, which is a bug in smbench; please report it")]
    Panicked {
        /// The step that failed, worded to follow "failed to".
        doing: &'static str,
    },
    /// Every client of a load point lost its connection.
    #[error("all {clients} clients lost {at}: {reason}")]
    Lost {
        /// Host and port of the server.
        at: String,
        /// Number of those clients.
        clients: u32,
        /// The error of the first client.
        reason: String,
    },
    /// The operating system could not create an event loop.
    #[error("failed to start: {0}")]
    System(#[source] io::Error),
    /// The files of a `fileio` test are not in the expected state.
    #[error(transparent)]
    Fileio(Box<FileioError>),
    /// A prepared tree is not in the expected state.
    #[error(transparent)]
    Tree(Box<TreeError>),
    /// The user stopped the run.
    #[error("interrupted")]
    Interrupted,
}

impl From<FileioError> for SessionError {
    fn from(error: FileioError) -> Self {
        Self::Fileio(Box::new(error))
    }
}

impl SessionError {
    /// Returns the status that the server answered with, if that is the reason.
    #[must_use]
    pub const fn status(&self) -> Option<NtStatus> {
        match self {
            Self::Step {
                source: StepFailure::Refused(status) | StepFailure::Removed(status),
                ..
            }
            | Self::Handshake {
                source: HandshakeError::Refused { status, .. },
                ..
            } => Some(*status),
            Self::AfterSome { source, .. } | Self::Channel { source, .. } => source.status(),
            _ => None,
        }
    }

    /// Returns whether the log-on was refused. The next attempt would fail in the
    /// same way, and repeated attempts lock the account.
    #[must_use]
    pub fn is_of_log_on(&self) -> bool {
        match self {
            Self::Handshake { source, .. } => match source {
                // A server that accepts no more sessions would still accept this
                // user.
                HandshakeError::Refused {
                    command: Command::SessionSetup,
                    status,
                    ..
                } => !matches!(
                    *status,
                    NtStatus::REQUEST_NOT_ACCEPTED | NtStatus::INSUFFICIENT_RESOURCES
                ),
                HandshakeError::OnlyAsGuest
                | HandshakeError::OnlyAsNobody
                | HandshakeError::Auth(_) => true,
                _ => false,
            },
            // Only a refusal by a KDC, not a missing file or ticket.
            Self::Ticket(error) => matches!(error, TicketError::Refused { at: Some(_), .. }),
            _ => false,
        }
    }

    /// Returns whether the server has certainly not done what the request asked
    /// for.
    pub(crate) const fn is_undone(&self) -> bool {
        // Path and NoCredit are errors of requests that were never sent.
        matches!(
            self,
            Self::Path { .. }
                | Self::Step {
                    source: StepFailure::Refused(_) | StepFailure::NoCredit,
                    ..
                }
        )
    }

    /// Turns "not found" into [`StepFailure::Removed`]: the run itself made this
    /// file.
    pub(crate) fn of_own_file(mut self) -> Self {
        if let Self::Step { source, .. } = &mut self
            && let StepFailure::Refused(
                status @ (NtStatus::OBJECT_NAME_NOT_FOUND | NtStatus::OBJECT_PATH_NOT_FOUND),
            ) = *source
        {
            *source = StepFailure::Removed(status);
        }
        self
    }
}
