//! A study: runs of several servers or settings that are to be compared, as a
//! folder.
//!
//! `study.json` ([`StudyDoc`]) says what was asked for; `runs/SERVER/PROFILE/pass-N.json`
//! is the [`RunDoc`] of one pass, rewritten after each load point. A folder of
//! results without a `study.json` is a study, too, in which each document is a
//! server of its own. Invariant: a study is never rewritten by reading it.
//! Not here: making the runs, and what is printed of them.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::calibration::{CALIBRATION_FILE, CalibrationDoc};
use crate::doc::{self, LoadError, RunDoc, SCHEMA_VERSION, SaveError, ToolDoc};

/// The file that makes a folder a study.
const STUDY_FILE: &str = "study.json";
/// Passes that a study may have.
const PASSES_MAX: u32 = 1000;
/// Characters of a name in the name of a folder.
const SLUG_CHARS_MAX: usize = 40;

/// What a study was to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyDoc {
    /// [`SCHEMA_VERSION`] of the writer.
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

/// Servers that are held against each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparisonDoc {
    /// What it is called in a report: `both honour flushes`.
    pub title: String,
    /// What is done with them.
    pub kind: ComparisonKind,
    /// Names of servers; the first one or the last, as `kind` says, is what the
    /// others are held against.
    pub servers: Vec<String>,
}

/// How servers are held against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ComparisonKind {
    /// The gain of the first over each other one.
    Gain,
    /// Each against the one before: one server with more and more of something.
    Scaling,
    /// Each against the first, which is the baseline: one change at a time.
    Tuning,
}

/// A study with what has been measured of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// What was asked for.
    pub doc: StudyDoc,
    /// What the generator can do at most, where the study's folder tells.
    pub calibration: Option<CalibrationDoc>,
    /// What the folder holds besides, but could not be read: a line each, which
    /// names the file.
    pub unread: Vec<String>,
    /// What there is so far, by server and then by profile, as in `doc`.
    pub results: Vec<StudyResult>,
}

/// All passes of one profile on one server.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyResult {
    /// Which of [`StudyDoc::servers`].
    pub server: usize,
    /// Which of [`StudyDoc::profiles`].
    pub profile: usize,
    /// The passes as one document, see [`RunDoc::pooled`].
    pub run: RunDoc,
}

/// What to do about a file beside results that is none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NoResult {
    LeaveOut,
    Refuse,
}

