//! Sources of suites: built-in ones and files.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use smbench_formats::loadfile::Unknown;
use smbench_formats::named;
use smbench_formats::profile::{self, LOADFILE, ProfileError, TRACE};
use smbench_model::profile::Profile;
use smbench_model::setting::Advice;
use smbench_model::spec;
use smbench_report::study::ComparisonKind;

use super::spec::{ComparisonEntry, SuiteSpec};
use crate::failure::Failure;

/// Suites shipped with the program: name and TOML text.
pub const BUILTIN: [(&str, &str); 10] = [
    ("adapter", include_str!("../../suites/adapter.toml")),
    ("curve", include_str!("../../suites/curve.toml")),
    ("dir-leases", include_str!("../../suites/dir-leases.toml")),
    ("failover", include_str!("../../suites/failover.toml")),
    ("folders", include_str!("../../suites/folders.toml")),
    ("limits-2005", include_str!("../../suites/limits-2005.toml")),
    ("listings", include_str!("../../suites/listings.toml")),
    (
        "signing-cost",
        include_str!("../../suites/signing-cost.toml"),
    ),
    (
        "veritest-2003",
        include_str!("../../suites/veritest-2003.toml"),
    ),
    (
        "veritest-2004",
        include_str!("../../suites/veritest-2004.toml"),
    ),
];

/// Passes of a suite that only the command line describes: enough for a verdict.
const PASSES_OF_SERVERS: u32 = 5;

/// Size above which a file cannot be a suite.
const SUITE_BYTES_MAX: u64 = 1 << 20;

/// A suite and its origin.
#[derive(Debug)]
pub struct Source {
    /// The given name or path, for messages.
    pub(super) origin: String,
    /// Folder that its paths are relative to.
    folder: PathBuf,
    pub(super) spec: SuiteSpec,
}

impl Source {
    /// Loads the built-in suite of this name, or the file at this path. A path
    /// contains a `/` or a `.`.
    pub fn load(name_or_path: &str) -> Result<Self, Failure> {
        let (text, folder) = match builtin(name_or_path) {
            Some(text) => (text.to_owned(), PathBuf::new()),
            None => {
                let path = Path::new(name_or_path);
                let folder = path.parent().unwrap_or(Path::new(""));
                (read(name_or_path)?, folder.to_owned())
            }
        };
        let spec = spec::parse(&text)
            .map_err(|error| Failure::Usage(format!("suite {name_or_path}, {error}")))?;
        Ok(Self {
            origin: name_or_path.to_owned(),
            folder,
            spec,
        })
    }

    /// Makes a suite of the servers on the command line, `NAME=URL` each.
    pub fn of_servers(servers: &[String]) -> Self {
        let names = servers.iter().map(|server| match server.split_once('=') {
            Some((name, _)) => name.trim(),
            // Refused later.
            None => "server",
        });
        let names: Vec<_> = names.collect();
        let comparison = ComparisonEntry {
            title: format!("Change from {}", names.first().unwrap_or(&"server")),
            kind: ComparisonKind::Change,
            baseline: None,
            servers: None,
            flush: None,
        };
        Self {
            origin: Advice("of @server").to_string(),
            folder: PathBuf::new(),
            spec: SuiteSpec {
                name: Some(names.join("-")),
                title: Some(names.join(" and ")),
                passes: Some(PASSES_OF_SERVERS),
                comparisons: match names.len() {
                    1 => Vec::new(),
                    _ => vec![comparison],
                },
                ..SuiteSpec::default()
            },
        }
    }

    /// Returns the name for folders.
    pub(super) fn name(&self) -> String {
        let own = self.spec.name.clone();
        let stem = || {
            let stem = Path::new(&self.origin).file_stem()?;
            Some(stem.to_string_lossy().into_owned())
        };
        own.filter(|name| !name.trim().is_empty())
            .or_else(stem)
            .unwrap_or_else(|| self.origin.clone())
    }

