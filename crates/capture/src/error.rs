//! Errors of captures: one line, with the frame where there is one.

use std::io;

use smbench_protocol::kerberos::MalformedFile;

/// Reason why a capture cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file cannot be read.
    #[error("failed to read {file}: {source}")]
    Io {
        /// Name of the file.
        file: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file has no bytes.
    #[error("{file} is empty: expected a capture as tcpdump or Wireshark writes it")]
    Empty {
        /// Name of the file.
        file: String,
    },
    /// The file has another format.
    #[error("{file} is no capture: it is neither pcap nor pcapng, but {found}")]
    Foreign {
        /// Name of the file.
        file: String,
        /// What its first bytes are.
        found: String,
    },
    /// The file is damaged before its first frame.
    #[error("{file} is damaged before its first frame: {what}; record it again")]
    Damaged {
        /// Name of the file.
        file: String,
        /// The damage.
        what: &'static str,
    },
    /// No connection has SMB messages.
    #[error(
        "{capture} has no SMB: {held}; record the server's port, mostly 445, with whole packets"
    )]
    NoSmb {
        /// Name of its first file, and how many more it has.
        capture: String,
        /// What its frames hold instead.
        held: String,
    },
    /// A key file has a line that is no key.
    #[error("{file}:{line}: {what}")]
    Key {
        /// Name of the file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What was expected.
        what: &'static str,
    },
    /// A file is no keytab.
    #[error("{file}: {source}")]
    Keytab {
        /// Name of the file.
        file: String,
        /// The damage.
        source: MalformedFile,
    },
}
