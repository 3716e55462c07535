//! Shares that fold the case of names: our files are known there, and nothing is left. On
//! a case-sensitive share, a name in another case is somebody else's.

use std::path::Path;
use std::sync::Arc;

use smbench_engine::probe::{Cleanup, cleanup};
use smbench_engine::run::{Unobserved, execute};
use smbench_engine::{Cancel, prepared};
use smbench_formats::loadfile::{self, Unknown};
use smbench_lab::{SambaOptions, ScratchSamba};
use smbench_model::fileio::{FileOrigin, Fileio, Flushing, RequestSpread, TestMode};
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::record::Outcome;
use smbench_model::sessions::SessionOptions;
use smbench_model::spec::{RunOptions, SessionsSpec, Spec, WorkSpec};
use smbench_model::target::Target;
use smbench_model::units::Size;
use smbench_protocol::Dialect;

use crate::support::{plan, short, target};

const LEFTOVER: &str = "smbench-0123456789abcdef";
/// Names that runs make. Their manifest is in a directory of its own.
const NAMES: [&str; 5] = [
    "smbench.run",
    "c00000-f000.dat",
    "shared-f000.dat",
    "s00001-003-t.tmp",
    "s00001-003-d.tmp/",
];
const TRACE: &str = r#"
Deltree "\clients\client1" NT_STATUS_OK
NTCreateX "\clients\client1" 0x1 0x2 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\One long name.doc" 0x40 0x2 1 NT_STATUS_OK
WriteX 1 0 65536 65536 NT_STATUS_OK
Close 1 NT_STATUS_OK
FIND_FIRST "\clients\client1\*" 260 1366 3 NT_STATUS_OK
Rename "\clients\client1\one long name.doc" "\clients\client1\two.doc" NT_STATUS_OK
"#;

/// How a share treats the case of names.
struct Case {
    lines: &'static [&'static str],
    /// The name on its disk.
    stored: fn(&str) -> String,
}

const UPPER: Case = Case {
    lines: &[
        "preserve case = no",
        "short preserve case = no",
        "default case = upper",
    ],
    stored: str::to_ascii_uppercase,
};

const FOLDING: [Case; 4] = [
    UPPER,
    Case {
        lines: &[
            "preserve case = no",
            "short preserve case = no",
            "default case = lower",
        ],
        stored: str::to_ascii_lowercase,
    },
    // As the manual of Samba advises for large directories.
    Case {
        lines: &[
            "case sensitive = yes",
            "preserve case = no",
            "short preserve case = no",
            "default case = upper",
        ],
        stored: str::to_ascii_uppercase,
    },
    // Names of 8 and 3 letters are folded, longer ones are not.
    Case {
        lines: &["short preserve case = no", "default case = upper"],
        stored: |name| match name {
            "smbench.run" => name.to_ascii_uppercase(),
            _ => name.to_owned(),
        },
    },
];

const SENSITIVE: &str = "case sensitive = yes";

fn samba(lines: &[&str]) -> Option<ScratchSamba> {
    ScratchSamba::or_skip(SambaOptions {
        extra_global: vec![ScratchSamba::CIFS.to_owned()],
        extra_share: lines.iter().map(ToString::to_string).collect(),
        ..SambaOptions::default()
    })
}

/// A Samba and the dialect to speak with it.
struct Served<'a> {
    samba: &'a ScratchSamba,
    dialect: Dialect,
}

