//! Why a lab server could not be started or stopped.

use std::io;
use std::net::SocketAddr;

/// Why a lab server could not be started or stopped.
///
/// Messages are lower-case; those with a cause leave it to
/// [`std::error::Error::source`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A program is not installed.
    #[error("{program} not found; install it with: apt-get install {package}")]
    MissingTool {
        /// The program looked for.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// A user or share name that would need escaping.
    #[error(
        "{what} name {name:?} must be ASCII letters, digits, '.', '_' and '-', \
         starting with a letter or a digit"
    )]
    Name {
        /// `user` or `share`.
        what: &'static str,
        /// The name as given.
        name: String,
    },
    /// A share name that is used twice or has a meaning of its own.
    #[error("share name {name:?} is taken")]
    ShareTaken {
        /// The name in lower case.
        name: String,
    },
    /// The options ask for no share at all.
    #[error("a server needs at least one share")]
    NoShare,
    /// The embedded server refuses its configuration.
    #[error("the embedded server refuses its options")]
    Embedded(#[from] smb_server::BuildError),
    /// The listen address cannot be bound.
    #[error("cannot listen on {addr}")]
    Listen {
        /// The address asked for.
        addr: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A file, process or thread operation failed.
    #[error("cannot {action}")]
    Io {
        /// What was attempted, as an infinitive phrase.
        action: String,
        /// What the system said.
        source: io::Error,
    },
    /// The invoking user id has no account `smbd` could serve.
    #[error("user id {uid} has no account on this system, which smbd needs")]
    NoAccount {
        /// The effective user id.
        uid: u32,
    },
    /// The temporary folder's path has characters `smb.conf` cannot express.
    #[error("the temporary folder {path:?} cannot be written in smb.conf; set TMPDIR to another")]
    TemporaryFolder {
        /// The folder.
        path: std::path::PathBuf,
    },
    /// A line of `smb.conf` that Samba passes over, or does not take.
    #[error("Samba does not take its smb.conf: {said}; correct or drop the line")]
    Configuration {
        /// What is wrong with it.
        said: String,
    },
    /// The Samba password database could not be filled.
    #[error("pdbedit failed with {status}: {output}")]
    Account {
        /// How the program ended.
        status: std::process::ExitStatus,
        /// What it printed.
        output: String,
    },
    /// A Kerberos program did not do what it was asked.
    #[error("{program} failed: {output}")]
    Kerberos {
        /// Its name.
        program: &'static str,
        /// What it printed, and logged.
        output: String,
    },
    /// `smbd` did not come up.
    #[error("smbd {reason}; the end of its log:\n{log}")]
    Samba {
        /// `exited before it was ready` or how long it was waited for.
        reason: String,
        /// The last lines `smbd` wrote.
        log: String,
    },
}

impl LabError {
    /// Wraps an I/O error that happened on trying to `action`.
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}
