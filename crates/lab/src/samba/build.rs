//! The build of Samba that serves: the installed one, or another one beside it.
//!
//! A given smbd may be a wrapper, such as a script that runs smbd in a chroot or under a
//! profiler. The tools pdbedit and testparm are those beside it, where a build tree or an
//! installation has them. Otherwise pdbedit is the installed one. Testparm then is not
//! used, because another release knows other parameters: the log of smbd is read instead.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::ScratchSamba;
use crate::process::output;
use crate::tools::is_program;
use crate::{LabError, Tool};

/// Beginning of what smbd prints as its version.
const VERSION: &str = "Version ";
/// Options of a build that change how fast it is, or what it can tell of its work.
const OPTIONS: [&str; 6] = [
    "WITH_PROFILE",
    "HAVE_LIBURING",
    "CLUSTER_SUPPORT",
    "ENABLE_SELFTEST",
    "DEVELOPER",
    "AD_DC_BUILD_IS_ENABLED",
];
/// Largest number of characters of a program's words in an error.
const SAID_MAX: usize = 80;

/// The programs of a build.
#[derive(Clone, Debug)]
pub(super) struct SambaPrograms {
    pub(super) smbd: PathBuf,
    pub(super) pdbedit: PathBuf,
    /// `None` if the build has none, and the installed one may be of another release.
    pub(super) testparm: Option<PathBuf>,
    /// Whether it is the smbd that the caller gave.
    is_given: bool,
}

/// A build of Samba that is not the installed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SambaBuild {
    /// The smbd that was given.
    pub program: PathBuf,
    /// Options of the build that matter to a measurement, as `smbd -b` names them.
    pub options: Vec<String>,
}

impl SambaPrograms {
    /// Finds the programs of the build of `smbd`, or those that are installed.
    pub(super) fn of(smbd: Option<&Path>) -> Result<Self, LabError> {
        match smbd {
            None => Ok(Self {
                smbd: Tool::SMBD.find()?,
                pdbedit: Tool::PDBEDIT.find()?,
                testparm: None,
                is_given: false,
            }),
            Some(smbd) => {
                // Its processes have another working folder.
                let smbd = std::path::absolute(smbd)
                    .map_err(LabError::io(format!("find {}", smbd.display())))?;
                check_program(&smbd)?;
                let beside = |tool| beside(&smbd, tool);
                Ok(Self {
                    pdbedit: beside("pdbedit").map_or_else(|| Tool::PDBEDIT.find(), Ok)?,
                    testparm: beside("testparm"),
                    is_given: true,
                    smbd,
                })
            }
        }
    }

    /// Returns the testparm that knows the parameters of this build; `None` if there is
    /// none.
    pub(super) fn testparm(&self) -> Result<Option<PathBuf>, LabError> {
        if self.is_given {
            Ok(self.testparm.clone())
        } else {
            Tool::TESTPARM.find().map(Some)
        }
    }

    fn version(&self) -> Result<String, LabError> {
        version(&self.smbd)
    }

    /// Returns the options of the build.
    fn options(&self) -> Vec<String> {
        let said = output(Command::new(&self.smbd).arg("-b"), "");
        said.map_or_else(
            |_| Vec::new(),
            |said| options(&String::from_utf8_lossy(&said.stdout)),
        )
    }
}

impl ScratchSamba {
    /// Checks that a program is an smbd of Samba, by the version that it prints.
    ///
    /// # Errors
    /// [`LabError::NoSmbd`] with the reason.
    pub fn check_smbd(smbd: &Path) -> Result<(), LabError> {
        check_program(smbd)
    }

    /// Returns the program and its version, such as `Samba 4.17.12-Debian`.
    /// Returns `None` if smbd does not print it.
    #[must_use]
    pub fn version(&self) -> Option<String> {
        let version = self.programs.version().ok()?;
        Some(format!("Samba {version}"))
    }

    /// Returns the build; `None` if it is the installed one.
    #[must_use]
    pub fn build(&self) -> Option<SambaBuild> {
        let programs = &self.programs;
        programs.is_given.then(|| SambaBuild {
            program: programs.smbd.clone(),
            options: programs.options(),
        })
    }
}

