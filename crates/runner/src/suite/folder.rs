//! The folder of a study: the load points that have been measured, those that have
//! not, and a lock against other writers.
//!
//! Invariants:
//!
//! - A load point that was measured is never measured again, and a missing one
//!   never counts as measured. The same holds for a search as a whole.
//! - Results of other settings are never mixed with these.
//!
//! A running suite holds a lock on [`RUNNING`]. In this file it notes what has to
//! be removed if the suite is killed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use smbench_model::plan::Plan;
use smbench_model::setting;
use smbench_report::doc::{MachineDoc, OutcomeDoc, PlanDoc};
use smbench_report::study::StudyDoc;
use smbench_report::{Disclosure, FactSource, LoadError, RunDoc, WriteDoc};

use super::difference::{between_machines, between_plans, between_servers, between_studies, json};
use super::parts::PassPart;
use super::passes::{PassId, all_passes};
use super::resolve::Suite;
use super::sittings::{has_ended, is_done, joined};
use crate::failure::Failure;
use crate::results::make_folder;

/// File that the suite writing here locks. It lists the files that a killed suite
/// leaves behind.
const RUNNING: &str = ".running";

/// A study's folder, locked by this process.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    study: StudyDoc,
    /// Parts of each profile, from its plans.
    parts: Vec<Vec<PassPart>>,
    /// Measured load points, without those that were cut short, and searches that have
    /// ended.
    measured: HashMap<PassId, RunDoc>,
    running: File,
    remains: Vec<Remains>,
}

/// An item that a killed suite leaves behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Remains {
    /// A directory on the share of a server, which is given by its name in the
    /// suite.
    Share {
        server: String,
        directory: String,
        /// URL of the server at that time, as in [`Target::redacted`]. Absent in
        /// older notes.
        ///
        /// [`Target::redacted`]: smbench_model::target::Target::redacted
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
    },
    /// The folder of a scratch Samba.
    Samba { folder: PathBuf },
}

impl Folder {
    /// Creates the folder, or continues the study that it contains.
    pub fn open(path: &Path, suite: &mut Suite) -> Result<Self, Failure> {
        let to = || Failure::write_results(path);
        make_folder(path).map_err(to())?;
        if StudyDoc::load(path)?.is_none() && !is_empty(path).map_err(to())? {
            return Err(Failure::Usage(format!(
                "folder {} holds something, but no study: use another {}",
                path.display(),
                setting::OUT
            )));
        }
        let mut running = lock(path)?;
        remove_unfinished(path).map_err(to())?;
        // A study without any measurement may be replaced, because nothing can be
        // mixed up.
        let begun = |study: &StudyDoc| {
            let path_of =
                |pass: PassId| path.join(study.run_path(pass.server, pass.profile, pass.number));
            all_passes(study)
                .into_iter()
                .any(|pass| path_of(pass).exists())
        };
        if let Some(found) = StudyDoc::load(path)?.filter(begun) {
            if let Some(difference) = between_studies(&found, &suite.study) {
                return Err(other_study(path, &difference));
            }
            // It is still the same study.
            suite.study.started = found.started;
            suite.study.command = found.command;
        }
        let mut folder = Self {
            path: path.to_owned(),
            study: suite.study.clone(),
            parts: suite.parts(),
            measured: HashMap::new(),
            remains: noted(&mut running),
            running,
        };
        for pass in all_passes(&suite.study) {
            folder.load(pass, suite)?;
        }
        folder.admit_generator(&MachineDoc::this())?;
        folder.study.save(path)?;
        Ok(folder)
    }

