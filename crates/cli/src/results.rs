//! Where results go: the document of a run, and copies that were asked for.
//!
//! Invariant: no older result is ever overwritten unless its name was given;
//! and that results can be written is known before the run starts.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use smbench_report::{RunDoc, write_csv, write_iometer_csv};

use crate::args::{Destination, OutputArgs};
use crate::failure::Failure;
use crate::output::print;

/// Bytes of a profile's name in a file name, of which file systems take 143 to
/// 255 in all.
const NAME_BYTES_MAX: usize = 100;

/// Runs that may start within one second and have results of their own.
const NAMESAKES_MAX: u32 = 10_000;

/// The files of one run's document.
#[derive(Debug)]
pub(crate) struct Results {
    document: PathBuf,
    copy: Option<PathBuf>,
    /// Keeps the document's name for this run; goes with it.
    claim: PathBuf,
    _folders: MadeFolders,
}

impl Results {
    /// Reserves a name for the document of a run of `profile` starting at
    /// `now`, and makes sure that everything asked for can be written.
    pub(crate) fn prepare(
        output: &OutputArgs,
        profile: &str,
        now: SystemTime,
    ) -> Result<Self, Failure> {
        if (&output.json, &output.csv) == (&Some(Destination::Stdout), &Some(Destination::Stdout)) {
            return Err(Failure::Usage(
                "--json - and --csv - cannot both have standard output".to_owned(),
            ));
        }
        let mut copy = None;
        if let Some(Destination::File(path)) = &output.json {
            check_writable(path)?;
            copy = Some(path.clone());
        }
        if let Some(Destination::File(path)) = &output.csv {
            check_writable(path)?;
        }
        for path in output.hlog.iter().chain(&output.csv_iometer) {
            check_writable(path)?;
        }
        let folder = &output.out;
        let folders = MadeFolders::missing(folder);
        let reserved =
            fs::create_dir_all(folder).and_then(|()| reserve(folder, &file_stem(profile, now)));
        let (claim, document) = reserved.map_err(|source| Failure::Io {
            action: format!("write results to {}", folder.display()),
            source,
        })?;
        Ok(Self {
            document,
            copy,
            claim,
            _folders: folders,
        })
    }

    /// The document's path.
    pub(crate) fn path(&self) -> &Path {
        &self.document
    }

    /// Writes the document, and its copy, in place of what they held.
    pub(crate) fn save(&mut self, doc: &RunDoc) -> Result<(), Failure> {
        doc.save(&self.document)?;
        match &self.copy {
            Some(path) => save_copy(doc, path),
            None => Ok(()),
        }
    }
}

impl Drop for Results {
    fn drop(&mut self) {
        // What cannot be removed is an empty file that nobody takes for a result.
        let _ = fs::remove_file(&self.claim);
    }
}

