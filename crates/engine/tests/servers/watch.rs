//! Watches that are held until another client changes the directory.

use std::collections::BTreeMap;
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{SambaOptions, ScratchSamba, Tool, require};
use smbench_model::kind::OpKind;
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec, WorkSpec};

use crate::capture::{Message, TSHARK, captured_while};
use crate::support::{plan, short, target};

const WATCHED: &str = "[files]\nscope = \"shared\"\nsize = \"4KiB\"\n\
    [[operations]]\nop = \"watch\"\nfilter = [\"file_name\"]\nweight = 50\n\
    [[operations]]\nop = \"copy_in\"\nweight = 50\n";
/// Clients that watch, while another one copies.
const WATCHERS: u64 = 3;
/// Most runs for one whose last change is not under way at the end of the load.
const RUNS_MAX: u32 = 5;

#[test]
fn all_others_are_notified_of_a_change_and_watches_end_with_the_load() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(file.path(), WATCHED).unwrap();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("4".parse().unwrap()),
            duration: Some(Duration::from_secs(1)),
            think_time: Some(Duration::from_millis(200)),
            ..short().work
        },
        ..short()
    };
    let mut cancelled = (0..RUNS_MAX).map(|_| {
        let target = target(&samba.url(), samba.password());
        let plan = plan(file.path().to_str().unwrap(), &options, target);
        let mut record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
        assert_eq!(record.leftover, None);
        let point = record.load_points.remove(0);
        let failures = point.ops.failures();
        assert!(failures.is_empty(), "{failures:?}");
        assert!(point.dropouts.is_empty(), "{:?}", point.dropouts);
        let (watch, copies) = (
            point.ops.window(OpKind::Watch),
            point.ops.whole(OpKind::CopyIn).count,
        );
        assert!(copies > 0);
        assert!(watch.entries >= watch.count() && watch.entries >= WATCHERS);
        let cancelled = point.ops.whole(OpKind::Cancel).count;
        assert!(cancelled <= WATCHERS, "{cancelled}");
        cancelled
    });
    // The watches that were held at the end.
    assert!(cancelled.any(|count| count == WATCHERS));
}

/// Watchers of the test of notifications on the wire.
const MANY: usize = 20;
/// Command code (MS-SMB2 2.2.1.2).
const CHANGE_NOTIFY: u16 = 15;
/// FILE_ACTION_ADDED (MS-FSCC 2.7.1).
const ADDED: u32 = 1;

/// Returns the files that a CHANGE_NOTIFY response adds.
fn added(response: &Message) -> Vec<String> {
    let mut names = Vec::new();
    // MS-SMB2 2.2.36.
    let mut at = usize::from(response.u16_at(66));
    loop {
        let (next, name_len) = (response.u32_at(at), response.u32_at(at + 8) as usize);
        let units = response.0[at + 12..][..name_len].as_chunks().0.iter();
        let units: Vec<_> = units.map(|unit| u16::from_le_bytes(*unit)).collect();
        if response.u32_at(at + 4) == ADDED {
            names.push(String::from_utf16(&units).unwrap());
        }
        if next == 0 {
            return names;
        }
        at += next as usize;
    }
}

#[test]
fn each_change_is_one_notification_for_each_watcher() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT, TSHARK]) {
        return eprintln!("{skip}");
    }
    let samba = ScratchSamba::start(SambaOptions {
        // Otherwise inotify tells each watcher once for each watch.
        extra_global: vec!["kernel change notify = no".to_owned()],
        ..SambaOptions::default()
    })
    .unwrap();
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(file.path(), WATCHED).unwrap();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some((MANY + 1).to_string().parse().unwrap()),
            duration: Some(Duration::from_secs(2)),
            think_time: Some(Duration::from_millis(200)),
            ..short().work
        },
        sessions: SessionsSpec {
            sign: Some(Mode::Off),
            encrypt: Some(Mode::Off),
            ..short().sessions
        },
        ..short()
    };
    let target = target(&samba.url(), samba.password());
    let plan = plan(file.path().to_str().unwrap(), &options, target);
    let run = || execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    let (record, conversations) = captured_while(&samba, run);
    assert_eq!(record.load_points[0].ops.errors(), 0);
    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    for conversation in &conversations {
        let answers = conversation.responses.iter();
        let notices = answers.filter(|it| it.command() == CHANGE_NOTIFY && it.status() == 0);
        let mut names: Vec<_> = notices.flat_map(added).collect();
        names.sort();
        assert!(names.is_sorted_by(|one, next| one < next), "{names:?}");
        for name in names {
            *told.entry(name).or_default() += 1;
        }
    }
    // The first change may come before the watches, the last one after them.
    assert!(told.values().any(|count| *count == MANY), "{told:?}");
}
