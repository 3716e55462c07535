//! Errors of captures: one line, with the frame where there is one.

use std::io;

use smbench_protocol::kerberos::MalformedFile;

/// Reason why a capture cannot be read.
#[derive(Debug, thiserror::Error)]
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
    /// The file is damaged.
    #[error("{file} is damaged after frame {frame}: {what}; {}", rescue(*.frame))]
    Damaged {
        /// Name of the file.
        file: String,
        /// The last frame that was read, counted as Wireshark does; 0 before the first.
        frame: u64,
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

/// Says how a damaged file can be read.
fn rescue(frame: u64) -> String {
    match frame {
        0 => "record it again".to_owned(),
        _ => format!("editcap -r keeps the frames 1-{frame}"),
    }
}
