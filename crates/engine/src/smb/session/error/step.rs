//! Reasons for the failure of one step of a session.

use std::io;
use std::time::Duration;

use smbench_model::setting::{Advice, DIALECT};
use smbench_protocol::{NtStatus, ProtocolError};
use thiserror::Error;

use super::advice::{removed, status_advice};

/// Why a step of a session failed, worded to follow the step and the place.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StepFailure {
    /// The server did not answer a set-up request.
    #[error(
        "no answer within {}; check that an SMB server runs there and is not overloaded{remedy}",
        humantime::format_duration(*.limit)
    )]
    Timeout {
        /// Time that the client waited.
        limit: Duration,
        /// The option that sets the limit, worded to follow the message; empty if no
        /// option does.
        remedy: Advice,
    },
    /// The connection broke.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The server closed the connection at the first message, which offers SMB2.
    #[error(
        "the server closed the connection when SMB2 was offered: it takes no further connection \
         (in Samba see max smbd processes), or it speaks SMB1 only (then add {DIALECT} cifs)"
    )]
    NoSmb2,
    /// The server closed the connection of a further session at the first message.
    #[error(
        "the server closed the connection at the first message: it takes no further connection (in \
         Samba see max smbd processes)"
    )]
    NoFurther,
    /// The server closed the connections at the first message, in SMB2 and in CIFS.
    #[error(
        "the server closes connections at the first message, in SMB2 and in CIFS: it takes no \
         further connection (in Samba see max smbd processes), or another service listens there"
    )]
    NoConnection,
    /// The server violated the protocol.
    #[error("the server broke the protocol with {0}")]
    Protocol(#[from] ProtocolError),
    /// The server answered with an error status.
    #[error("{}{}", .0, Advice(status_advice(*.0)))]
    Refused(NtStatus),
    /// A file of the run, or its directory, no longer exists.
    #[error(
        "{}; another client removed {}, or the server hides such names (Samba: veto files)",
        .0,
        removed(*.0)
    )]
    Removed(NtStatus),
    /// The server never grants the credits that a request needs.
    #[error("the server granted no credit for it")]
    NoCredit,
    /// An earlier request on the session got a wrong answer, or none in time.
    #[error("the session is out of step since an earlier request failed")]
    OutOfStep,
    /// The server wrote only a part of the data of a WRITE.
    #[error("the server took {taken} of {length} bytes of a write; check its quota and free space")]
    ShortWrite {
        /// Number of bytes that the server wrote, according to its answer.
        taken: u32,
        /// Number of bytes sent.
        length: u32,
    },
    /// A directory listing of the server does not end.
    #[error("the listing does not end")]
    EndlessListing,
    /// A client that is not part of smbench failed, in its own words.
    #[error("{0}")]
    Client(String),
}
