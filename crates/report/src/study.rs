//! A study: a folder of runs of several servers or settings that are to be
//! compared.
//!
//! `study.json` ([`StudyDoc`]) has the plan of the study.
//! `runs/SERVER/PROFILE/pass-N.json` is the [`RunDoc`] of one pass; it is rewritten
//! after each load point. A folder of results without a `study.json` is a study as
//! well: each document is a separate server, unless documents have the same label.
//! Invariant: reading a study never
//! rewrites it. Not here: making the runs, and printing them.

mod doc;
mod short;

use std::fs;
use std::path::{Path, PathBuf};

use itertools::Itertools as _;

use crate::calibration::CALIBRATION_FILE;
use crate::doc::{CalibrationDoc, LoadError, RunDoc, SCHEMA_VERSION, ToolDoc};
use crate::units::{counted, plain};

pub use doc::{
    ComparisonDoc, ComparisonKind, StudyDoc, StudySearchDoc, StudyServerDoc, TransferDoc,
    TransferMode, slug,
};

pub use short::place;

use doc::STUDY_FILE;

/// A study with its results so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// The plan of the study.
    pub doc: StudyDoc,
    /// The limit of the generator, if the study's folder has a calibration.
    pub calibration: Option<CalibrationDoc>,
    /// Error of a calibration in the folder that could not be read: a line that
    /// names the file.
    pub unread: Vec<String>,
    /// Results of the built-in server that were left out, because the folder has others:
    /// a line for people.
    pub set_aside: Option<String>,
    /// Results so far, by server and then by profile, as in `doc`.
    pub results: Vec<StudyResult>,
}

/// All passes of one profile on one server.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyResult {
    /// Index into [`StudyDoc::servers`].
    pub server: usize,
    /// Index into [`StudyDoc::profiles`].
    pub profile: usize,
    /// The passes as one document; see [`RunDoc::pooled`].
    pub run: RunDoc,
}

/// Treatment of a file next to results that is not a result itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NoResult {
    LeaveOut,
    Refuse,
}

/// The path of a document, and the document.
type LoadedDoc = (PathBuf, Result<RunDoc, LoadError>);

fn load_all(paths: &[PathBuf]) -> Vec<LoadedDoc> {
    let load = |path: &PathBuf| (path.clone(), RunDoc::load(path));
    paths.iter().map(load).collect()
}

impl Study {
    /// Reads the study in `folder`. A calibration that cannot be read is left out,
    /// because no figure of a server depends on it. Without a `study.json`, files
    /// that are not results are also left out if there are results.
    ///
    /// # Errors
    ///
    /// [`LoadError::NotFound`] if the folder does not exist, or has neither a
    /// `study.json` nor any JSON file. Otherwise the errors of [`RunDoc::load`].
    pub fn load(folder: &Path) -> Result<Self, LoadError> {
        Self::read(folder, NoResult::LeaveOut)
    }

    /// Reads the study in `folder`, where only a calibration may be left out.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::load`], and of every file that cannot be read.
    pub(crate) fn load_whole(folder: &Path) -> Result<Self, LoadError> {
        Self::read(folder, NoResult::Refuse)
    }

    fn read(folder: &Path, otherwise: NoResult) -> Result<Self, LoadError> {
        let mut study = match StudyDoc::load(folder)? {
            Some(doc) => Self::of_suite(doc, folder),
            None => Self::of_folder(folder, otherwise),
        }?;
        match CalibrationDoc::load(&folder.join(CALIBRATION_FILE)) {
            Ok(calibration) => study.calibration = Some(calibration),
            Err(LoadError::NotFound { .. }) => {}
            Err(error) => study.unread.push(left_out(&error)),
        }
        Ok(study)
    }

    /// Returns the results of one profile, in the order of the servers.
    pub fn of_profile(&self, profile: usize) -> impl Iterator<Item = &StudyResult> {
        let results = self.results.iter();
        results.filter(move |result| result.profile == profile)
    }