impl Served<'_> {
    fn target(&self) -> Target {
        target(&self.samba.url(), self.samba.password())
    }

    fn sessions(&self) -> SessionOptions {
        SessionOptions {
            dialects: self.dialect.into(),
            ..SessionOptions::default()
        }
    }

    fn options(&self) -> RunOptions {
        RunOptions {
            sessions: SessionsSpec {
                dialect: Some(self.dialect.into()),
                ..SessionsSpec::default()
            },
            work: WorkSpec {
                clients: Some("2".parse().unwrap()),
                ..short().work
            },
            ..short()
        }
    }

    fn cleanup(&self) -> Cleanup {
        cleanup(&self.target(), self.sessions(), Limits::default()).unwrap()
    }

    fn run(&self, plan: &Plan) {
        let record = execute(plan, &mut Unobserved, &Cancel::default()).unwrap();
        assert_eq!(record.outcome, Outcome::Complete);
        assert_eq!(record.leftover, None);
        let [point] = &record.load_points[..] else {
            panic!("{} load points", record.load_points.len());
        };
        assert_eq!(point.dropouts, []);
        assert_eq!(point.ops.errors(), 0, "{:?}", point.ops.failures());
        assert!(is_empty(&self.samba.data_dir()));
    }

    fn prepare(&self) -> u32 {
        let (mut ignore, cancel) = (|_, _| {}, Cancel::default());
        let (target, sessions) = (self.target(), self.sessions());
        let test = test(TestMode::SeqRd);
        let limits = Limits::default();
        let done = prepared::prepare(&target, sessions, limits, &test, &cancel, &mut ignore);
        done.unwrap().written
    }

    fn remove(&self) -> Option<String> {
        prepared::remove(&self.target(), self.sessions(), Limits::default())
            .unwrap()
            .directory
    }
}

