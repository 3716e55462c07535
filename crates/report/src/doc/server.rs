//! The server under test.

use itertools::Itertools as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::record::{ServerFacts, SplitSizes};
use smbench_model::tree::TreeUsed;

use super::durability::WriteDoc;

/// Location of a server, seen from the generator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ServerLocation {
    /// On the machine that the target URL names.
    #[default]
    Remote,
    /// On this machine, started by smbench for this run.
    Embedded,
}

/// The note of a result of the built-in server that is not started by the run itself.
pub const BUILT_IN_NOTE: &str = "smbench's built-in server, files are in memory: not for quoting";

/// What a reader must know of such a result beside those of other servers.
pub(crate) const BUILT_IN: &str =
    "smbench's built-in server, with files in memory: it is no measure of other servers";

/// The server's answer to a flush request (MS-SMB2 3.3.5.11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FlushDoc {
    /// The server answers when the written data is on stable storage.
    Honours,
    /// The server answers without writing.
    Ignores,
    /// Neither disclosed nor known.
    #[default]
    Unknown,
}

/// The origin of the tree that a run works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TreeOriginDoc {
    /// It was prepared before.
    Prepared,
    /// The run made it.
    Own,
}

impl From<&TreeUsed> for TreeOriginDoc {
    fn from(tree: &TreeUsed) -> Self {
        match tree {
            TreeUsed::Prepared => Self::Prepared,
            TreeUsed::Own { .. } => Self::Own,
        }
    }
}

/// The server under test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ServerDoc {
    /// The target without its password.
    pub url: String,
    /// The log-on that the server accepted: `ntlm`, `kerberos`, `guest` or
    /// `anonymous`. `null` if an older release did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<String>,
    /// Negotiated dialect: `2.0.2` to `3.1.1`; `none` if the target was not an SMB
    /// server.
    pub dialect: String,
    /// `off`, `hmac-sha256`, `aes-128-cmac` or `aes-128-gmac`. Encrypted messages
    /// are not signed as well.
    pub signing: String,
    /// `off`, or the cipher: `aes-128-gcm`, `aes-128-ccm`, `aes-256-gcm` or
    /// `aes-256-ccm`.
    pub encryption: String,
    /// What the sessions of each population agreed to, in the order of the plan. The keys of the
    /// server have that of the first one. Absent if all agreed to the same and split operations in
    /// the same way, and in documents of releases that did not record it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionTermsDoc>,
    /// Largest READ the server answers, in bytes.
    pub max_read_bytes: u32,
    /// Largest WRITE the server accepts, in bytes.
    pub max_write_bytes: u32,
    /// Largest transaction (query, directory listing) in bytes.
    pub max_transact_bytes: u32,
    /// The requests into which larger operations of this run were split: those that are
    /// larger than the server's limit, or than the credits of the run pay for. Absent if
    /// each operation fits one request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<SplitSizes>,
    /// The tree of the run on the share: `prepared` before it, or its `own`, if one population
    /// has such a one. Absent if its files are in no tree, and in documents of releases that did
    /// not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeOriginDoc>,
    /// The server's handling of a FLUSH, as disclosed, or as known of a server that
    /// smbench set up. Absent in documents of releases that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<FlushDoc>,
    /// Whether a WRITE waits for stable storage, as disclosed, or as known of a server that
    /// smbench set up. Absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<WriteDoc>,
    /// The program and its version, such as `Samba 4.17.12-Debian`. Only known for
    /// a server that smbench started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software: Option<String>,
    /// The build of that program, where it is not the installed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<BuildDoc>,
    /// The storage of the share, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageDoc>,
    /// `software` and `storage` of passes, or parts of a pass, in which they were
    /// different. Absent if they always were the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<GroundDoc>,
    /// Location of the server.
    #[serde(rename = "where")]
    pub place: ServerLocation,
    /// Facts that a reader needs to judge the numbers, one sentence each.
    pub notes: Vec<String>,
}

/// What the server and the sessions of a population agreed to. Its keys mean the same as those of
/// the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SessionTermsDoc {
    /// Name of the population.
    pub population: String,
    /// The log-on that the server accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<String>,
    /// Negotiated dialect.
    pub dialect: String,
    /// The algorithm that signs messages, or `off`.
    pub signing: String,
    /// The cipher, or `off`.
    pub encryption: String,
    /// The requests into which its larger operations were split. Absent if each fits one request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<SplitSizes>,
}

impl SessionTermsDoc {
    /// Describes the session of a population of this name.
    pub(crate) fn of(population: &str, facts: &ServerFacts) -> Self {
        let dialect = facts.dialect.map_or("none", |dialect| dialect.name());
        let encryption = facts.encryption.map_or("off", |cipher| cipher.name());
        Self {
            population: population.to_owned(),
            auth: facts.logon.map(|logon| logon.name().to_owned()),
            dialect: dialect.to_owned(),
            signing: facts.signing.unwrap_or("off").to_owned(),
            encryption: encryption.to_owned(),
            split: facts.split,
        }
    }
}