    /// Returns the result of a server with a profile, if there is one.
    pub(crate) fn run(&self, server: usize, profile: usize) -> Option<&RunDoc> {
        let mut results = self.of_profile(profile);
        let result = results.find(|result| result.server == server);
        result.map(|result| &result.run)
    }

    /// Returns whether a profile was left out because its blocks are larger than
    /// the server accepts, as the server said in other runs.
    pub(crate) fn is_beyond(&self, server: usize, profile: usize) -> bool {
        let mut results = self.results.iter();
        let known = results.find(|result| result.server == server);
        let limit = known.map(|known| {
            let server = &known.run.server;
            server.max_read_bytes.min(server.max_write_bytes)
        });
        let transfer = self.doc.transfer(self.doc.profile_name(profile));
        let is_larger = |(transfer, limit): (&TransferDoc, u32)| transfer.bytes > limit;
        transfer.zip(limit).is_some_and(is_larger) && self.run(server, profile).is_none()
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
            set_aside: None,
            results,
        })
    }

    /// Reads every document of the folder as a separate server.
    fn of_folder(folder: &Path, otherwise: NoResult) -> Result<Self, LoadError> {
        let unreadable = |source| LoadError::of(folder, source);
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let is_json = path.extension().is_some_and(|part| part == "json");
            if is_json && !path.ends_with(CALIBRATION_FILE) {
                paths.push(path);
            }
        }
        // Resolves paths such as `.`, because the folder's name is
        // needed.
        let whole = fs::canonicalize(folder).map_err(unreadable)?;
        let name = whole.file_name().unwrap_or(whole.as_os_str());
        let name = name.to_string_lossy().into_owned();
        let missing = folder.join(STUDY_FILE);
        let (mut loaded, demos) = without_demos(load_all(&paths));
        // The oldest is the baseline.
        loaded.sort_by_cached_key(|(path, run)| {
            let started = run.as_ref().map(|run| run.started.clone());
            (started.unwrap_or_default(), path.clone())
        });
        let study = Self::of_documents(name, loaded, otherwise, missing)?;
        Ok(Self {
            set_aside: demos,
            ..study
        })
    }

    /// Reads these documents as a study, in which each is a separate server. Documents
    /// with the same label, profile and work are passes of one result.
    ///
    /// # Errors
    ///
    /// The errors of [`RunDoc::load`].
    pub fn of_files(paths: &[PathBuf]) -> Result<Self, LoadError> {
        let first = paths.first().cloned().unwrap_or_default();
        let mut loaded = load_all(paths);
        // The built-in server is the baseline of none.
        loaded.sort_by_key(|(_, run)| run.as_ref().is_ok_and(RunDoc::is_of_built_in_server));
        Self::of_documents("results".to_owned(), loaded, NoResult::Refuse, first)
    }

    fn of_documents(
        name: String,
        loaded: Vec<LoadedDoc>,
        otherwise: NoResult,
        missing: PathBuf,
    ) -> Result<Self, LoadError> {
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
                searches: Vec::new(),
                comparisons: Vec::new(),
            },
            calibration: None,
            unread: Vec::new(),
            set_aside: None,
            results: Vec::new(),
        };
        let mut first = None;
        let names = short::names(&loaded);
        for ((path, run), name) in loaded.into_iter().zip(names) {
            match run {
                Ok(run) => study.add(&path, name, run),
                Err(error) if otherwise == NoResult::Refuse => return Err(error),
                Err(error) => {
                    study.unread.push(left_out(&error));
                    first = first.or(Some(error));
                }
            }
        }
        if study.results.is_empty() {
            Err(first.unwrap_or(LoadError::NotFound { path: missing }))
        } else {
            Ok(study)
        }
    }

    /// Returns the rates of the load points in ascending order; empty unless load points
    /// differ in them. `None` if the rates differ between results.
    #[must_use]
    pub fn rates(&self) -> Option<&[f64]> {
        let runs = self.results.iter().map(|result| &result.run);
        let of_runs = runs.filter(|run| run.find.is_none());
        let rates = of_runs.map(|run| &run.plan.rates_per_s[..]);
        rates
            .dedup()
            .at_most_one()
            .ok()
            .map(Option::unwrap_or_default)
    }

    /// Returns the largest number of load points of a profile.
    #[must_use]
    pub fn load_points(&self) -> usize {
        let rates = self
            .results
            .iter()
            .map(|result| result.run.plan.rates_per_s.len());
        self.doc.load_points.len() * rates.max().unwrap_or_default().max(1)
    }

    fn add(&mut self, path: &Path, name: String, run: RunDoc) {
        let doc = &mut self.doc;
        if doc.started.is_empty() || run.started < doc.started {
            doc.started.clone_from(&run.started);
        }
        // The load points of a search are its probes.
        let points = run.load_points.iter().filter(|_| run.find.is_none());
        doc.load_points.extend(points.map(|point| point.clients));
        doc.load_points.sort_unstable();
        doc.load_points.dedup();
        doc.passes = doc.passes.max(run.passes());
        let mut results = self.results.iter_mut();
        if let Some(known) = results.find(|known| known.run.has_more_passes_in(&run)) {
            known.run.add_passes(run);
            doc.passes = doc.passes.max(known.run.passes());
            return;
        }
        let mut results = self.results.iter();
        let alike = results.find(|known| known.run.has_same_question_as(&run));
        let profile = alike.map_or_else(
            || {
                doc.profiles.push(run.question());
                doc.profiles.len() - 1
            },
            |known| known.profile,
        );
        // Another profile on the same server.
        let is_beside = |known: &&StudyResult| {
            let is_same = known.run.label.is_some() && known.run.label == run.label;
            is_same && known.run.is_of_same_server_as(&run)
        };
        let server = self
            .results
            .iter()
            .find(is_beside)
            .map(|known| known.server);
        let is_free = |server: &usize| {
            let mut results = self.results.iter();
            !results.any(|known| (known.server, known.profile) == (*server, profile))
        };
        if let Some(server) = server.filter(is_free) {
            self.results.push(StudyResult {
                server,
                profile,
                run,
            });
            return;
        }
        let known = doc
            .servers
            .iter()
            .filter(|server| server.name == name)
            .count();
        doc.servers.push(StudyServerDoc {
            name: match known {
                0 => name,
                _ => format!("{name} ({})", path.display()),
            },
            url: Some(run.server.url.clone()),
            notes: run.server.notes.clone(),
            settings: Vec::new(),
            smbd: None,
            client: Vec::new(),
        });
        self.results.push(StudyResult {
            server: doc.servers.len() - 1,
            profile,
            run,
        });
    }
}

