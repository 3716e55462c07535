//! Sources of profiles: the built-in ones and files.
//!
//! Not here: the meaning of the content ([`smbench_model::spec`]), and whether it can run
//! ([`Plan::resolve`](smbench_model::plan::Plan::resolve)).

mod foreign;
mod populations;

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use smbench_capture::{RecordingError, read_recording};
pub use smbench_model::profile::{BUILTIN, DEFAULT, MalformedProfile, Profile, builtin};
use smbench_model::spec::Spec;
use smbench_model::trace::Recording;

use self::foreign::foreign;
use crate::loadfile::{self, LoadfileError, Unknown};
use crate::named::{path_suggestion, unreadable};
use crate::netbench;

/// The prefix of the path of a loadfile.
pub const LOADFILE: &str = "loadfile:";
/// The prefix of the folder of an imported capture.
pub const TRACE: &str = "trace:";

/// The largest profile file in bytes. A larger one is refused.
const PROFILE_BYTES_MAX: u64 = 1 << 20;

/// The reason why there is no profile to run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The name is neither a built-in profile nor a path.
    #[error(
        "unknown profile `{name}`{hint}: expected one of {list}, a .toml file, or a loadfile of dbench",
        hint = path_suggestion(.name, .folder, &BUILTIN.map(|(name, _)| name)),
        list = BUILTIN.map(|(name, _)| name).join(", ")
    )]
    Unknown {
        /// The name as given.
        name: String,
        /// The folder that the name is relative to.
        folder: PathBuf,
    },
    /// The file is one of another program.
    #[error("{path} is {what}, not a profile: {advice}")]
    Foreign {
        /// The path as given.
        path: String,
        /// The kind of file.
        what: &'static str,
        /// How to use it.
        advice: String,
    },
    /// The file cannot be read.
    #[error("{}", unreadable(.path, .reason))]
    Unreadable {
        /// The path as given.
        path: String,
        /// The system's reason.
        #[source]
        reason: io::Error,
    },
    /// The file is not a valid loadfile.
    #[error(transparent)]
    Loadfile(#[from] LoadfileError),
    /// The folder is not that of an imported capture.
    #[error(transparent)]
    Trace(#[from] RecordingError),
    /// The profile of a population cannot be loaded.
    #[error("profile {path}, population {name}: {reason}")]
    Population {
        /// The path of the profile with the population.
        path: String,
        /// The name of the population.
        name: String,
        /// Why there is no profile.
        #[source]
        reason: Box<ProfileError>,
    },
    /// The file is not a profile.
    #[error(transparent)]
    Malformed(#[from] MalformedProfile),
}

/// Loads the built-in profile of this name, or else the file at this path.
///
/// A text that contains a `/` or a `.` is a path. The file is a profile, or a loadfile
/// to replay. `loadfile:` precedes the path of a loadfile, `trace:` the folder of a capture.
/// The profiles of populations are loaded as well. Their paths are relative to the file.
///
/// # Errors
/// When there is no such profile, or its file cannot be read or is larger than 1
/// MiB. Also when its text is not a profile.
pub fn load(name_or_path: &str) -> Result<Profile, ProfileError> {
    load_with(name_or_path, Unknown::Refuse)
}

/// Loads a profile as [`load`] does. `unknown` says what to do with lines of a
/// loadfile that are not understood.
///
/// # Errors
/// As [`load`].
pub fn load_with(name_or_path: &str, unknown: Unknown) -> Result<Profile, ProfileError> {
    populations::loaded(load_one(name_or_path, unknown)?, name_or_path, unknown)
}

/// Loads a profile without those of its populations.
fn load_one(name_or_path: &str, unknown: Unknown) -> Result<Profile, ProfileError> {
    if let Some(path) = name_or_path.strip_prefix(LOADFILE) {
        return replay(name_or_path, path, unknown);
    }
    if let Some(folder) = name_or_path.strip_prefix(TRACE) {
        let recording = read_recording(folder)?;
        return Ok(of_recording(name_or_path, "trace", folder, recording));
    }
    if let Some(text) = builtin(name_or_path) {
        return Ok(parse(name_or_path, &text)?);
    }
    if !is_path(name_or_path) {
        return Err(ProfileError::Unknown {
            name: name_or_path.to_owned(),
            folder: PathBuf::new(),
        });
    }
    let unreadable = |reason| ProfileError::Unreadable {
        path: name_or_path.to_owned(),
        reason,
    };
    let text = read(Path::new(name_or_path)).map_err(unreadable)?;
    if let Some((what, advice)) = foreign(name_or_path, &String::from_utf8_lossy(&text)) {
        return Err(ProfileError::Foreign {
            path: name_or_path.to_owned(),
            what,
            advice,
        });
    }
    if may_be_loadfile(name_or_path) && is_loadfile(&text) {
        let is_file = fs::metadata(name_or_path).is_ok_and(|found| found.is_file());
        if !is_file {
            // It cannot be read a second time.
            let reason = "not a regular file; write loadfile: before its path to replay it";
            return Err(unreadable(io::Error::other(reason)));
        }
        return replay(&format!("{LOADFILE}{name_or_path}"), name_or_path, unknown);
    }
    if text.len() as u64 > PROFILE_BYTES_MAX {
        return Err(unreadable(io::Error::other("larger than 1 MiB")));
    }
    let text = String::from_utf8(text).map_err(|error| unreadable(io::Error::other(error)))?;
    Ok(parse(name_or_path, &text)?)
}

/// Returns whether a text that names no built-in profile is a path.
#[must_use]
pub fn is_path(text: &str) -> bool {
    text.contains(['/', '.'])
}

/// Returns whether a name can be that of a loadfile. The content decides, unless the
/// name has the prefix.
#[must_use]
pub fn may_be_loadfile(name: &str) -> bool {
    name.starts_with(LOADFILE) || is_path(name) && !name.ends_with(".toml")
}

/// Returns whether a text is a loadfile. The first line of a profile that is no
/// comment is a key or a table, that of a loadfile an operation.
fn is_loadfile(text: &[u8]) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"));
    first.is_some_and(|line| {
        let unquoted = line.split(|&byte| byte == b'"').next().unwrap_or_default();
        unquoted.first().is_some_and(u8::is_ascii_alphanumeric) && !unquoted.contains(&b'=')
    })
}

fn replay(origin: &str, path: &str, unknown: Unknown) -> Result<Profile, ProfileError> {
    let trace = loadfile::read(path, unknown)?;
    Ok(of_recording(origin, "loadfile", path, trace.into()))
}

/// Returns a profile that replays a recording of this kind, from this path.
fn of_recording(origin: &str, kind: &str, path: &str, recording: Recording) -> Profile {
    let stem = Path::new(path).file_stem().unwrap_or_default();
    let spec = Spec {
        name: Some(format!("{kind}-{}", stem.to_string_lossy())),
        ..Spec::default()
    };
    Profile {
        recording: Some(Arc::new(recording)),
        ..Profile::from_spec(origin, spec)
    }
}

/// Parses the text of a profile. Messages call it `origin`.
///
/// # Errors
/// When the text is not a profile.
pub fn parse(origin: &str, text: &str) -> Result<Profile, MalformedProfile> {
    let profile = Profile::parse(origin, text)?;
    Ok(Profile {
        netbench: Some(netbench::generate),
        ..profile
    })
}

/// Reads a file as far as a profile may be long, and a byte more if it is longer.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?
        .take(PROFILE_BYTES_MAX + 1)
        .read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use smbench_model::access::Access;
    use smbench_model::files::Scope;
    use smbench_model::kind::OpKind;
    use smbench_model::plan::Plan;
    use smbench_model::target::Target;
    use smbench_model::units::Size;

    use super::*;

    fn weights(profile: &Profile) -> Vec<(u64, f64)> {
        let sizes = profile.spec.sizes.iter();
        sizes.map(|size| (size.size.0, size.weight)).collect()
    }

    #[test]
    fn the_published_patterns_are_exact() {
        let file = load("file-server").unwrap();
        assert_eq!(
            weights(&file),
            [
                (512, 10.0),
                (1024, 5.0),
                (2048, 5.0),
                (4096, 60.0),
                (8192, 2.0),
                (16_384, 4.0),
                (32_768, 4.0),
                (65_536, 10.0),
            ]
        );
        assert_eq!(file.spec.read_percent, Some(80.0));
        let web = load("web-server").unwrap();
        assert_eq!(
            weights(&web),
            [
                (512, 22.0),
                (1024, 15.0),
                (2048, 8.0),
                (4096, 23.0),
                (8192, 15.0),
                (16_384, 2.0),
                (32_768, 6.0),
                (65_536, 7.0),
                (131_072, 1.0),
                (524_288, 1.0),
            ]
        );
        assert_eq!(web.spec.read_percent, Some(100.0));
        for profile in [file, web] {
            assert_eq!(profile.spec.access, Some(Access::Random));
            assert_eq!(profile.spec.files.scope, Some(Scope::Private));
            assert_eq!(profile.spec.files.count, Some(1));
            assert_eq!(profile.spec.files.size, Some(Size(1 << 20)));
            assert_eq!(profile.spec.flush_every_writes, None);
        }
    }

    #[test]
    fn read_4k_shares_one_file() {
        let profile = load("read-4k").unwrap();
        assert_eq!(weights(&profile), [(4096, 100.0)]);
        assert_eq!(profile.spec.read_percent, Some(100.0));
        assert_eq!(profile.spec.files.scope, Some(Scope::Shared));
        assert_eq!(profile.spec.files.size, Some(Size(1 << 20)));
    }

    #[test]
    fn each_builtin_profile_calls_itself_by_its_name() {
        for (name, _) in BUILTIN {
            let profile = load(name).unwrap();
            assert_eq!(profile.spec.name.as_deref(), Some(name));
            assert!(profile.spec.description.is_some());
        }
        assert!(builtin(DEFAULT).is_some());
    }

    #[test]
    fn the_replays_among_the_builtin_profiles_run() {
        for name in ["netbench-like", "netbench-like-oplocks"] {
            let target = Target::with_password("smb://ann@host/share", "secret").unwrap();
            let plan = Plan::of(&load(name).unwrap(), target).unwrap();
            assert_eq!(plan.work.profile, name);
            assert!(plan.only().workload.kinds().contains(&OpKind::Write));
            let replay = plan.only().workload.replay().unwrap();
            let source = &replay.recording.summary().source;
            assert!(source.starts_with("netbench-like ("), "{source}");
        }
    }

    #[test]
    fn a_loadfile_is_known_by_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let recording = "# made by hand\n\nDeltree \"\\clients\\client1\" NT_STATUS_OK\n";
        fs::write(path("client.txt"), recording).unwrap();
        fs::write(path("night"), " # mine\nread_percent = 70").unwrap();
        let found = load(&path("client.txt")).unwrap();
        let with_prefix = load(&format!("{LOADFILE}{}", path("client.txt"))).unwrap();
        assert_eq!(found.origin, with_prefix.origin);
        assert!(found.recording.is_some() && found.recording == with_prefix.recording);
        let profile = load(&path("night")).unwrap();
        assert_eq!(profile.spec.read_percent, Some(70.0));
        assert!(profile.recording.is_none());
    }

    #[test]
    fn files_of_other_programs_are_named_as_such() {
        let folder = tempfile::tempdir().unwrap();
        for (text, expected) in [
            (
                "; my job\n[global]\nbs=4k\n",
                "is a job of fio, not a profile: docs/from/fio.md shows how to write it as one",
            ),
            (
                "[a]\nrw = randrw\nsize=1g\n",
                "is a job of fio, not a profile: docs/from/fio.md shows how to write it as one",
            ),
            (
                "Version 1.1.0\n'TEST SETUP ====\n",
                "is a configuration of Iometer, not a profile: convert it with `smbench import \
                 iometer ",
            ),
        ] {
            let path = folder.path().join("given");
            fs::write(&path, text).unwrap();
            let error = load(&path.display().to_string()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_path_is_read_as_a_file() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../model/profiles/read-4k.toml"
        );
        let profile = load(path).unwrap();
        assert_eq!(profile.origin, path);
        assert_eq!(profile.spec, load("read-4k").unwrap().spec);
    }

    #[test]
    fn what_is_missing_or_malformed_is_named() {
        assert_eq!(
            load("file-sever").unwrap_err().to_string(),
            "unknown profile `file-sever` (did you mean file-server?): expected one of file-server, \
             web-server, read-4k, metadata, list, stat, browse, browse-changing, \
             finder-browse, notify-fanout, neighbour, untar, copy-in, copy-out, walk, \
             office-save, logons, all-commands, \
             netbench-like, netbench-like-oplocks, stream-2k-24, stream-uhd-24, stream-4k-24, \
             a .toml file, or a loadfile of dbench"
        );
        for path in ["./no-such-profile", "no-such-profile.toml"] {
            assert_eq!(
                load(path).unwrap_err().to_string(),
                format!("failed to read {path}: the file does not exist")
            );
        }
        assert_eq!(
            load("/dev/zero").unwrap_err().to_string(),
            "failed to read /dev/zero: larger than 1 MiB"
        );
        assert_eq!(
            Profile::parse("my.toml", "name = \"x\"\nread = 1")
                .unwrap_err()
                .to_string(),
            "profile my.toml, line 2, column 1: unknown field `read`, expected one of `name`, \
             `description`, `read_percent`, `split`, `access`, `flush_every_writes`, `files`, \
             `tree`, `sizes`, `operations`, `pattern`, `netbench`, `population`, `unit`, `unit_limits`, \
             `stream`, `run`"
        );
    }

    #[test]
    fn a_nameless_profile_is_called_after_its_file() {
        let profile = Profile::parse("dir/night.toml", "").unwrap();
        assert_eq!(profile.name(), "night");
    }
}