/// Software and storage of a server in a pass, each `null` if it is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct GroundDoc {
    /// The software of the server; see [`ServerDoc::software`].
    pub software: Option<String>,
    /// The storage of the share; see [`ServerDoc::storage`].
    pub storage: Option<StorageDoc>,
}

/// The build of a server that smbench started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildDoc {
    /// Path of the program. It may be a wrapper that runs the server.
    pub program: String,
    /// Options of the build that matter to a measurement, as `smbd -b` names them:
    /// `WITH_PROFILE`, `HAVE_LIBURING`, `CLUSTER_SUPPORT`, `ENABLE_SELFTEST`, `DEVELOPER`.
    pub options: Vec<String>,
}

impl BuildDoc {
    /// Returns a text: `/opt/samba/sbin/smbd (WITH_PROFILE)`.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.options[..] {
            [] => self.program.clone(),
            options => format!("{} ({})", self.program, options.join(", ")),
        }
    }
}

/// The storage of a share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StorageDoc {
    /// The kind of file system: `ext4`, `tmpfs`.
    pub filesystem: String,
    /// The mounted device: `/dev/sda1`, `tmpfs`.
    pub source: String,
    /// Whether the storage is in memory, so that a flush costs nothing.
    pub in_memory: bool,
}

impl ServerDoc {
    /// Returns the protocol with its dialect: `SMB 3.1.1` or `CIFS`.
    #[must_use]
    pub fn protocol(&self) -> String {
        if self.is_cifs() {
            "CIFS".to_owned()
        } else {
            format!("SMB {}", self.dialect)
        }
    }

    pub(crate) fn is_cifs(&self) -> bool {
        self.dialect == "cifs"
    }

    /// Returns it as the sessions of the population of this name saw it.
    pub(crate) fn of_population(&self, name: &str) -> Self {
        let mut sessions = self.sessions.iter();
        let terms = sessions.find(|terms| terms.population == name);
        let of_first = Self {
            sessions: Vec::new(),
            ..self.clone()
        };
        match terms.cloned() {
            None => of_first,
            Some(terms) => Self {
                auth: terms.auth,
                dialect: terms.dialect,
                signing: terms.signing,
                encryption: terms.encryption,
                ..of_first
            },
        }
    }

    /// Returns whether the sessions agreed to the same as those of another run.
    pub(crate) fn has_same_terms_as(&self, other: &Self) -> bool {
        (&self.auth, &self.dialect) == (&other.auth, &other.dialect)
            && (&self.signing, &self.encryption) == (&other.signing, &other.encryption)
            && self.sessions == other.sessions
    }

    /// Adds the software and storage of another pass.
    pub(crate) fn add_pass(&mut self, pass: &Self) {
        for ground in pass.grounds() {
            if self.grounds().all(|known| known != ground) {
                self.otherwise.push(ground);
            }
        }
    }

    /// Returns software and storage of all passes, each once, those of the first
    /// pass first.
    fn grounds(&self) -> impl Iterator<Item = GroundDoc> {
        let first = GroundDoc {
            software: self.software.clone(),
            storage: self.storage.clone(),
        };
        [first].into_iter().chain(self.otherwise.iter().cloned())
    }

    /// Explains in a sentence why honoured flushes say nothing about a disk: the
    /// share is in memory. `None` if they do.
    #[must_use]
    pub fn idle_flushes(&self) -> Option<String> {
        let known = || self.grounds().filter_map(|ground| ground.storage);
        let in_memory = known().find(|storage| storage.in_memory)?;
        let is_in_memory = if known().all(|storage| storage.in_memory) {
            "is in memory"
        } else {
            "was in memory in some passes"
        };
        (self.flush == Some(FlushDoc::Honours)).then(|| {
            format!(
                "its share {is_in_memory} ({}): a flush costs nothing there, whatever the server \
                 makes of it",
                in_memory.filesystem
            )
        })
    }

    /// Names in a sentence the software and storage that differed between passes.
    /// Means over those passes do not describe one server. `None` if all were the
    /// same, as far as known.
    #[must_use]
    pub fn mixed_passes(&self) -> Option<String> {
        let software = self.grounds().filter_map(|ground| ground.software);
        let storage = self.grounds().filter_map(|ground| ground.storage);
        let parts = [
            several("software", software),
            several("storage", storage.map(|storage| storage.text())),
        ];
        let parts = parts.into_iter().flatten().join("; ");
        (!parts.is_empty()).then(|| format!("not the same in all passes: {parts}"))
    }
}

/// Joins different texts: `ext4 of /dev/sda1 and tmpfs`; `None` unless there are
/// several.
fn several(what: &str, all: impl Iterator<Item = String>) -> Option<String> {
    let different = all.unique().collect_vec();
    (different.len() > 1).then(|| format!("{what} {}", different.join(" and ")))
}

impl StorageDoc {
    /// Returns a text: `ext4 of /dev/sda1`, `tmpfs, in memory`.
    #[must_use]
    pub fn text(&self) -> String {
        let mut words = self.filesystem.clone();
        if self.source != self.filesystem {
            words += &format!(" of {}", self.source);
        }
        if self.in_memory {
            words += ", in memory";
        }
        words
    }
}
