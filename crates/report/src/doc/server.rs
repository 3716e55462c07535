//! The server under test.

use serde::{Deserialize, Serialize};

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
    /// What `software` and `storage` were in passes, or parts of a pass, in which they
    /// were not these. Absent where they always were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<GroundDoc>,
    /// Where the server ran.
    #[serde(rename = "where")]
    pub place: Place,
    /// What a reader must know to judge the numbers, one sentence each.
    pub notes: Vec<String>,
}

/// What a server was in a pass: its software and what its share was stored on, each
/// `null` where that is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroundDoc {
    /// As [`ServerDoc::software`].
    pub software: Option<String>,
    /// As [`ServerDoc::storage`].
    pub storage: Option<StorageDoc>,
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

impl ServerDoc {
    /// Takes up what the server was in a further pass.
    pub(super) fn add_pass(&mut self, pass: &Self) {
        for ground in pass.grounds() {
            if self.grounds().all(|known| known != ground) {
                self.otherwise.push(ground);
            }
        }
    }

    /// What it was in all passes, each once, that of the first pass first.
    fn grounds(&self) -> impl Iterator<Item = GroundDoc> {
        let first = GroundDoc {
            software: self.software.clone(),
            storage: self.storage.clone(),
        };
        [first].into_iter().chain(self.otherwise.iter().cloned())
    }
}

impl RunDoc {
    /// Why it says nothing of a disk that the server honours flushes, in a
    /// sentence; `None` where it may.
    #[must_use]
    pub fn idle_flushes(&self) -> Option<String> {
        let server = &self.server;
        let known = || server.grounds().filter_map(|ground| ground.storage);
        let in_memory = known().find(|storage| storage.in_memory)?;
        let is_in_memory = match known().all(|storage| storage.in_memory) {
            true => "is in memory",
            false => "was in memory in some passes",
        };
        (server.flush == Some(FlushDoc::Honours)).then(|| {
            format!(
                "its share {is_in_memory} ({}): a flush costs nothing there, whatever the server \
                 makes of it",
                in_memory.filesystem
            )
        })
    }

    /// What of the server was not the same in all passes, so that no mean over them is
    /// of one server, in a sentence; `None` where all was, as far as known.
    #[must_use]
    pub fn mixed_passes(&self) -> Option<String> {
        let grounds = || self.server.grounds();
        let software = grounds().filter_map(|ground| ground.software);
        let storage = grounds().filter_map(|ground| ground.storage);
        let parts = [
            ("software", several(software)),
            ("storage", several(storage.map(|storage| storage.told()))),
        ];
        let parts = parts.into_iter();
        let parts: Vec<_> = parts
            .filter_map(|(what, told)| told.map(|told| format!("{what} {told}")))
            .collect();
        (!parts.is_empty()).then(|| format!("not the same in all passes: {}", parts.join("; ")))
    }
}

/// `ext4 of /dev/sda1 and tmpfs`; `None` unless there are several.
fn several(all: impl Iterator<Item = String>) -> Option<String> {
    let mut different: Vec<String> = Vec::new();
    for one in all {
        if !different.contains(&one) {
            different.push(one);
        }
    }
    (different.len() > 1).then(|| different.join(" and "))
}

impl StorageDoc {
    /// `ext4 of /dev/sda1`, `tmpfs, in memory`.
    #[must_use]
    pub fn told(&self) -> String {
        let mut told = self.filesystem.clone();
        if self.source != self.filesystem {
            told += &format!(" of {}", self.source);
        }
        if self.in_memory {
            told += ", in memory";
        }
        told
    }
}
