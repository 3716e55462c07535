//! A study: runs of several servers or settings that are to be compared, as a
//! folder.
//!
//! `study.json` ([`StudyDoc`]) says what was asked for; `runs/SERVER/PROFILE/pass-N.json`
//! is the [`RunDoc`] of one pass, rewritten after each load point. A folder of
//! results without a `study.json` is a study, too, in which each document is a
//! server of its own. Invariant: a study is never rewritten by reading it.
//! Not here: making the runs, and what is printed of them.

mod doc;

use std::fs;
use std::path::Path;

use crate::calibration::{CALIBRATION_FILE, CalibrationDoc};
use crate::doc::{LoadError, RunDoc, SCHEMA_VERSION, ToolDoc};

pub use doc::{
    ComparisonDoc, ComparisonKind, StudyDoc, StudyServerDoc, TransferDoc, TransferMode, slug,
};

use doc::STUDY_FILE;

/// A study with what has been measured of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// What was asked for.
    pub doc: StudyDoc,
    /// What the generator can do at most, where the study's folder tells.
    pub calibration: Option<CalibrationDoc>,
    /// The calibration that the folder holds, but that could not be read: a line,
    /// which names the file.
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

    /// The result of a server with a profile, if there is one.
    pub(crate) fn run(&self, server: usize, profile: usize) -> Option<&RunDoc> {
        let mut results = self.of_profile(profile);
        let result = results.find(|result| result.server == server);
        result.map(|result| &result.run)
    }

    /// Whether a profile was left out because it moves larger blocks than a server
    /// takes, by what that said in other runs.
    pub(crate) fn is_beyond(&self, server: usize, profile: usize) -> bool {
        let mut results = self.results.iter();
        let known = results.find(|result| result.server == server);
        let limit = known.map(|known| {
            let server = &known.run.server;
            server.max_read_bytes.min(server.max_write_bytes)
        });
        let name = self.doc.profiles.get(profile);
        let transfer = name.and_then(|name| self.doc.transfer(name));
        let is_larger = transfer
            .zip(limit)
            .is_some_and(|(transfer, limit)| transfer.bytes > limit);
        is_larger && self.run(server, profile).is_none()
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