/// Returns a tool of the build that has `smbd`: in a build tree both are in one folder, in
/// an installation they are in `sbin` and `bin`.
fn beside(smbd: &Path, tool: &str) -> Option<PathBuf> {
    let folder = smbd.parent()?;
    let mut found = [folder.join(tool), folder.join("../bin").join(tool)].into_iter();
    found.find(|program| is_program(program))
}

fn check_program(smbd: &Path) -> Result<(), LabError> {
    let no = |reason: &str| LabError::NoSmbd {
        path: smbd.to_owned(),
        reason: reason.to_owned(),
    };
    match fs::metadata(smbd) {
        Err(error) => Err(no(&format!("it cannot be read ({error})"))),
        Ok(meta) if meta.is_dir() => Err(no("it is a folder")),
        Ok(_) if !is_program(smbd) => Err(no("it is not executable")),
        Ok(_) => version(smbd).map(|_| ()),
    }
}

/// Returns the version that `smbd` prints.
fn version(smbd: &Path) -> Result<String, LabError> {
    let no = |reason| LabError::NoSmbd {
        path: smbd.to_owned(),
        reason,
    };
    let said = output(Command::new(smbd).arg("-V"), "")
        .map_err(|error| no(format!("asked for its version: {error}")))?;
    let stdout = String::from_utf8_lossy(&said.stdout);
    // A wrapper may print lines of its own.
    let mut lines = stdout.lines().map(str::trim);
    if let Some(version) = lines.find_map(|line| line.strip_prefix(VERSION)) {
        return Ok(version.to_owned());
    }
    let stderr = String::from_utf8_lossy(&said.stderr);
    let mut lines = stdout.lines().chain(stderr.lines()).map(str::trim);
    let first = lines.find(|line| !line.is_empty()).map_or_else(
        || format!("nothing, and ended with {}", said.status),
        |line| format!("{:?}", line.chars().take(SAID_MAX).collect::<String>()),
    );
    Err(no(format!(
        "asked for its version, it said {first}, not \"{VERSION}...\""
    )))
}

/// Returns the known options in the output of `smbd -b`.
fn options(said: &str) -> Vec<String> {
    let has = |option: &&str| said.lines().any(|line| line.trim() == *option);
    let known = OPTIONS.into_iter().filter(has);
    known.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_program_that_is_no_smbd_is_named_with_its_words() {
        let folder = tempfile::tempdir().unwrap();
        let script = |name: &str, text: &str, mode| {
            let path = folder.path().join(name);
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let said = |path: &Path| check_program(path).unwrap_err().to_string();
        for (path, expected) in [
            (folder.path().join("absent"), "it cannot be read"),
            (folder.path().to_owned(), "it is a folder"),
            (script("plain", "", 0o644), "it is not executable"),
            (
                script("silent", "exit 3", 0o755),
                "nothing, and ended with exit status: 3",
            ),
            (
                script("other", "echo other 1.0", 0o755),
                "it said \"other 1.0\", not",
            ),
            (
                script("loud", "echo bad >&2", 0o755),
                "it said \"bad\", not",
            ),
        ] {
            let error = said(&path);
            assert!(error.contains(expected), "{error}");
            assert!(error.starts_with(&path.display().to_string()), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
        let wrapper = script(
            "wrapper",
            "echo starting; echo 'Version 4.99.0-GIT-1a2b'",
            0o755,
        );
        assert_eq!(version(&wrapper).unwrap(), "4.99.0-GIT-1a2b");
    }

    #[test]
    fn tools_are_those_of_the_build_where_it_has_them() {
        let folder = tempfile::tempdir().unwrap();
        let make = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let smbd = make("sbin/smbd");
        assert_eq!(beside(&smbd, "pdbedit"), None);
        make("bin/pdbedit");
        let found = beside(&smbd, "pdbedit").unwrap();
        assert!(
            found.ends_with("sbin/../bin/pdbedit"),
            "{}",
            found.display()
        );
        let beside_it = make("sbin/pdbedit");
        assert_eq!(beside(&smbd, "pdbedit"), Some(beside_it));
    }

    #[test]
    fn options_are_whole_lines_of_what_smbd_prints() {
        let said = "Other options:\n   WITH_PROFILE\n   WITH_PROFILED\n   HAVE_LIBURING_H\n";
        assert_eq!(options(said), ["WITH_PROFILE"]);
    }
}