    /// Returns the path of the study.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the measured load points of a pass.
    pub(super) fn load(&mut self, pass: PassId, suite: &Suite) -> Result<(), Failure> {
        let path = self.run_path(pass);
        if !path.exists() {
            return Ok(());
        }
        let mut run = RunDoc::load(&path).map_err(unreadable)?;
        let plan = suite.plan(pass);
        if let Some(difference) = between_plans(&run.plan, &PlanDoc::from(plan)) {
            return Err(other_study(&self.path, &difference));
        }
        let host = &suite.hosts[pass.server];
        // Older documents do not say what is known of writes.
        let is_known = |write: WriteDoc| write.source == FactSource::Known;
        let other = match (run.server.flush, run.server.write) {
            (flush, _) if flush != Some(host.durability.flush) => Some("flush"),
            (_, None) if host.durability.write.is_some_and(is_known) => None,
            (_, write) if write != host.durability.write => Some("write"),
            _ => None,
        };
        if let Some(what) = other {
            return Err(other_study(
                &self.path,
                &format!("another {what} policy of server `{}`", host.name),
            ));
        }
        let is_search = suite.search(pass).is_some();
        if is_search && !has_ended(&run) {
            // It begins anew, and then replaces the document.
            return Ok(());
        }
        if run.outcome != OutcomeDoc::Complete {
            if !is_search {
                // Load points before the last were complete when the last began.
                run.load_points.pop_if(|point| !is_done(point, plan));
            }
            run.outcome = OutcomeDoc::Complete;
            let reason = run.outcome_reason.take();
            if self.parts[pass.profile].iter().all(|part| part.is_in(&run)) {
                // No further load point will follow, so the document has to say how
                // the pass ended.
                run.server.notes.push(match reason {
                    Some(reason) => {
                        format!("this pass was given up when all was measured: {reason}")
                    }
                    None => "this pass was stopped when all was measured".to_owned(),
                });
                run.save(&path)?;
            }
        }
        if !run.load_points.is_empty() {
            // The next part of the pass reports its own leftovers.
            run.leftover = None;
            self.measured.insert(pass, run);
        }
        Ok(())
    }

    /// Fails if load points are left to measure, and this machine is not the one
    /// that generated the load before.
    fn admit_generator(&self, now: &MachineDoc) -> Result<(), Failure> {
        let passes = all_passes(&self.study);
        if passes.iter().all(|&pass| self.remaining(pass).is_empty()) {
            return Ok(());
        }
        let mut measured = passes.iter().filter_map(|&pass| self.measured(pass));
        let difference = measured.find_map(|run| between_machines(run.machine.as_ref()?, now));
        match difference {
            Some(difference) => Err(other_study(&self.path, &difference)),
            None => Ok(()),
        }
    }

    /// Fails if a server is no longer the one that was measured before, in an
    /// earlier invocation of the suite or in an earlier pass.
    pub(super) fn admit(&self, server: usize, now: &Disclosure) -> Result<(), Failure> {
        let of_server = all_passes(&self.study)
            .into_iter()
            .filter(|pass| pass.server == server);
        let mut measured = of_server.filter_map(|pass| self.measured(pass));
        match measured.find_map(|run| between_servers(&run.server, now)) {
            Some(difference) => {
                let name = &self.study.servers[server].name;
                let difference = format!("server `{name}` {difference}");
                Err(other_study(&self.path, &difference))
            }
            None => Ok(()),
        }
    }

    /// Returns the parts of a pass that are not measured yet.
    pub(super) fn remaining(&self, pass: PassId) -> Vec<PassPart> {
        let measured = self.measured.get(&pass);
        let is_measured = |part: &PassPart| measured.is_some_and(|run| part.is_in(run));
        let all = self.parts[pass.profile].iter().copied();
        all.filter(|part| !is_measured(part)).collect()
    }

    /// Returns whether a pass has a document, even of a search that has not ended.
    pub(super) fn has_begun(&self, pass: PassId) -> bool {
        self.run_path(pass).exists()
    }

    /// Returns the document of a pass from earlier invocations of the suite.
    pub(super) fn measured(&self, pass: PassId) -> Option<&RunDoc> {
        self.measured.get(&pass)
    }