/// Folders made for this command, innermost first; dropping them removes those
/// that are still empty.
#[derive(Debug)]
pub(crate) struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    /// Those that have to be made before `folder` exists.
    pub(crate) fn missing(folder: &Path) -> Self {
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
            // Fails where there is something in it, which is to stay.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Writes the load points as CSV.
pub(crate) fn save_csv(doc: &RunDoc, to: &Destination) -> Result<(), Failure> {
    let mut csv = Vec::new();
    let to_text = |error| Failure::io("write CSV")(io::Error::other(error));
    write_csv(doc, &mut csv).map_err(to_text)?;
    match to {
        Destination::Stdout => print(&String::from_utf8_lossy(&csv)),
        Destination::File(path) => fs::write(path, csv).map_err(Failure::write(path)),
    }
}

/// Writes the load points as Iometer's result file.
pub(crate) fn save_csv_iometer(docs: &[RunDoc], path: &Path) -> Result<(), Failure> {
    let mut csv = Vec::new();
    write_iometer_csv(docs, &mut csv)
        .and_then(|()| fs::write(path, csv))
        .map_err(Failure::write(path))
}

/// A pipe or a device is written to; only a file may be replaced.
fn save_copy(doc: &RunDoc, path: &Path) -> Result<(), Failure> {
    match is_special(path) {
        true => fs::write(path, doc.to_json()).map_err(Failure::write(path)),
        false => Ok(doc.save(path)?),
    }
}

/// Whether what is at `path` is neither a file nor a folder.
pub(crate) fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Fails now if a file at `path` could not be written later.
pub(crate) fn check_writable(path: &Path) -> Result<(), Failure> {
    if is_special(path) {
        return Ok(());
    }
    let is_new = !path.exists();
    let opened = File::options().append(true).create(true).open(path);
    opened.map_err(Failure::write(path))?;
    if is_new {
        fs::remove_file(path).map_err(Failure::write(path))?;
    }
    Ok(())
}

/// `20260131T120000Z-file-server`, in UTC.
fn file_stem(profile: &str, now: SystemTime) -> String {
    // The formatter panics on a clock set before 1970.
    let now = now.max(SystemTime::UNIX_EPOCH);
    let time = humantime::format_rfc3339_seconds(now)
        .to_string()
        .replace(['-', ':'], "");
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name = &profile[..profile.floor_char_boundary(NAME_BYTES_MAX)];
    let name = name.replace(|c| !is_plain(c), "-");
    format!("{time}-{name}")
}

/// Finds the name `STEM.json`, or `STEM-2.json` and so on where that is taken; the
/// file that claims it, and its path.
///
/// Nothing is there under the name itself until there is a result: what a run that
/// is killed leaves behind must not be in the way of those who read the folder.
fn reserve(folder: &Path, stem: &str) -> io::Result<(PathBuf, PathBuf)> {
    for number in 1..NAMESAKES_MAX {
        let name = match number {
            1 => format!("{stem}.json"),
            number => format!("{stem}-{number}.json"),
        };
        let claim = folder.join(format!(".{name}.tmp"));
        let document = folder.join(name);
        match File::create_new(&claim) {
            // Looked for with the claim in hand: whoever had it before has saved.
            Ok(_) if !document.exists() => return Ok((claim, document)),
            Ok(_) => fs::remove_file(&claim)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn output(folder: &Path) -> OutputArgs {
        OutputArgs {
            calibration: None,
            out: folder.join("a/b/results"),
            json: None,
            csv: None,
            csv_iometer: None,
            hlog: None,
            strict: false,
            allow_missed_rate: false,
            quiet: true,
        }
    }

    #[test]
    fn names_tell_time_and_profile_and_are_never_reused() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_769_860_800);
        let prepare = || Results::prepare(&output(folder.path()), "my/mix", now).unwrap();
        let (first, second) = (prepare(), prepare());
        let name = |results: &Results| {
            let name = results.path().file_name().unwrap();
            name.to_str().unwrap().to_owned()
        };
        assert_eq!(name(&first), "20260131T120000Z-my-mix.json");
        assert_eq!(name(&second), "20260131T120000Z-my-mix-2.json");
        fs::write(first.path(), "").unwrap();
        drop((first, second));
        assert_eq!(name(&prepare()), "20260131T120000Z-my-mix-2.json");
    }

    #[test]
    fn a_run_without_results_leaves_no_file_and_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        let output = output(folder.path());
        let results = Results::prepare(&output, "x", SystemTime::now()).unwrap();
        let there: Vec<_> = fs::read_dir(&output.out).unwrap().collect();
        assert_eq!(there.len(), 1, "the name is claimed");
        assert!(
            !results.path().exists(),
            "and is that of a result or of none"
        );
        drop(results);
        assert!(!folder.path().join("a").exists());
        fs::create_dir(folder.path().join("a")).unwrap();
        drop(Results::prepare(&output, "x", SystemTime::now()).unwrap());
        let mut left = fs::read_dir(folder.path().join("a")).unwrap();
        assert!(left.next().is_none(), "what was there before stays, empty");
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let stem = file_stem(&format!("x{}", "ß".repeat(300)), SystemTime::UNIX_EPOCH);
        assert_eq!(stem, format!("19700101T000000Z-x{}", "ß".repeat(49)));
    }

    #[test]
    fn places_that_cannot_be_written_are_found_out_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let missing = folder.path().join("missing/x.json");
        let prepare = |output: &OutputArgs| Results::prepare(output, "x", SystemTime::now());
        let good = output(folder.path());
        let bad_folder = OutputArgs {
            out: file.join("results"),
            ..output(folder.path())
        };
        let error = prepare(&bad_folder).unwrap_err().to_string();
        assert!(error.starts_with("failed to write results to "), "{error}");
        let bad_json = OutputArgs {
            json: Some(Destination::File(missing.clone())),
            ..output(folder.path())
        };
        let bad_csv = OutputArgs {
            csv: Some(Destination::File(missing.clone())),
            ..output(folder.path())
        };
        let bad_hlog = OutputArgs {
            hlog: Some(missing.clone()),
            ..output(folder.path())
        };
        for output in [bad_json, bad_csv, bad_hlog] {
            let error = prepare(&output).unwrap_err().to_string();
            let expected = format!("failed to write {}: ", missing.display());
            assert!(error.starts_with(&expected), "{error}");
            assert!(!good.out.exists());
        }
    }

    #[test]
    fn a_device_is_not_replaced() {
        assert!(is_special(Path::new("/dev/null")));
        assert!(!is_special(Path::new("/")));
        check_writable(Path::new("/dev/null")).unwrap();
    }
}
