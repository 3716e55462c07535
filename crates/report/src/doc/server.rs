//! The server under test.

use serde::{Deserialize, Serialize};
use smbench_engine::storage::Storage;

use super::RunDoc;

/// Where a server ran, seen from the generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// Wherever the target URL says.
    Remote,
    /// On this machine, started by smbench for this run.
    Embedded,
}

/// What a server does when a client asks it to flush (MS-SMB2 3.3.5.11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlushDoc {
    /// What was written is on stable storage before it answers.
    Honours,
    /// It answers without writing.
    Ignores,
    /// Nobody has said, and nothing has shown it.
    #[default]
    Unknown,
}

/// The server under test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerDoc {
    /// The target without its password.
    pub url: String,
    /// As what sessions were let in: `ntlm`, `kerberos`, `guest` or
    /// `anonymous`; `null` where an older release did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<String>,
    /// Negotiated dialect: `2.0.2` to `3.1.1`; `none` where it was no SMB server.
    pub dialect: String,
    /// `off`, `hmac-sha256`, `aes-128-cmac` or `aes-128-gmac`. What is encrypted
    /// is not signed besides.
    pub signing: String,
    /// `off`, or the cipher: `aes-128-gcm`, `aes-128-ccm`, `aes-256-gcm` or
    /// `aes-256-ccm`.
    pub encryption: String,
    /// Largest READ the server answers, in bytes.
    pub max_read_bytes: u32,
    /// Largest WRITE the server accepts, in bytes.
    pub max_write_bytes: u32,
    /// Largest transaction (query, directory listing) in bytes.
    pub max_transact_bytes: u32,
    /// What it does on a FLUSH, as disclosed, or as known of a server that
    /// smbench set up. Not in documents of releases that did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<FlushDoc>,
    /// The program and its version, such as `Samba 4.17.12-Debian`, of a server
    /// that smbench started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software: Option<String>,
    /// What its share is stored on, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageDoc>,
    /// Where the server ran.
    #[serde(rename = "where")]
    pub place: Place,
    /// What a reader must know to judge the numbers, one sentence each.
    pub notes: Vec<String>,
}

/// What a share is stored on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageDoc {
    /// The kind of file system: `ext4`, `tmpfs`.
    pub filesystem: String,
    /// What is mounted: `/dev/sda1`, `tmpfs`.
    pub source: String,
    /// Whether it is in memory, so that a flush costs nothing.
    pub in_memory: bool,
}

impl From<&Storage> for StorageDoc {
    fn from(storage: &Storage) -> Self {
        Self {
            filesystem: storage.filesystem.clone(),
            source: storage.source.clone(),
            in_memory: storage.is_memory(),
        }
    }
}

impl RunDoc {
    /// Why it says nothing of a disk that the server honours flushes, in a
    /// sentence; `None` where it may.
    #[must_use]
    pub fn idle_flushes(&self) -> Option<String> {
        let storage = self
            .server
            .storage
            .as_ref()
            .filter(|storage| storage.in_memory)?;
        (self.server.flush == Some(FlushDoc::Honours)).then(|| {
            format!(
                "its share is in memory ({}): a flush costs nothing there, whatever the server \
                 makes of it",
                storage.filesystem
            )
        })
    }
}
