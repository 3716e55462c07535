//! What a study was to measure: `study.json`, and where its runs belong.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::doc::{self, LoadError, SaveError, ToolDoc};

/// The file that makes a folder a study.
pub(super) const STUDY_FILE: &str = "study.json";
/// Passes that a study may have.
const PASSES_MAX: u32 = 1000;
/// Characters of a name in the name of a folder.
const SLUG_CHARS_MAX: usize = 40;

/// What a study was to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyDoc {
    /// [`SCHEMA_VERSION`](doc::SCHEMA_VERSION) of the writer.
    pub schema_version: u32,
    /// What wrote the document.
    pub tool: ToolDoc,
    /// The suite's name: `veritest-2004`.
    pub name: String,
    /// What it is called in a report.
    pub title: String,
    /// Wall-clock time of the first start, RFC 3339 in UTC, to the second.
    pub started: String,
    /// The command line that started it, one argument per element; no secret
    /// is ever in one.
    pub command: Vec<String>,
    /// Profiles by name, each run on every server.
    pub profiles: Vec<String>,
    /// Clients of each load point, in the order they run.
    pub load_points: Vec<u32>,
    /// Passes over the load points on each server.
    pub passes: u32,
    /// The servers, in the order of their columns.
    pub servers: Vec<StudyServerDoc>,
    /// Profiles that move blocks of one size in one direction, or in both. Absent
    /// where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transfers: Vec<TransferDoc>,
    /// What the study is about, each a table of its own.
    #[serde(default)]
    pub comparisons: Vec<ComparisonDoc>,
}

/// A server, or one setting of a server, of a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyServerDoc {
    /// What it is called in tables; no two of a study are called the same.
    pub name: String,
    /// The target without its password; `null` where the study started the
    /// server.
    pub url: Option<String>,
    /// What the reader must be told about it, one sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Lines of its configuration that the study set: those of `smb.conf`.
    #[serde(default)]
    pub settings: Vec<String>,
    /// What its clients did otherwise than those of other servers, as the suite has
    /// it: `oplock = batch`. Absent where they did not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client: Vec<String>,
}

/// A profile that moves blocks of one size, sequentially and without delay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferDoc {
    /// Which of [`StudyDoc::profiles`].
    pub profile: String,
    /// In which direction.
    pub mode: TransferMode,
    /// Bytes per request.
    pub bytes: u32,
    /// Generators, each an SMB session, that every client of a load point has on
    /// its connection.
    pub generators_per_client: u32,
}

/// Which way data goes, seen from the server's network adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// All of them, in the order of the published adapter tests.
    pub const ALL: [Self; 3] = [Self::Transmit, Self::Receive, Self::Duplex];

    /// `transmit`, `receive` or `duplex`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transmit => "transmit",
            Self::Receive => "receive",
            Self::Duplex => "duplex",
        }
    }
}

/// Servers that are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparisonDoc {
    /// What it is called in a report: `both honour flushes`.
    pub title: String,
    /// How they are compared.
    pub kind: ComparisonKind,
    /// The server that the others are compared with. Absent where that is the first of
    /// `servers`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Names of servers.
    pub servers: Vec<String>,
}

/// How servers are compared. A percentage stands in the row of the server that changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ComparisonKind {
    /// Each against the baseline. Documents name it `tuning`, which every release reads;
    /// suites may write either.
    #[default]
    #[serde(rename = "tuning", alias = "change")]
    Change,
    /// Each against the one before: one server with more and more of something.
    Scaling,
    /// In documents of earlier releases: the gain of the first over each other server.
    /// Tables show it as [`Self::Change`] against the first, and say so.
    Gain,
}

impl ComparisonDoc {
    /// The server that the others are compared with.
    #[must_use]
    pub fn baseline(&self) -> Option<&str> {
        let first = self.servers.first();
        self.baseline.as_ref().or(first).map(String::as_str)
    }

    /// The server that one is compared with: the baseline, or the one before it. `None`
    /// for one that is not in the comparison, and for the first of a scaling.
    fn baseline_of(&self, server: &str) -> Option<&str> {
        let rows: Vec<_> = self.rows().collect();
        let at = rows.iter().position(|name| *name == server)?;
        match self.kind {
            ComparisonKind::Change | ComparisonKind::Gain => self.baseline(),
            ComparisonKind::Scaling => rows.get(at.checked_sub(1)?).copied(),
        }
    }

    /// The servers in the order of their rows: the baseline first.
    pub fn rows(&self) -> impl Iterator<Item = &str> {
        let baseline = self.baseline();
        let servers = self.servers.iter().map(String::as_str);
        let others = servers.filter(move |name| Some(*name) != baseline);
        baseline.into_iter().chain(others)
    }
}

impl StudyDoc {
    /// What a profile transfers, if it is such a one.
    #[must_use]
    pub fn transfer(&self, profile: &str) -> Option<&TransferDoc> {
        let mut transfers = self.transfers.iter();
        transfers.find(|transfer| transfer.profile == profile)
    }

    /// The server that others are compared with where no comparison says otherwise: the
    /// baseline of the first comparison, or the first server.
    #[must_use]
    pub fn baseline(&self) -> Option<&str> {
        let mut compared = self.comparisons.iter().filter_map(ComparisonDoc::baseline);
        let first = self.servers.first().map(|server| server.name.as_str());
        compared.find(|name| self.has_server(name)).or(first)
    }

    /// The servers that one is compared with in the comparisons that it is in, otherwise
    /// the baseline of the study. None for the baseline itself.
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

    fn has_server(&self, name: &str) -> bool {
        self.servers.iter().any(|server| server.name == name)
    }

    /// Where the document of one pass, counted from 1, of a profile on a server
    /// belongs, below the study's folder.
    #[must_use]
    pub fn run_path(&self, server: usize, profile: usize, pass: u32) -> PathBuf {
        let name = |names: &str, at: usize| format!("{:02}-{}", at + 1, slug(names));
        let server_name = self.servers.get(server).map_or("", |server| &server.name);
        let profile_name = self.profiles.get(profile).map_or("", String::as_str);
        Path::new("runs")
            .join(name(server_name, server))
            .join(name(profile_name, profile))
            .join(format!("pass-{pass}.json"))
    }

    /// Writes `study.json` into `folder`, replacing any older one at once.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), SaveError> {
        doc::save(self, &folder.join(STUDY_FILE))
    }

    /// Reads `study.json` of `folder`; `None` where there is none.
    ///
    /// # Errors
    ///
    /// As [`doc::RunDoc::load`].
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

/// A name as a part of a path, whatever it has in it: at most 40 characters,
/// `a` to `z`, digits, `.`, `_` and `-`.
#[must_use]
pub fn slug(name: &str) -> String {
    let plain = |c: char| match c.is_ascii_alphanumeric() || matches!(c, '.' | '_') {
        true => c.to_ascii_lowercase(),
        false => '-',
    };
    name.chars().take(SLUG_CHARS_MAX).map(plain).collect()
}
