//! What `smbstatus` says about an smbd of this machine.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use smbench_model::record::{ServerCalls, ServerCounters, ServerOpen};

use super::{CallsByName, command, if_counting};
use crate::machine::command::printed;

/// How long smbstatus may take; it takes about 50 ms.
const STATUS_LIMIT: Duration = Duration::from_secs(5);

/// The part of what smbstatus knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SmbstatusTopic {
    /// Calls and their times.
    Profile,
    /// Sessions, connected shares and files.
    Open,
}

/// The smbstatus of an smbd, with its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Smbstatus {
    program: PathBuf,
    configuration: Option<PathBuf>,
}

/// What smbstatus prints about a kind of call.
#[derive(Deserialize)]
struct PrintedCalls {
    count: Option<u64>,
    time: Option<u64>,
}

type StatusSection = BTreeMap<String, PrintedCalls>;

/// What smbstatus prints. Sections of other builds are absent.
#[derive(Deserialize)]
struct Status {
    #[serde(rename = "SMB2 Calls", default)]
    smb2: StatusSection,
    #[serde(rename = "System Calls", default)]
    system: StatusSection,
    sessions: Option<BTreeMap<String, serde::de::IgnoredAny>>,
    tcons: Option<BTreeMap<String, serde::de::IgnoredAny>>,
    open_files: Option<BTreeMap<String, serde::de::IgnoredAny>>,
}

impl Smbstatus {
    /// Finds the smbstatus beside the smbd with this process id, and its configuration.
    pub(super) fn of(smbd: i32) -> Result<Self, String> {
        let at = PathBuf::from(format!("/proc/{smbd}"));
        let read = |name: &str| fs::read_link(at.join(name));
        let unreadable = |error| format!("process {smbd} of the server cannot be read: {error}");
        let program = read("exe").map_err(unreadable)?;
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        if name.trim_end_matches(" (deleted)") != "smbd" {
            return Err(format!("the server is {name}, not smbd"));
        }
        if read("root").map_err(unreadable)? != Path::new("/") {
            return Err(
                "smbd runs in a file system of its own: a chroot or a container".to_owned(),
            );
        }
        let arguments = fs::read(at.join("cmdline")).map_err(unreadable)?;
        let configuration = configuration(&arguments).map(|path| match read("cwd") {
            Ok(folder) => folder.join(path),
            Err(_) => path,
        });
        // /usr/sbin/smbd has /usr/bin/smbstatus.
        let beside = program.parent().and_then(Path::parent);
        let beside = beside.map(|prefix| prefix.join("bin/smbstatus"));
        Ok(Self {
            program: beside
                .filter(|path| path.exists())
                .unwrap_or_else(|| PathBuf::from("smbstatus")),
            configuration,
        })
    }

    /// Describes the source.
    pub(super) fn name(&self, subject: SmbstatusTopic) -> String {
        let what = match subject {
            SmbstatusTopic::Profile => "the profile of smbd",
            SmbstatusTopic::Open => "what smbd has open",
        };
        format!("{what}, by {}", self.program.display())
    }

    /// Asks smbstatus. The error text goes into results.
    pub(super) fn read(&self, subject: SmbstatusTopic) -> Result<ServerCounters, String> {
        let mut command = Command::new(&self.program);
        if let Some(configuration) = &self.configuration {
            command.arg("--configfile").arg(configuration);
        }
        if subject == SmbstatusTopic::Profile {
            command.arg("--profile");
        }
        command.arg("--json");
        let said = printed(command, STATUS_LIMIT).map_err(|error| format!("smbstatus {error}"))?;
        parse(&said.stdout, subject).map_err(|error| match said.stderr.lines().next() {
            Some(first) => format!("smbstatus says: {first}"),
            None => error,
        })
    }
}