    /// Returns a path of the suite relative to this process.
    pub(super) fn path(&self, written: &Path) -> PathBuf {
        self.folder.join(written)
    }

    /// Loads a profile that the suite names.
    pub(super) fn profile(&self, name_or_path: &str, unknown: Unknown) -> Result<Profile, Failure> {
        let joined = |path: &str| self.path(Path::new(path)).display().to_string();
        let prefixes = [LOADFILE, TRACE].into_iter();
        let mut prefixed = prefixes.filter_map(|prefix| {
            let path = name_or_path.strip_prefix(prefix)?;
            Some((prefix, path))
        });
        let name = match prefixed.next() {
            // With a prefix it is always a path.
            Some((prefix, path)) => format!("{prefix}{}", joined(path)),
            None if profile::builtin(name_or_path).is_none() && profile::is_path(name_or_path) => {
                joined(name_or_path)
            }
            None => name_or_path.to_owned(),
        };
        let loaded = profile::load_with(&name, unknown);
        Ok(loaded.map_err(|error| match error {
            ProfileError::Unknown { name, .. } => ProfileError::Unknown {
                name,
                folder: self.folder.clone(),
            },
            error => error,
        })?)
    }
}

fn builtin(name: &str) -> Option<&'static str> {
    let found = BUILTIN.into_iter().find(|(builtin, _)| *builtin == name);
    found.map(|(_, text)| text)
}

/// Reads the file at a path.
fn read(path: &str) -> Result<String, Failure> {
    if !profile::is_path(path) {
        return Err(Failure::Usage(format!(
            "unknown suite `{path}`{}: expected one of {}, or a .toml file",
            named::path_suggestion(path, Path::new(""), &BUILTIN.map(|(name, _)| name)),
            BUILTIN.map(|(name, _)| name).join(", ")
        )));
    }
    let mut text = String::new();
    let read = File::open(path)
        .and_then(|file| file.take(SUITE_BYTES_MAX + 1).read_to_string(&mut text))
        .and_then(|len| {
            if len as u64 > SUITE_BYTES_MAX {
                Err(io::Error::other("larger than 1 MiB"))
            } else {
                Ok(())
            }
        });
    match read {
        Ok(()) => Ok(text),
        Err(error) => Err(Failure::Usage(named::unreadable(path, &error))),
    }
}

/// Returns the list of built-in suites.
pub fn list() -> Result<String, Failure> {
    let width = BUILTIN.iter().map(|(name, _)| name.len()).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    for (name, _) in BUILTIN {
        let description = Source::load(name)?.spec.description.unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<width$}  {description}");
    }
    Ok(text)
}