    /// Writes the document of a pass: the load points of earlier invocations, and
    /// `run`.
    pub(super) fn save(&self, pass: PassId, plan: &Plan, run: RunDoc) -> Result<(), Failure> {
        let run = joined(self.measured(pass).cloned(), run, plan);
        let path = self.run_path(pass);
        let is_removed = !self.path.exists();
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Failure::write(&path))?;
        }
        if is_removed {
            self.study.save(&self.path)?;
        }
        Ok(run.save(&path)?)
    }

    fn run_path(&self, pass: PassId) -> PathBuf {
        let PassId {
            server,
            profile,
            number,
        } = pass;
        self.path.join(self.study.run_path(server, profile, number))
    }

    /// Returns the items that would be left behind if this process were killed now,
    /// or that a killed one left behind.
    pub(super) fn remains(&self) -> &[Remains] {
        &self.remains
    }

    /// Notes an item that would be left behind if this process were killed.
    pub(super) fn add_remains(&mut self, remains: Remains) -> Result<(), Failure> {
        self.remains.push(remains);
        self.note()
    }

    /// Replaces the list of items that would be left behind.
    pub(super) fn set_remains(&mut self, remains: Vec<Remains>) -> Result<(), Failure> {
        self.remains = remains;
        self.note()
    }

    fn note(&mut self) -> Result<(), Failure> {
        let text = json(&self.remains).to_string();
        let written = self
            .running
            .set_len(0)
            .and_then(|()| self.running.rewind())
            .and_then(|()| self.running.write_all(text.as_bytes()))
            .and_then(|()| self.running.sync_data());
        written.map_err(Failure::write(&self.path.join(RUNNING)))
    }
}

/// Reads the noted items from a file. Returns none if the file is incomplete.
fn noted(running: &mut File) -> Vec<Remains> {
    let mut text = String::new();
    let read = running.read_to_string(&mut text);
    let remains = read.ok().and_then(|_| serde_json::from_str(&text).ok());
    remains.unwrap_or_default()
}

/// Locks the folder. Fails if another suite is running here.
fn lock(path: &Path) -> Result<File, Failure> {
    let name = path.join(RUNNING);
    let open = || {
        File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&name)
    };
    let file = open().map_err(Failure::write(&name))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::write(path)(io::Error::other(
            "another smbench is measuring this study",
        ))),
        Err(TryLockError::Error(error)) => Err(Failure::write(&name)(error)),
    }
}

/// Returns whether a folder contains nothing but traces of a suite that had not
/// begun.
fn is_empty(path: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        if name != RUNNING && !is_unfinished(&name) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes an incomplete `study.json` of a killed suite. Only the holder of the
/// lock writes one.
fn remove_unfinished(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if is_unfinished(&entry.file_name()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Returns whether a file name is that of an incomplete `study.json`. It contains
/// the number of the process that writes it, and the number of the file.
fn is_unfinished(name: &OsStr) -> bool {
    let numbers = name.to_str().and_then(|name| {
        let numbers = name.strip_prefix(".study.json.")?;
        numbers.strip_suffix(".tmp")
    });
    numbers.is_some_and(|numbers| numbers.split('-').all(|one| one.parse::<u32>().is_ok()))
}

/// Returns the failure for a pass's document that cannot be read, with advice.
fn unreadable(error: LoadError) -> Failure {
    match error {
        // The document is complete, or not accessible.
        LoadError::Newer { .. } | LoadError::Unreadable { .. } | LoadError::NotFound { .. } => {
            Failure::Load(error)
        }
        LoadError::NotJson { .. } | LoadError::NotAResult { .. } | LoadError::Malformed { .. } => {
            Failure::Usage(format!(
                "failed to {error}; delete that file, and the suite measures this pass again"
            ))
        }
        // The document may be complete.
        _ => Failure::Load(error),
    }
}

fn other_study(path: &Path, difference: &str) -> Failure {
    Failure::Usage(format!(
        "folder {} holds a study with {difference}: use another {}",
        path.display(),
        setting::OUT
    ))
}

#[cfg(test)]
mod tests;
