//! Files of a run: its document, and copies that the user asked for.
//!
//! Invariants:
//!
//! - No older result is overwritten, not even if the user gave its name.
//! - Before the run starts, it is known that results can be written.
//! - A run that measured nothing leaves no file here, even if it is killed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::time::SystemTime;

use smbench_report::{RunDoc, write_csv, write_iometer_csv};

use crate::args::{Destination, OutputArgs};
use crate::failure::Failure;
use crate::output::print;

/// Highest number of bytes of a profile's name in a file name. File systems allow
/// 143 to 255 bytes in total.
const NAME_BYTES_MAX: usize = 100;

/// Highest number of runs that can start within one second and have separate
/// results.
const NAMESAKES_MAX: u32 = 10_000;

/// The files of one run's document.
#[derive(Debug)]
pub(crate) struct Results {
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
        named(output).try_for_each(check_writable)?;
        let copy = match &output.json {
            Some(Destination::File(path)) => Some(path.clone()),
            _ => None,
        };
        let folder = &output.out;
        let stem = file_stem(profile, now);
        let made = MadeFolders::missing(folder);
        let _tried = MadeFolders::missing(folder);
        let trial = folder.join(format!(".{stem}.{}.tmp", process::id()));
        in_folder(folder, || try_writing(&trial)).map_err(|source| Failure::Io {
            action: format!("write results to {}", folder.display()),
            source,
        })?;
        Ok(Self {
            folder: folder.clone(),
            stem,
            document: None,
            copy,
            _made: made,
        })
    }

    /// Returns the document's path once it was saved.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.document.as_deref()
    }

    /// Writes the document and its copy, and replaces their earlier versions.
    /// Creates the folder again if it was removed in the meantime.
    pub(crate) fn save(&mut self, doc: &RunDoc) -> Result<(), Failure> {
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
pub(crate) struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    /// Lists the folders that have to be created before `folder` exists.
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
            // Fails if the folder is not empty; it then stays.
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

/// Writes a copy of the document. A pipe or a device is written to; only a file may
/// be replaced.
fn save_copy(doc: &RunDoc, path: &Path) -> Result<(), Failure> {
    match is_special(path) {
        true => fs::write(path, doc.to_json()).map_err(Failure::write(path)),
        false => Ok(doc.save(path)?),
    }
}

/// Returns whether `path` is neither a file nor a folder.
pub(crate) fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Fails if a file at `path` could not be written later.
pub(crate) fn check_writable(path: &Path) -> Result<(), Failure> {
    match is_special(path) {
        true => Ok(()),
        false => try_writing(path).map_err(Failure::write(path)),
    }
}

/// Returns the files that the user named.
fn named(output: &OutputArgs) -> impl Iterator<Item = &Path> {
    let destinations = output.json.iter().chain(&output.csv);
    let files = destinations.filter_map(|to| match to {
        Destination::Stdout => None,
        Destination::File(path) => Some(path),
    });
    let files = files.chain(&output.csv_iometer).chain(&output.hlog);
    files.map(PathBuf::as_path)
}

/// Fails if a file that the user named holds something, because measurements would
/// be lost. Pipes and devices can be written again and again.
pub(crate) fn check_new(output: &OutputArgs) -> Result<(), Failure> {
    let is_taken = |path: &&Path| fs::metadata(path).is_ok_and(|at| at.is_file() && at.len() > 0);
    match named(output).find(is_taken) {
        Some(path) => Err(Failure::Usage(format!(
            "{} exists, and no result is replaced: delete it, or give another name",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// Makes the folder of `--out`.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    let made = try_making(folder);
    made.map_err(Failure::io(format!(
        "write results to {}",
        folder.display()
    )))
}

fn try_making(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder).map_err(|error| match folder.is_file() {
        true => io::Error::other("this is a file; --out takes a folder: give another name"),
        false => error,
    })
}

/// Makes `folder` and does `work` in it. Tries again once if the folder is missing then:
/// another run that had made the same folder removed it while it was still empty.
fn in_folder(folder: &Path, mut work: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let mut attempt = || try_making(folder).and_then(|()| work());
    match attempt() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => attempt(),
        done => done,
    }
}

/// Opens a file for writing without a lasting change: its contents stay, and whoever
/// creates the file removes it.
fn try_writing(path: &Path) -> io::Result<()> {
    match File::create_new(path) {
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            File::options().append(true).open(path).map(drop)
        }
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
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::failure::Exit;

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

    fn doc() -> RunDoc {
        RunDoc::load(Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/results/v1-curve.json"
        )))
        .unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn names_tell_time_and_profile_and_are_never_reused() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_769_860_800);
        let output = output(folder.path());
        let prepare = || Results::prepare(&output, "my/mix", now).unwrap();
        let (mut first, mut second) = (prepare(), prepare());
        for results in [&mut first, &mut second] {
            results.save(&doc()).unwrap();
            results.save(&doc()).unwrap();
        }
        prepare().save(&doc()).unwrap();
        assert_eq!(
            names(&output.out),
            [
                "20260131T120000Z-my-mix-2.json",
                "20260131T120000Z-my-mix-3.json",
                "20260131T120000Z-my-mix.json"
            ]
        );
        assert_eq!(
            second.path(),
            Some(&*output.out.join("20260131T120000Z-my-mix-2.json"))
        );
    }

    /// A killed run cannot remove any file.
    #[test]
    fn a_run_without_results_leaves_no_file_and_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        let output = output(folder.path());
        let results = Results::prepare(&output, "x", SystemTime::now()).unwrap();
        assert_eq!(results.path(), None);
        assert_eq!(names(folder.path()), [""; 0]);
        fs::create_dir(folder.path().join("a")).unwrap();
        Results::prepare(&output, "x", SystemTime::now()).unwrap();
        assert_eq!(names(folder.path()), ["a"]);
        assert_eq!(names(&folder.path().join("a")), [""; 0]);
    }

    #[test]
    fn a_folder_in_which_nothing_could_be_saved_goes_again() {
        let folder = tempfile::tempdir().unwrap();
        let output = output(folder.path());
        let mut results = Results::prepare(&output, "x", SystemTime::now()).unwrap();
        fs::write(folder.path().join("a"), "in the way").unwrap();
        results.save(&doc()).unwrap_err();
        fs::remove_file(folder.path().join("a")).unwrap();
        fs::create_dir_all(&output.out).unwrap();
        drop(results);
        assert_eq!(names(folder.path()), [""; 0]);
    }

    /// Two runs may start at the same time with the same new folder.
    #[test]
    fn a_folder_that_another_run_removes_while_it_is_empty_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("a/b");
        let mut others = vec![MadeFolders::missing(&new)];
        in_folder(&new, || {
            others.pop();
            try_writing(&new.join("trial"))
        })
        .unwrap();
        assert!(new.exists());
        let mut attempts = 0;
        let missing = in_folder(&new, || {
            attempts += 1;
            Err(io::ErrorKind::NotFound.into())
        });
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(attempts, 2);
    }

    #[test]
    fn a_folder_that_was_removed_during_the_run_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let output = output(folder.path());
        let mut results = Results::prepare(&output, "x", SystemTime::now()).unwrap();
        results.save(&doc()).unwrap();
        fs::remove_dir_all(folder.path().join("a")).unwrap();
        results.save(&doc()).unwrap();
        assert_eq!(RunDoc::load(results.path().unwrap()).unwrap(), doc());
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
    fn a_file_that_a_run_was_told_to_write_keeps_the_result_of_an_earlier_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("named");
        let destination = || Some(Destination::File(path.clone()));
        let all = || {
            [
                OutputArgs {
                    json: destination(),
                    ..output(folder.path())
                },
                OutputArgs {
                    csv: destination(),
                    ..output(folder.path())
                },
                OutputArgs {
                    csv_iometer: Some(path.clone()),
                    ..output(folder.path())
                },
                OutputArgs {
                    hlog: Some(path.clone()),
                    ..output(folder.path())
                },
            ]
        };
        // As mktemp makes it.
        fs::write(&path, "").unwrap();
        all().iter().try_for_each(check_new).unwrap();
        fs::write(&path, "an hour of work").unwrap();
        for output in all() {
            let refused = check_new(&output).unwrap_err();
            assert_eq!(refused.exit(), Exit::Usage);
            let expected = format!(
                "{} exists, and no result is replaced: delete it, or give another name",
                path.display()
            );
            assert_eq!(refused.to_string(), expected);
        }
        fs::remove_file(&path).unwrap();
        all().iter().try_for_each(check_new).unwrap();
    }

    #[test]
    fn a_file_in_the_place_of_the_folder_is_named_as_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.json");
        fs::write(&file, "").unwrap();
        let output = OutputArgs {
            out: file.clone(),
            ..output(folder.path())
        };
        let expected = format!(
            "failed to write results to {}: this is a file; --out takes a folder: give another name",
            file.display()
        );
        let refused = Results::prepare(&output, "x", SystemTime::now()).unwrap_err();
        assert_eq!(refused.to_string(), expected);
        assert_eq!(make_folder(&file).unwrap_err().to_string(), expected);
    }

    #[test]
    fn results_of_runs_at_once_do_not_mix() {
        const RUNS: usize = 8;
        let folder = tempfile::tempdir().unwrap();
        let output = output(folder.path());
        thread::scope(|scope| {
            for _ in 0..RUNS {
                scope.spawn(|| {
                    let now = SystemTime::UNIX_EPOCH;
                    let mut results = Results::prepare(&output, "x", now).unwrap();
                    results.save(&doc()).unwrap();
                    assert_eq!(RunDoc::load(results.path().unwrap()).unwrap(), doc());
                });
            }
        });
        assert_eq!(names(&output.out).len(), RUNS);
    }

    #[test]
    fn a_device_is_not_replaced() {
        assert!(is_special(Path::new("/dev/null")));
        assert!(!is_special(Path::new("/")));
        check_writable(Path::new("/dev/null")).unwrap();
    }
}