impl StudyDoc {
    /// What a profile transfers, if it is such a one.
    #[must_use]
    pub fn transfer(&self, profile: &str) -> Option<&TransferDoc> {
        let mut transfers = self.transfers.iter();
        transfers.find(|transfer| transfer.profile == profile)
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
    /// As [`RunDoc::load`].
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

impl Study {
    /// Reads what `folder` holds. A calibration that cannot be read is left out: no
    /// figure of a server comes from it. So is, where there is no `study.json`, what
    /// is no result beside those that are.
    ///
    /// # Errors
    ///
    /// [`LoadError::NotFound`] where there is no folder, or neither a
    /// `study.json` nor any JSON in it; otherwise as [`RunDoc::load`].
    pub fn load(folder: &Path) -> Result<Self, LoadError> {
        Self::read(folder, NoResult::LeaveOut)
    }

    /// The same where nothing may be left out but a calibration.
    ///
    /// # Errors
    ///
    /// As [`Self::load`], and of whatever cannot be read.
    pub(crate) fn load_whole(folder: &Path) -> Result<Self, LoadError> {
        Self::read(folder, NoResult::Refuse)
    }

    fn read(folder: &Path, otherwise: NoResult) -> Result<Self, LoadError> {
        let mut study = match StudyDoc::load(folder)? {
            Some(doc) => Self::of_suite(doc, folder),
            None => Self::of_documents(folder, otherwise),
        }?;
        match CalibrationDoc::load(&folder.join(CALIBRATION_FILE)) {
            Ok(calibration) => study.calibration = Some(calibration),
            Err(LoadError::NotFound { .. }) => {}
            Err(error) => study.unread.push(left_out(&error)),
        }
        Ok(study)
    }

    /// Results of one profile, in the order of the servers.
    pub fn of_profile(&self, profile: usize) -> impl Iterator<Item = &StudyResult> {
        let results = self.results.iter();
        results.filter(move |result| result.profile == profile)
    }

    fn of_suite(doc: StudyDoc, folder: &Path) -> Result<Self, LoadError> {
        let mut results = Vec::new();
        for server in 0..doc.servers.len() {
            for profile in 0..doc.profiles.len() {
                let mut passes = Vec::new();
                for pass in 1..=doc.passes {
                    match RunDoc::load(&folder.join(doc.run_path(server, profile, pass))) {
                        Ok(run) => passes.push(run.as_pass(pass)),
                        Err(LoadError::NotFound { .. }) => {}
                        Err(error) => return Err(error),
                    }
                }
                results.extend(RunDoc::pooled(passes).map(|run| StudyResult {
                    server,
                    profile,
                    run,
                }));
            }
        }
        Ok(Self {
            doc,
            calibration: None,
            unread: Vec::new(),
            results,
        })
    }

    /// Every document of the folder as a server of its own, named as its file.
    fn of_documents(folder: &Path, otherwise: NoResult) -> Result<Self, LoadError> {
        let unreadable = |source| LoadError::Unreadable {
            path: folder.to_owned(),
            source,
        };
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let is_json = path
                .extension()
                .is_some_and(|extension| extension == "json");
            if is_json && !path.ends_with(CALIBRATION_FILE) {
                paths.push(path);
            }
        }
        paths.sort();
        // Of `.` as well.
        let whole = fs::canonicalize(folder).map_err(unreadable)?;
        let name = whole.file_name().unwrap_or(whole.as_os_str());
        let name = name.to_string_lossy().into_owned();
        let mut study = Self {
            doc: StudyDoc {
                schema_version: SCHEMA_VERSION,
                tool: ToolDoc::this(),
                name: name.clone(),
                title: name,
                started: String::new(),
                command: Vec::new(),
                profiles: Vec::new(),
                load_points: Vec::new(),
                passes: 1,
                servers: Vec::new(),
                transfers: Vec::new(),
                comparisons: Vec::new(),
            },
            calibration: None,
            unread: Vec::new(),
            results: Vec::new(),
        };
        let mut first = None;
        for path in &paths {
            match RunDoc::load(path) {
                Ok(run) => study.add(path, run),
                Err(error) if otherwise == NoResult::Refuse => return Err(error),
                Err(error) => {
                    study.unread.push(left_out(&error));
                    first = first.or(Some(error));
                }
            }
        }
        match study.results.is_empty() {
            false => Ok(study),
            true => Err(first.unwrap_or_else(|| LoadError::NotFound {
                path: folder.join(STUDY_FILE),
            })),
        }
    }

    fn add(&mut self, path: &Path, run: RunDoc) {
        let doc = &mut self.doc;
        if doc.started.is_empty() || run.started < doc.started {
            doc.started.clone_from(&run.started);
        }
        let known = doc.profiles.iter();
        let profile = known.clone().position(|name| *name == run.plan.profile);
        let profile = profile.unwrap_or_else(|| {
            doc.profiles.push(run.plan.profile.clone());
            doc.profiles.len() - 1
        });
        doc.load_points
            .extend(run.load_points.iter().map(|point| point.clients));
        doc.load_points.sort_unstable();
        doc.load_points.dedup();
        let passes = run.load_points.iter().map(|point| point.repeat).max();
        doc.passes = doc.passes.max(passes.unwrap_or(1));
        doc.servers.push(StudyServerDoc {
            name: stem(path),
            url: Some(run.server.url.clone()),
            notes: run.server.notes.clone(),
            settings: Vec::new(),
            client: Vec::new(),
        });
        self.results.push(StudyResult {
            server: doc.servers.len() - 1,
            profile,
            run,
        });
    }
}

fn left_out(error: &LoadError) -> String {
    format!("failed to {error}")
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    stem.to_string_lossy().into_owned()
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
