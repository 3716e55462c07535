//! Files of a run: its document, and copies that the user asked for.
//!
//! Invariants:
//!
//! - No older result is overwritten unless the user gave its name.
//! - Before the run starts, it is known that results can be written.
//! - A run that measured nothing leaves no file here, even if it is killed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::time::SystemTime;

use smbench_model::setting;
use smbench_report::doc::{GrowingDoc, LoadPointDoc};
use smbench_report::{RunDoc, write_iometer_csv};

use crate::failure::Failure;

/// Highest number of bytes of a profile's name in a file name. File systems allow
/// 143 to 255 bytes in total.
const NAME_BYTES_MAX: usize = 100;

/// Highest number of runs that can start within one second and have separate
/// results.
const NAMESAKES_MAX: u32 = 10_000;

/// Highest number of attempts to make a folder that other runs make and remove.
const FOLDER_ATTEMPTS: u32 = 5;

/// Where the results of a run go.
#[derive(Clone, Debug, Default)]
pub struct ResultFiles {
    /// Folder of the document; the run makes it, and chooses the name.
    pub folder: PathBuf,
    /// File for a copy of the document, which is replaced.
    pub copy: Option<PathBuf>,
    /// Files that are written besides. It is checked beforehand that they can be.
    pub others: Vec<PathBuf>,
}

/// The files of one run's document.
#[derive(Debug)]
pub struct Results {
    folder: PathBuf,
    /// Name of the document without its extension and number.
    stem: String,
    /// Path of the document; `None` until it was saved once.
    document: Option<PathBuf>,
    copy: Option<PathBuf>,
    /// Folders to remove if nothing could be saved in them.
    _made: MadeFolders,
}

impl Results {
    /// Checks that a run of `profile` that starts at `now` can write all requested
    /// files. Leaves no file and no folder behind.
    pub fn prepare(files: &ResultFiles, profile: &str, now: SystemTime) -> Result<Self, Failure> {
        let ResultFiles {
            folder,
            copy,
            others,
        } = files;
        let mut named = copy.iter().chain(others);
        named.try_for_each(|path| check_writable(path))?;
        let stem = file_stem(profile, now);
        let made = MadeFolders::missing(folder);
        let _tried = MadeFolders::missing(folder);
        let trial = folder.join(format!(".{stem}.{}.tmp", process::id()));
        in_folder(folder, || try_writing(&trial)).map_err(Failure::write_results(folder))?;
        Ok(Self {
            folder: folder.clone(),
            stem,
            document: None,
            copy: copy.clone(),
            _made: made,
        })
    }

    /// Returns the folder of the document.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the document's path once it was saved.
    pub fn path(&self) -> Option<&Path> {
        self.document.as_deref()
    }

    /// Writes the document and its copy, and replaces their earlier versions.
    /// Creates the folder again if it was removed in the meantime.
    pub fn save(&mut self, doc: &RunDoc) -> Result<(), Failure> {
        fs::create_dir_all(&self.folder).map_err(Failure::write(&self.folder))?;
        match &self.document {
            Some(path) if path.exists() => doc.save(path)?,
            _ => self.document = Some(doc.save_under_free_name(self.names())?),
        }
        match &self.copy {
            Some(path) => save_copy(doc, path),
            None => Ok(()),
        }
    }

    /// Adds a load point to the document of a run under load. The copy is written when the load
    /// has ended.
    pub fn grow(&mut self, doc: &mut GrowingDoc, row: &LoadPointDoc) -> Result<(), Failure> {
        fs::create_dir_all(&self.folder).map_err(Failure::write(&self.folder))?;
        match &self.document {
            Some(path) if path.exists() => doc.save(row, path)?,
            _ => self.document = Some(doc.save_under_free_name(row, self.names())?),
        }
        Ok(())
    }

    /// Returns `STEM.json`, `STEM-2.json` and so on.
    fn names(&self) -> impl Iterator<Item = PathBuf> {
        let Self { folder, stem, .. } = self;
        (1..NAMESAKES_MAX).map(move |number| match number {
            1 => folder.join(format!("{stem}.json")),
            number => folder.join(format!("{stem}-{number}.json")),
        })
    }
}

/// Folders created for this command, the innermost first. Dropping this removes
/// those that are still empty.
#[derive(Debug)]
pub struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    /// Lists the folders that have to be created before `folder` exists.
    pub fn missing(folder: &Path) -> Self {
        let ancestors = folder.ancestors();
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        Self(
            ancestors
                .take_while(is_missing)
                .map(Path::to_owned)
                .collect(),
        )
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for folder in &self.0 {
            // Fails if the folder is not empty; it then stays.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Writes the load points as Iometer's result file.
pub fn save_csv_iometer(docs: &[RunDoc], path: &Path) -> Result<(), Failure> {
    let mut csv = Vec::new();
    write_iometer_csv(docs, &mut csv)
        .and_then(|()| fs::write(path, csv))
        .map_err(Failure::write(path))
}

/// Writes a copy of the document. A pipe or a device is written to; only a file may
/// be replaced.
fn save_copy(doc: &RunDoc, path: &Path) -> Result<(), Failure> {
    if is_special(path) {
        fs::write(path, doc.to_json()).map_err(Failure::write(path))
    } else {
        Ok(doc.save(path)?)
    }
}

/// Returns whether `path` is neither a file nor a folder.
pub fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Fails if a file at `path` could not be written later.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    if is_special(path) {
        Ok(())
    } else {
        try_writing(path).map_err(Failure::write(path))
    }
}

/// Makes the folder of results.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder).map_err(|error| {
        if folder.is_file() {
            io::Error::other(format!(
                "this is a file; {} takes a folder: give another name",
                setting::OUT
            ))
        } else {
            error
        }
    })
}

/// Makes `folder` and does `work` in it. Tries again if the folder vanishes meanwhile:
/// another run that had made the same folder removed it while it was still empty.
fn in_folder(folder: &Path, mut work: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let mut attempt = || make_folder(folder).and_then(|()| work());
    for _ in 1..FOLDER_ATTEMPTS {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // It was there, and had vanished when it was looked at.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            done => return done,
        }
    }
    attempt()
}

/// Opens a file for writing without a lasting change: its contents stay, and the
/// creator of a new file removes it.
fn try_writing(path: &Path) -> io::Result<()> {
    match File::create_new(path) {
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => File::options()
            .append(true)
            .create(true)
            .open(path)
            .map(drop),
        Err(error) => Err(error),
    }
}

/// Returns `20260131T120000Z-file-server`, with the time in UTC.
fn file_stem(profile: &str, now: SystemTime) -> String {
    // The formatter panics if the clock is set before 1970.
    let now = now.max(SystemTime::UNIX_EPOCH);
    let time = humantime::format_rfc3339_seconds(now)
        .to_string()
        .replace(['-', ':'], "");
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name = &profile[..profile.floor_char_boundary(NAME_BYTES_MAX)];
    let name = name.replace(|c| !is_plain(c), "-");
    format!("{time}-{name}")
}

#[cfg(test)]
mod tests;
