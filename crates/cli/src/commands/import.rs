//! `smbench import`: converts other programs' files to profiles, and reads captures.
//!
//! Invariant: no existing file is replaced, and either all files are written or
//! none. Writing starts only when all profiles are known to run, and all names are
//! known to be free.

mod pcap;

pub(super) use self::pcap::blocks_of_folder;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use smbench_formats::iometer::{self, Imported, IometerConfig, quoted};
use smbench_formats::profile::ProfileError;
use smbench_model::profile::Profile;
use smbench_report::units::{counted, plain};

use crate::args::{ImportArgs, ImportCommand};
use crate::failure::{Exit, Failure};
use crate::output::print;
use crate::request;
use crate::results::MadeFolders;

/// Name of the suite of a test setup.
const SUITE: &str = "suite.toml";
/// Highest number of characters of a profile's name in its file's name.
const NAME_CHARS_MAX: usize = 80;

pub(super) fn import(command: &ImportCommand) -> Result<Exit, Failure> {
    match command {
        ImportCommand::Iometer(args) => iometer(args),
        ImportCommand::Pcap(args) => pcap::import(args),
    }
}

fn iometer(args: &ImportArgs) -> Result<Exit, Failure> {
    let config = iometer::read(&args.file)?;
    let origin = Path::new(&args.file).file_name().unwrap_or_default();
    let profiles = config.profiles(&origin.to_string_lossy());
    for imported in &profiles {
        let profile = Profile::parse(&imported.name, &imported.toml).map_err(ProfileError::from)?;
        request::check(&profile)?;
    }
    let files = match single_file(args) {
        Some(path) => one(path, &profiles, &args.file)?,
        None => folder(args, &config, &profiles),
    };
    write_all_new(&files)?;
    print(&report(args, &config, &files))?;
    Ok(Exit::Done)
}

/// Returns the file for the only profile, if `--out` names one.
fn single_file(args: &ImportArgs) -> Option<&Path> {
    let out = args.out.as_deref()?;
    (out.extension().is_some_and(|extension| extension == "toml")).then_some(out)
}

fn one(path: &Path, profiles: &[Imported], from: &str) -> Result<Vec<(PathBuf, String)>, Failure> {
    match profiles {
        [only] => Ok(vec![(path.to_owned(), only.toml.clone())]),
        several => Err(Failure::Usage(format!(
            "{from} makes {} profiles, and --out {} is one file: give a folder",
            several.len(),
            path.display()
        ))),
    }
}

/// Returns a file for each profile, and the suite.
fn folder(
    args: &ImportArgs,
    config: &IometerConfig,
    profiles: &[Imported],
) -> Vec<(PathBuf, String)> {
    let stem = Path::new(&args.file).file_stem().unwrap_or_default();
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from(stem));
    let mut taken = HashSet::from([SUITE.to_owned()]);
    let names: Vec<_> = profiles
        .iter()
        .map(|imported| file_name(&imported.name, &mut taken))
        .collect();
    let suite = suite(config, profiles, &names, &stem.to_string_lossy());
    let texts = profiles.iter().map(|imported| imported.toml.clone());
    let files = names.iter().map(|name| folder.join(name)).zip(texts);
    files.chain([(folder.join(SUITE), suite)]).collect()
}

/// Returns a file name that no other file has, ignoring case.
fn file_name(name: &str, taken: &mut HashSet<String>) -> String {
    let mut stem = String::new();
    for c in name.to_lowercase().chars().take(NAME_CHARS_MAX) {
        if c.is_alphanumeric() {
            stem.push(c);
        } else if !stem.ends_with('-') && !stem.is_empty() {
            stem.push('-');
        }
    }
    let stem = match stem.trim_end_matches('-') {
        "" => "access",
        stem => stem,
    };
    let mut name = format!("{stem}.toml");
    for number in 2.. {
        if taken.insert(name.clone()) {
            break;
        }
        name = format!("{stem}-{number}.toml");
    }
    name
}

