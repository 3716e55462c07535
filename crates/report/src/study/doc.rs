//! The plan of a study: `study.json`, and where its runs belong.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::doc::{self, FindKind, LoadError, SaveError, ToolDoc};

/// Name of the file that makes a folder a study.
pub(super) const STUDY_FILE: &str = "study.json";
/// Highest number of passes of a study.
const PASSES_MAX: u32 = 1000;
/// Highest number of characters of a name in a folder's name.
const SLUG_CHARS_MAX: usize = 40;

/// The plan of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyDoc {
    /// [`SCHEMA_VERSION`](doc::SCHEMA_VERSION) of the program that wrote the
    /// document.
    pub schema_version: u32,
    /// The program that wrote the document.
    pub tool: ToolDoc,
    /// The suite's name: `veritest-2004`.
    pub name: String,
    /// Title of the study in a report.
    pub title: String,
    /// Wall-clock time of the first start, RFC 3339 in UTC, to the second.
    pub started: String,
    /// The command line that started the study, one argument per element. It never
    /// contains a secret.
    pub command: Vec<String>,
    /// Profiles by name, each run on every server.
    pub profiles: Vec<String>,
    /// Clients of each load point, in the order they run.
    pub load_points: Vec<u32>,
    /// Number of passes over the load points on each server.
    pub passes: u32,
    /// The servers, in the order of their columns.
    pub servers: Vec<StudyServerDoc>,
    /// Profiles that move blocks of one size in one direction, or in both. Absent
    /// if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transfers: Vec<TransferDoc>,
    /// Profiles whose load points are the probes of a search. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<StudySearchDoc>,
    /// Comparisons that the study asks for, each a separate table.
    #[serde(default)]
    pub comparisons: Vec<ComparisonDoc>,
}

/// A server, or one setting of a server, of a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyServerDoc {
    /// Name of the server in tables, unique within a study.
    pub name: String,
    /// The target without its password; `null` if the study started the server.
    pub url: Option<String>,
    /// Remarks that the reader must know, one sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Lines of the server's configuration that the study set: those of `smb.conf`.
    #[serde(default)]
    pub settings: Vec<String>,
    /// The smbd that the study started, or the program that ran it. Absent if it was the
    /// installed one, and for an existing server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smbd: Option<String>,
    /// Options of its clients that differ from those of other servers, as the suite
    /// words them: `oplock = batch`. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client: Vec<String>,
}

/// A profile that moves blocks of one size, sequentially and without delay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransferDoc {
    /// The profile: one of [`StudyDoc::profiles`].
    pub profile: String,
    /// Direction of the transfer.
    pub mode: TransferMode,
    /// Bytes per request.
    pub bytes: u32,
    /// Number of generators that every client of a load point has on its
    /// connection. Each is an SMB session.
    pub generators_per_client: u32,
}

/// A search for a limit of each server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudySearchDoc {
    /// Name of the search: one of [`StudyDoc::profiles`].
    pub profile: String,
    /// What is searched for.
    pub kind: FindKind,
    /// The conditions that must hold. For sessions, the condition that ends the search.
    pub limit: Vec<String>,
    /// The first load; absent for sessions, like the next keys but `max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
    /// The highest load.
    pub max: f64,
    /// The largest distance between the answer and the load that does not hold, as a share
    /// of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// Number of probes in which the answer has to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmations: Option<u32>,
    /// Number of probes that the answer has at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmations_of: Option<u32>,
    /// Highest number of probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<u32>,
    /// Points of the load curve after the search. Absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<u32>,
}

/// Direction of data, seen from the server's network adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TransferMode {
    /// The server sends: clients read.
    Transmit,
    /// The server receives: clients write.
    Receive,
    /// Both at once: each client has a generator that reads and one that writes.
    Duplex,
}

impl TransferMode {
    /// All modes, in the order of the published adapter tests.
    pub const ALL: [Self; 3] = [Self::Transmit, Self::Receive, Self::Duplex];

    /// Returns `transmit`, `receive` or `duplex`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transmit => "transmit",
            Self::Receive => "receive",
            Self::Duplex => "duplex",
        }
    }
}

/// A comparison of servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonDoc {
    /// Title of the comparison in a report: `both honour flushes`.
    pub title: String,
    /// The kind of comparison.
    pub kind: ComparisonKind,
    /// The server that the others are compared with. Absent if that is the first of
    /// `servers`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Names of the compared servers.
    pub servers: Vec<String>,
}

/// The kind of comparison. A percentage is in the row of the server that changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ComparisonKind {
    /// Each server against the baseline. Documents call it `tuning`, which every
    /// release reads; suites may use either name.
    #[default]
    #[serde(rename = "tuning", alias = "change")]
    Change,
    /// Each server against the one before: one server with a growing resource.
    Scaling,
    /// Gain of the first over each other server; only in documents of earlier
    /// releases. Tables show it as [`Self::Change`] from the first, and say so.
    Gain,
}

impl ComparisonDoc {
    /// Returns the server that the others are compared with.
    #[must_use]
    pub fn baseline(&self) -> Option<&str> {
        let first = self.servers.first();
        self.baseline.as_ref().or(first).map(String::as_str)
    }