/// Returns the configuration that smbd was started with.
fn configuration(arguments: &[u8]) -> Option<PathBuf> {
    let path = |bytes: &[u8]| PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()));
    let mut arguments = arguments.split(|&byte| byte == 0);
    while let Some(argument) = arguments.next() {
        if matches!(argument, b"-s" | b"--configfile") {
            return arguments.next().map(path);
        }
        for prefix in [&b"--configfile="[..], b"-s"] {
            if let Some(value) = argument.strip_prefix(prefix) {
                return Some(path(value));
            }
        }
    }
    None
}

fn parse(text: &[u8], subject: SmbstatusTopic) -> Result<ServerCounters, String> {
    let status: Status = serde_json::from_slice(text)
        .map_err(|error| format!("the answer of smbstatus is not understood: {error}"))?;
    let count = |section: Option<BTreeMap<String, _>>| section.map(|all| all.len() as u64);
    let counters = ServerCounters {
        commands: calls(status.smb2, |name| {
            command(name.strip_prefix("smb2_")?).map(str::to_owned)
        }),
        calls: calls(status.system, |name| {
            name.strip_prefix("syscall_").map(str::to_owned)
        }),
        open: ServerOpen {
            sessions: count(status.sessions),
            tree_connects: count(status.tcons),
            files: count(status.open_files),
        },
    };
    match subject {
        SmbstatusTopic::Profile if counters.commands.is_empty() => {
            Err("this build of smbd has no profile".to_owned())
        }
        SmbstatusTopic::Profile => if_counting(
            counters,
            "smbd counts nothing; smb.conf needs `smbd profiling level = on`",
        ),
        SmbstatusTopic::Open if counters.open == ServerOpen::default() => {
            Err("smbstatus lists nothing that is open".to_owned())
        }
        SmbstatusTopic::Open => Ok(counters),
    }
}

fn calls(section: StatusSection, name: impl Fn(&str) -> Option<String>) -> CallsByName {
    let calls = |(key, calls): (String, PrintedCalls)| {
        let time = calls.time.map(Duration::from_micros);
        let count = calls.count?;
        Some((name(&key)?, ServerCalls { count, time }))
    };
    section.into_iter().filter_map(calls).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_has_commands_and_calls() {
        let text = br#"{"version": "4.17.12", "SMBD loop": {"connect": {"count": 2}},
            "System Calls": {"syscall_pread": {"count": 4, "time": 61, "idle": 0, "bytes": 9}},
            "SMB2 Calls": {"smb2_find": {"count": 3, "time": 597}, "smb2_new": {"count": 1}}}"#;
        let found = parse(text, SmbstatusTopic::Profile).unwrap();
        assert_eq!(found.commands.len(), 1);
        assert_eq!(found.commands["query_directory"].count, 3);
        let pread = found.calls["pread"];
        assert_eq!(
            (pread.count, pread.time),
            (4, Some(Duration::from_micros(61)))
        );
    }

    #[test]
    fn a_profile_that_is_missing_or_off_is_named() {
        for (text, says) in [
            (r#"{"version": "4.17.12"}"#, "no profile"),
            (
                r#"{"SMB2 Calls": {"smb2_read": {"count": 0}}}"#,
                "smbd profiling level",
            ),
            ("", "not understood"),
        ] {
            let error = parse(text.as_bytes(), SmbstatusTopic::Profile).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        let open = br#"{"sessions": {"1": {}, "2": {}}, "tcons": {}, "open_files": {"a": 1}}"#;
        let open = parse(open, SmbstatusTopic::Open).unwrap().open;
        assert_eq!((open.sessions, open.files), (Some(2), Some(1)));
        assert!(parse(b"{}", SmbstatusTopic::Open).is_err());
    }

    #[test]
    fn the_configuration_is_the_one_that_smbd_was_started_with() {
        for (line, path) in [
            ("smbd\0-F\0-s\0/a/smb.conf\0", Some("/a/smb.conf")),
            ("smbd\0--configfile=/b\0", Some("/b")),
            ("smbd\0--configfile\0c d\0", Some("c d")),
            ("smbd\0-s/e\0", Some("/e")),
            ("smbd\0-D\0", None),
        ] {
            let found = configuration(line.as_bytes());
            assert_eq!(found.as_deref(), path.map(Path::new), "{line}");
        }
    }
}
