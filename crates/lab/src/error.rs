//! Errors of starting and stopping a lab server.

use std::io;
use std::net::SocketAddr;

/// The reason why a lab server could not be started or stopped.
///
/// Messages are lower-case. Causes are not part of the message; see
/// [`std::error::Error::source`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A program is not installed.
    #[error("{program} not found; install it with: apt-get install {package}")]
    MissingTool {
        /// Name of the program.
        program: &'static str,
        /// Debian package of the program.
        package: &'static str,
    },
    /// A program that was given as smbd is none.
    #[error("{} is no smbd: {reason}", path.display())]
    NoSmbd {
        /// The program.
        path: std::path::PathBuf,
        /// Why not, as a clause.
        reason: String,
    },
    /// A user or share name would need escaping.
    #[error(
        "{what} name {name:?} must be ASCII letters, digits, '.', '_' and '-', \
         starting with a letter or a digit"
    )]
    Name {
        /// `user` or `share`.
        what: &'static str,
        /// The name that the caller gave.
        name: String,
    },
    /// A share name is used twice or is reserved.
    #[error("share name {name:?} is taken")]
    ShareTaken {
        /// The name in lower case.
        name: String,
    },
    /// The options have no share.
    #[error("a server needs at least one share")]
    NoShare,
    /// The embedded server refuses its configuration.
    #[error("the embedded server refuses its options")]
    Embedded(#[from] smb_server::BuildError),
    /// The listen address cannot be bound.
    #[error("cannot listen on {addr}")]
    Listen {
        /// The requested address.
        addr: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// A file, process or thread operation failed.
    #[error("cannot {action}")]
    Io {
        /// The action that failed, as an infinitive phrase.
        action: String,
        /// The system's error.
        source: io::Error,
    },
    /// The invoking user id has no account, which `smbd` needs.
    #[error("user id {uid} has no account on this system, which smbd needs")]
    NoAccount {
        /// The effective user id.
        uid: u32,
    },
    /// The temporary folder's path has characters that `smb.conf` cannot express.
    #[error("the temporary folder {path:?} cannot be written in smb.conf; set TMPDIR to another")]
    TemporaryFolder {
        /// Path of the folder.
        path: std::path::PathBuf,
    },
    /// Samba ignores or rejects a line of `smb.conf`.
    #[error("Samba does not take its smb.conf: {said}; correct or drop the line")]
    Configuration {
        /// Samba's message about the line.
        said: String,
    },
    /// The Samba password database could not be filled.
    #[error("pdbedit failed with {status}: {output}")]
    Account {
        /// Exit status of the program.
        status: std::process::ExitStatus,
        /// Output of the program.
        output: String,
    },
    /// A Kerberos program failed.
    #[error("{program} failed: {output}")]
    Kerberos {
        /// Name of the program.
        program: &'static str,
        /// Output and log of the program.
        output: String,
    },
    /// `smbd` did not start.
    #[error("smbd {reason}; the end of its log:\n{log}")]
    Samba {
        /// `exited before it was ready`, or a text with the time limit.
        reason: String,
        /// The last lines of the log of `smbd`.
        log: String,
    },
}

impl LabError {
    /// Wraps an I/O error of the action `action`.
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}