    /// Returns the server that a server is compared with: the baseline, or in a scaling
    /// the one before it. `None` if the server is not in the comparison, or is the first
    /// of a scaling.
    fn baseline_of(&self, server: &str) -> Option<&str> {
        let rows: Vec<_> = self.rows().collect();
        let at = rows.iter().position(|name| *name == server)?;
        match self.kind {
            ComparisonKind::Change | ComparisonKind::Gain => self.baseline(),
            ComparisonKind::Scaling => rows.get(at.checked_sub(1)?).copied(),
        }
    }

    /// Returns the servers in the order of their rows: the baseline first.
    pub fn rows(&self) -> impl Iterator<Item = &str> {
        let baseline = self.baseline();
        let servers = self.servers.iter().map(String::as_str);
        let others = servers.filter(move |name| Some(*name) != baseline);
        baseline.into_iter().chain(others)
    }
}

impl StudyDoc {
    /// Returns the transfer of a profile, if it has one.
    #[must_use]
    pub fn transfer(&self, profile: &str) -> Option<&TransferDoc> {
        let mut transfers = self.transfers.iter();
        transfers.find(|transfer| transfer.profile == profile)
    }

    /// Returns the search that a profile is, if it is one.
    #[must_use]
    pub fn search(&self, profile: &str) -> Option<&StudySearchDoc> {
        let mut searches = self.searches.iter();
        searches.find(|search| search.profile == profile)
    }

    /// Returns the number of searches in words: `6 searches for limits`. `None` without any.
    #[must_use]
    pub fn searches_in_words(&self) -> Option<String> {
        match self.searches.len() {
            0 => None,
            1 => Some("1 search for a limit".to_owned()),
            several => Some(format!("{several} searches for limits")),
        }
    }

    /// Returns the server that others are compared with by default: the baseline of
    /// the first comparison, or the first server.
    #[must_use]
    pub fn baseline(&self) -> Option<&str> {
        let mut compared = self.comparisons.iter().filter_map(ComparisonDoc::baseline);
        let first = self.servers.first().map(|server| server.name.as_str());
        compared.find(|name| self.has_server(name)).or(first)
    }

    /// Returns the servers that a server is compared with in its comparisons, otherwise
    /// the baseline of the study. Empty for the baseline itself.
    #[must_use]
    pub fn baselines_of(&self, server: &str) -> Vec<&str> {
        let is_other = |name: &&str| *name != server && self.has_server(name);
        let mut found = Vec::new();
        for part in &self.comparisons {
            let baseline = part.baseline_of(server).filter(is_other);
            found.extend(baseline.filter(|name| !found.contains(name)));
        }
        if found.is_empty() {
            found.extend(self.baseline().filter(is_other));
        }
        found
    }

    /// Returns the name of a server by its number; nothing if there is none.
    #[must_use]
    pub fn server_name(&self, server: usize) -> &str {
        let server = self.servers.get(server);
        server.map_or("", |server| &server.name)
    }

    /// Returns the name of a profile by its number; nothing if there is none.
    #[must_use]
    pub fn profile_name(&self, profile: usize) -> &str {
        self.profiles.get(profile).map_or("", String::as_str)
    }

    fn has_server(&self, name: &str) -> bool {
        self.server_number(name).is_some()
    }

    /// Returns the number of a server, from 0.
    pub(crate) fn server_number(&self, name: &str) -> Option<usize> {
        self.servers.iter().position(|server| server.name == name)
    }

    /// Returns the path of a pass's document within the study's folder. Passes
    /// count from 1.
    #[must_use]
    pub fn run_path(&self, server: usize, profile: usize, pass: u32) -> PathBuf {
        let name = |names: &str, at: usize| format!("{:02}-{}", at + 1, slug(names));
        Path::new("runs")
            .join(name(self.server_name(server), server))
            .join(name(self.profile_name(profile), profile))
            .join(format!("pass-{pass}.json"))
    }

    /// Writes `study.json` into `folder` and replaces an older one atomically.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), SaveError> {
        doc::save(self, &folder.join(STUDY_FILE))
    }

    /// Reads `study.json` of `folder`; `None` if there is none.
    ///
    /// # Errors
    ///
    /// The errors of [`doc::RunDoc::load`].
    pub fn load(folder: &Path) -> Result<Option<Self>, LoadError> {
        let path = folder.join(STUDY_FILE);
        match doc::read(&path) {
            Ok(bytes) => match doc::parse::<Self>(&bytes, &path)? {
                study if study.passes > PASSES_MAX => Err(LoadError::Malformed {
                    path,
                    detail: format!("{} passes: there are {PASSES_MAX} at most", study.passes),
                }),
                study => Ok(Some(study)),
            },
            Err(LoadError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Turns any name into a part of a path: at most 40 characters, `a` to `z`, digits,
/// `.`, `_` and `-`.
#[must_use]
pub fn slug(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    name.chars().take(SLUG_CHARS_MAX).map(plain).collect()
}