/// Returns the suite of a test setup: the specifications assigned to workers in
/// their order, or all of them.
fn suite(config: &IometerConfig, profiles: &[Imported], files: &[String], name: &str) -> String {
    let setup = &config.setup;
    let is_of = |imported: &Imported, spec: &str| imported.spec.eq_ignore_ascii_case(spec);
    let all = || profiles.iter().zip(files);
    let mut chosen: Vec<_> = setup
        .assigned
        .iter()
        .flat_map(|spec| all().filter(move |(imported, _)| is_of(imported, spec)))
        .map(|(_, file)| file)
        .collect();
    if chosen.is_empty() {
        chosen = files.iter().collect();
    }
    let mut seen = HashSet::new();
    chosen.retain(|file| seen.insert(file.as_str()));
    let title = setup.description.as_deref().filter(|text| !text.is_empty());
    let mut text = format!(
        "name = {}\ntitle = {}\ndescription = \"test setup of Iometer\"\n",
        quoted(name),
        quoted(title.unwrap_or(name))
    );
    if let Some(clients) = setup.clients() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "clients = {}", quoted(&clients));
    }
    let chosen: Vec<_> = chosen
        .iter()
        .map(|file| quoted(&format!("./{file}")))
        .collect();
    let _ = write!(
        text,
        "profiles = [{}]\n\n\
         # Only where --server names none.\n\
         [[servers]]\nname = \"Samba\"\nsamba = []\nunless_named = true\n",
        chosen.join(", ")
    );
    text
}

/// Writes all files, or none. None of them may exist.
fn write_all_new(files: &[(PathBuf, String)]) -> Result<(), Failure> {
    for (path, _) in files {
        // A dangling link counts as existing, too.
        if path.symlink_metadata().is_ok() {
            return Err(exists(path));
        }
    }
    let folder = files.first().and_then(|(path, _)| path.parent());
    let mut made = WrittenFiles {
        files: Vec::new(),
        _folders: folder.map(MadeFolders::missing),
    };
    if let Some(folder) = folder {
        fs::create_dir_all(folder).map_err(Failure::write(folder))?;
    }
    for (path, text) in files {
        // A file created in the meantime is not replaced either.
        let mut file = File::create_new(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(path),
            _ => Failure::write(path)(error),
        })?;
        made.files.push(path);
        file.write_all(text.as_bytes())
            .map_err(Failure::write(path))?;
    }
    made.files.clear();
    Ok(())
}

fn exists(path: &Path) -> Failure {
    Failure::Usage(format!(
        "{} exists already: use another --out",
        path.display()
    ))
}

/// Files written so far; dropping this removes them.
struct WrittenFiles<'a> {
    files: Vec<&'a Path>,
    /// Folders, removed after the files and only if they are empty.
    _folders: Option<MadeFolders>,
}

impl Drop for WrittenFiles<'_> {
    fn drop(&mut self) {
        for file in &self.files {
            // If the removal fails, the first error still has the more useful
            // message.
            let _ = fs::remove_file(file);
        }
    }
}

/// Describes the written files, and the parts that were left out.
fn report(args: &ImportArgs, config: &IometerConfig, files: &[(PathBuf, String)]) -> String {
    let specs = counted(config.specs.len() as u64, "access specification");
    let mut text = format!("{specs} of {}\n", plain(&args.file));
    for (path, _) in files {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "wrote {}", path.display());
    }
    for note in &config.notes {
        let (file, line) = (plain(&args.file), note.line);
        let _ = writeln!(text, "not taken, {file}:{line}: {}", plain(&note.text));
    }
    let command = match files {
        [(profile, _)] => format!("smbench run URL -p {}", profile.display()),
        several => {
            let suite = several.last().map(|(path, _)| path.display().to_string());
            format!(
                "smbench suite {} --server NAME=URL",
                suite.unwrap_or_default()
            )
        }
    };
    let _ = writeln!(text, "Run it: {command}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_goes_again_where_the_rest_cannot_be() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("made/deep");
        let file = |name: &str| (folder.join(name), "x".to_owned());
        let files = [file("a.toml"), file("b.toml"), file("missing/c.toml")];
        let failed = write_all_new(&files).unwrap_err().to_string();
        let named = format!("failed to write {}: ", files[2].0.display());
        assert!(failed.starts_with(&named), "{failed}");
        assert!(!place.path().join("made").exists());
        write_all_new(&files[..2]).unwrap();
        let again = write_all_new(&files[..2]).unwrap_err();
        assert_eq!(again.exit(), Exit::Usage, "nothing is overwritten");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    }
}
