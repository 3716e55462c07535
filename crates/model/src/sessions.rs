//! The sessions of a run: their server, dialects, signing, encryption, connections, caching.

mod caching;
mod connections;

use serde::{Deserialize, Serialize};
use smbench_protocol::{CipherList, DialectRange, SigningAlgorithm};

use crate::target::Target;
pub use caching::{Caching, UnknownCaching};
pub use connections::{
    CONNECTIONS_PER_SESSION_MAX, Connections, ConnectionsProblem, SESSIONS_PER_CONNECTION_MAX,
};

/// The sessions of a run, and the server that they are with.
#[derive(Clone, Debug, PartialEq)]
pub struct Sessions {
    /// The server, share, folder and account.
    pub target: Target,
    /// Options of each session.
    pub options: SessionOptions,
    /// The TCP connections that sessions use.
    pub connections: Connections,
    /// The caching that opens of files ask for.
    pub caching: Caching,
}

/// Options of a session, applied during set-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionOptions {
    /// Dialects to offer.
    pub dialects: DialectRange,
    /// Message signing.
    pub signing: Mode,
    /// The only algorithm to sign with; `None` leaves the choice to client and
    /// server.
    pub signing_algorithm: Option<SigningAlgorithm>,
    /// Message encryption.
    pub encryption: Mode,
    /// Ciphers to offer.
    pub ciphers: CipherList,
}

/// Whether the user wants a protocol feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// On if the server requires it.
    #[default]
    Auto,
    /// On; otherwise the run does not start.
    Required,
    /// Off; otherwise the run does not start.
    Off,
}