/// Highest number of files that a line names.
const NAMED_MAX: usize = 3;

/// Removes results of the built-in server if there are others. Also returns a line that
/// names the removed ones.
fn without_demos(loaded: Vec<LoadedDoc>) -> (Vec<LoadedDoc>, Option<String>) {
    let is_demo = |(_, run): &LoadedDoc| run.as_ref().is_ok_and(RunDoc::is_of_built_in_server);
    let is_other =
        |(_, run): &LoadedDoc| run.as_ref().is_ok_and(|run| !run.is_of_built_in_server());
    if !loaded.iter().any(is_other) {
        return (loaded, None);
    }
    let (demos, others): (Vec<_>, Vec<_>) = loaded.into_iter().partition(is_demo);
    if demos.is_empty() {
        return (others, None);
    }
    let name = |path: &PathBuf| plain(&path.file_name().unwrap_or_default().to_string_lossy());
    let mut names: Vec<_> = demos.iter().map(|(path, _)| name(path)).collect();
    names.sort();
    let more = names.len().saturating_sub(NAMED_MAX);
    names.truncate(NAMED_MAX);
    names.extend((more > 0).then(|| format!("and {more} more")));
    let line = format!(
        "left out {} of smbench's built-in server: {}; to have them, name the files instead of \
         the folder",
        counted(demos.len() as u64, "result"),
        names.join(", ")
    );
    (others, Some(line))
}

fn left_out(error: &LoadError) -> String {
    format!("failed to {error}")
}