/// Returns the text of a suite.
pub fn text(name: &str) -> Result<String, Failure> {
    match builtin(name) {
        Some(text) => Ok(text.to_owned()),
        None => {
            let text = read(name)?;
            // Check that the text is a valid suite before it is shown.
            Source::load(name)?;
            Ok(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::sessions::Mode;

    use super::*;

    #[test]
    fn built_in_suites_can_be_read() {
        for (name, _) in BUILTIN {
            let source = Source::load(name).unwrap();
            assert_eq!(source.name(), name);
            assert!(source.spec.title.is_some() && source.spec.description.is_some());
            for profile in &source.spec.profiles {
                source.profile(&profile.profile, Unknown::Refuse).unwrap();
            }
            if !name.starts_with("veritest-") {
                continue;
            }
            let clients: Vec<u32> = source.spec.clients.clone().unwrap().into();
            assert_eq!(
                (clients.len(), clients[15], source.spec.passes),
                (16, 60, Some(2))
            );
            assert_eq!(source.spec.profiles.len(), 1);
        }
    }

    #[test]
    fn the_adapter_suite_has_the_sizes_of_the_study_and_two_that_smb_3_adds() {
        let source = Source::load("adapter").unwrap();
        let clients: Vec<u32> = source.spec.clients.unwrap().into();
        assert_eq!(clients, [20]);
        let sizes = source.spec.transfers.unwrap().sizes;
        let mut expected: Vec<_> = (7..=18).map(|power| 1_u64 << power).collect();
        expected.extend([1 << 20, 8 << 20]);
        let bytes: Vec<_> = sizes.iter().map(|size| size.0).collect();
        assert_eq!(bytes, expected);
    }

    #[test]
    fn the_suite_of_limits_has_each_search_plain_signed_and_encrypted() {
        let spec = Source::load("limits-2005").unwrap().spec;
        let names = spec.find.iter().map(|entry| entry.name.clone());
        let expected = ["sessions", "log-ons"].map(|kind| {
            ["plain", "signed", "encrypted"].map(|security| format!("{security} {kind}"))
        });
        assert_eq!(names.collect::<Vec<_>>(), expected.concat());
        let required = |option: Option<Mode>| option == Some(Mode::Required);
        for entry in &spec.find {
            let sessions = &entry.run.sessions;
            assert_eq!(required(sessions.sign), entry.name.starts_with("signed"));
            let is_encrypted = entry.name.starts_with("encrypted");
            assert_eq!(required(sessions.encrypt), is_encrypted);
        }
    }

    #[test]
    fn paths_are_relative_to_the_suite() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        write("suite.toml", "").unwrap();
        write("client.txt", "Mkdir \"\\a\" NT_STATUS_OK\n").unwrap();
        let profile = "read_percent = 100\n[[sizes]]\nsize = \"4KiB\"\nweight = 100\n";
        write("mine.toml", profile).unwrap();
        let suite = folder.path().join("suite.toml");
        let source = Source::load(suite.to_str().unwrap()).unwrap();
        let whole = format!("loadfile:{}/client.txt", folder.path().display());
        for name in ["loadfile:client.txt", "loadfile:./client.txt", &whole] {
            let found = source.profile(name, Unknown::Refuse).unwrap();
            assert!(found.recording.is_some(), "{name}");
        }
        for name in ["mine.toml", "./mine.toml", "read-4k"] {
            source.profile(name, Unknown::Refuse).unwrap();
        }
        let error = source.profile("mine", Unknown::Refuse).unwrap_err();
        let expected = "unknown profile `mine` (did you mean the file mine.toml?)";
        assert!(error.to_string().starts_with(expected), "{error}");
    }

    #[test]
    fn the_suite_in_the_chapter_on_suites_can_be_read() {
        let chapter = include_str!("../../../../docs/suites.md");
        let (_, block) = chapter.split_once("```toml\n").unwrap();
        let (text, _) = block.split_once("```").unwrap();
        let suite: SuiteSpec = spec::parse(text).unwrap();
        assert_eq!((suite.servers.len(), suite.comparisons.len()), (2, 1));
    }

    #[test]
    fn what_is_no_suite_is_named() {
        for (text, expected) in [
            ("colour = 1", "line 1, column 1: unknown field `colour`"),
            (
                "[[servers]]\nurll = 1",
                "line 2, column 1: unknown field `urll`",
            ),
            (
                "profiles = [1]",
                "expected a profile's name or path, or a table",
            ),
            (
                "[[profiles]]\nprofile = \"a\"\nruns = 1",
                "unknown field `runs`",
            ),
            ("[run]\nduratoin = \"3s\"", "unknown field `duratoin`"),
            ("clients = \"0\"", "is zero clients"),
            ("[transfers]\nmodes = [\"both\"]", "unknown variant `both`"),
            ("[[comparisons]]\nservers = []", "missing field `title`"),
            (
                "[[comparisons]]\ntitle = \"x\"\nkind = \"more\"",
                "unknown variant `more`, expected `change` or `scaling`",
            ),
            ("[[servers]]\npassword = \"x\"", "unknown field `password`"),
            ("[[servers]]\nflush = \"maybe\"", "unknown variant `maybe`"),
        ] {
            let error = spec::parse::<SuiteSpec>(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