fn test(mode: TestMode) -> Fileio {
    Fileio {
        mode,
        files: 2,
        total: Size(2 << 16),
        block: Size(4096),
        merged: 0,
        flushing: Flushing::Sets {
            every: None,
            at_end: true,
        },
        rw_ratio: 1.5,
        spread: RequestSpread::Uniform,
        events: Some(20),
        time: None,
        home: FileOrigin::Prepared,
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

/// Makes the directory of a killed run as a share stores it.
fn leave(samba: &ScratchSamba, stored: fn(&str) -> String) {
    let directory = samba.data_dir().join(stored(LEFTOVER));
    let tree = directory.join(stored("replay")).join(stored("clients"));
    std::fs::create_dir_all(&tree).unwrap();
    std::fs::write(tree.join(stored("a long name.doc")), "x").unwrap();
    for name in NAMES {
        match name.strip_suffix('/') {
            Some(name) => std::fs::create_dir(directory.join(stored(name))).unwrap(),
            None => std::fs::write(directory.join(stored(name)), "x").unwrap(),
        }
    }
}

#[test]
fn runs_and_replays_leave_nothing_where_case_is_folded() {
    for case in FOLDING {
        let Some(samba) = samba(case.lines) else {
            return;
        };
        for dialect in [Dialect::Smb311, Dialect::Cifs] {
            let served = Served {
                samba: &samba,
                dialect,
            };
            let options = served.options();
            served.run(&plan("file-server", &options, served.target()));
            if dialect == Dialect::Smb311 {
                served.run(&plan("metadata", &options, served.target()));
            }
            let trace = loadfile::parse("my.txt", TRACE.as_bytes(), Unknown::Refuse).unwrap();
            let profile = Profile {
                recording: Some(Arc::new(trace.into())),
                ..Profile::from_spec("my", Spec::default())
            };
            let options = RunOptions {
                work: WorkSpec {
                    clients: Some("2".parse().unwrap()),
                    loops: Some(2),
                    ..WorkSpec::default()
                },
                ..options
            };
            let limits = Limits::default();
            let plan = Plan::resolve(&profile, &options, served.target(), limits, 2).unwrap();
            served.run(&plan);
        }
    }
}

#[test]
fn cleanup_knows_our_names_where_case_is_folded() {
    for case in FOLDING {
        let Some(samba) = samba(case.lines) else {
            return;
        };
        for dialect in [Dialect::Smb311, Dialect::Cifs] {
            let served = Served {
                samba: &samba,
                dialect,
            };
            leave(&samba, case.stored);
            let removed = served.cleanup();
            assert_eq!(
                removed.removed,
                [(case.stored)(LEFTOVER)],
                "{:?}",
                case.lines
            );
            assert!(is_empty(&samba.data_dir()));
        }
    }
}

#[test]
fn prepared_files_are_known_where_case_is_folded() {
    for case in FOLDING {
        let Some(samba) = samba(case.lines) else {
            return;
        };
        for dialect in [Dialect::Smb311, Dialect::Cifs] {
            let served = Served {
                samba: &samba,
                dialect,
            };
            assert_eq!(served.prepare(), 2);
            assert_eq!(served.prepare(), 0);
            let found = served.cleanup();
            assert_eq!(found.prepared, [(case.stored)("smbench-fileio")]);
            assert_eq!(found.removed, [""; 0]);
            for mode in [TestMode::RndRd, TestMode::SeqWr] {
                let profile = Profile {
                    fileio: Some(test(mode)),
                    ..Profile::from_spec("fileio", Spec::default())
                };
                let limits = Limits::default();
                let options = RunOptions {
                    work: WorkSpec::default(),
                    ..served.options()
                };
                let plan = Plan::resolve(&profile, &options, served.target(), limits, 2).unwrap();
                let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
                assert_eq!(record.outcome, Outcome::Complete);
            }
            assert_eq!(served.remove().as_deref(), Some("smbench-fileio"));
            assert!(is_empty(&samba.data_dir()));
        }
    }
}

/// Starts a Samba with a case-sensitive share, and calls `check` for each dialect.
fn on_a_case_sensitive_share(check: impl Fn(&Served<'_>, &Path)) {
    let Some(samba) = samba(&[SENSITIVE]) else {
        return;
    };
    for dialect in [Dialect::Smb311, Dialect::Cifs] {
        let samba = &samba;
        check(&Served { samba, dialect }, &samba.data_dir());
    }
}

#[test]
fn a_directory_in_another_case_is_not_ours_on_a_case_sensitive_share() {
    on_a_case_sensitive_share(|served, data| {
        leave(served.samba, UPPER.stored);
        std::fs::create_dir(data.join("SMBENCH-FILEIO")).unwrap();
        assert_eq!(served.cleanup(), Cleanup::default());
        assert_eq!(served.remove(), None);
        let theirs = data.join((UPPER.stored)(LEFTOVER));
        assert_eq!(std::fs::read_dir(&theirs).unwrap().count(), NAMES.len() + 1);
        for directory in [theirs, data.join("SMBENCH-FILEIO")] {
            std::fs::remove_dir_all(directory).unwrap();
        }
    });
}

#[test]
fn a_file_in_another_case_stays_on_a_case_sensitive_share() {
    on_a_case_sensitive_share(|served, data| {
        for other in [
            "C00000-F000.DAT",
            "C00009-F009.DAT",
            "SMBENCH.RUN",
            "REPLAY",
        ] {
            leave(served.samba, str::to_owned);
            let file = data.join(LEFTOVER).join(other);
            std::fs::write(&file, "thesis").unwrap();
            // However often somebody tries.
            for _ in 0..2 {
                let refused = cleanup(&served.target(), served.sessions(), Limits::default());
                let text = refused.unwrap_err().to_string();
                assert!(text.contains(&format!("it holds '{other}'")), "{text}");
            }
            assert_eq!(std::fs::read(&file).unwrap(), b"thesis");
            std::fs::remove_file(file).unwrap();
            assert_eq!(served.cleanup().removed, [LEFTOVER]);
            assert!(is_empty(data));
        }
    });
}

#[test]
fn a_directory_without_our_marker_stays_in_each_case() {
    for lines in [UPPER.lines, &[SENSITIVE]] {
        let Some(samba) = samba(lines) else { return };
        let served = Served {
            samba: &samba,
            dialect: Dialect::Smb311,
        };
        let (name, file) = if lines == UPPER.lines {
            ((UPPER.stored)(LEFTOVER), "C00000-F000.DAT")
        } else {
            // The marker of somebody else is not ours.
            (LEFTOVER.to_owned(), "SMBENCH.RUN")
        };
        let directory = samba.data_dir().join(name);
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join(file), "thesis").unwrap();
        let spelling = directory.file_name().unwrap().to_str().unwrap();
        assert_eq!(served.cleanup().foreign, [spelling]);
        assert!(directory.join(file).exists());
    }
}

#[test]
fn a_prepared_file_in_another_case_is_refused_on_a_case_sensitive_share() {
    on_a_case_sensitive_share(|served, data| {
        assert_eq!(served.prepare(), 2);
        let file = data.join("smbench-fileio/SHARED-F000.DAT");
        std::fs::write(&file, "thesis").unwrap();
        let refused = prepared::remove(&served.target(), served.sessions(), Limits::default());
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("SHARED-F000.DAT"), "{text}");
        assert_eq!(std::fs::read(&file).unwrap(), b"thesis");
        std::fs::remove_file(file).unwrap();
        assert_eq!(served.remove().as_deref(), Some("smbench-fileio"));
        assert!(is_empty(data));
    });
}
