//! Replays of captures: what tcpdump recorded of a run goes as recorded, as often as there
//! are copies.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use smbench_capture::{
    CaptureImport, ImportOptions, KeyRing, NameTreatment, SUMMARY_FILE, TRACE_FILE, TREE_FILE,
};
use smbench_formats::profile;
use smbench_lab::{SambaOptions, ScratchSamba, require};
use smbench_model::kind::OpKind;
use smbench_model::profile::Profile;
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec};
use smbench_protocol::{Dialect, NtStatus};

use super::{TIDY, counts, is_clean, options, plan, profile_of, run};
use crate::capture::{Capture, TSHARK};

/// Requests of each command by kind, as the native driver sends them over SMB2.
fn commands(counts: &BTreeMap<OpKind, u64>) -> BTreeMap<&'static str, u64> {
    let mut commands = BTreeMap::new();
    for (kind, count) in counts {
        let of_kind: &[&str] = match kind {
            OpKind::Create => &["create"],
            OpKind::Close => &["close"],
            OpKind::Read => &["read"],
            OpKind::Write => &["write"],
            OpKind::Flush => &["flush"],
            OpKind::Lock | OpKind::Unlock => &["lock"],
            OpKind::QueryFile | OpKind::QueryFs => &["query_info"],
            OpKind::SetFile | OpKind::Rename | OpKind::Delete => &["set_info"],
            OpKind::QueryDirectory => &["query_directory"],
            OpKind::QueryPath => &["create", "query_info", "close"],
            OpKind::FindFirst => &["create", "query_directory", "close"],
            OpKind::RenamePath => &["create", "set_info", "close"],
            OpKind::Unlink | OpKind::Mkdir | OpKind::Rmdir => &["create", "close"],
            other => panic!("{} is in no trace of SMB2", other.name()),
        };
        for command in of_kind {
            *commands.entry(*command).or_default() += count;
        }
    }
    commands
}

/// Imports a capture into a folder. Returns its requests by command, those of sessions and
/// shares left out, and the text of its trace.
fn import(capture: &Path, folder: &Path, keys: KeyRing) -> (BTreeMap<String, u64>, Vec<u8>) {
    let mut import = CaptureImport::new(ImportOptions {
        names: NameTreatment::Hash,
        ..ImportOptions::default()
    });
    import.open_with(keys);
    std::fs::create_dir(folder).unwrap();
    import.trace_to(File::create(folder.join(TRACE_FILE)).unwrap());
    import
        .read("capture", File::open(capture).unwrap())
        .unwrap();
    let mut result = import.finish().unwrap();
    result.finish_trace().unwrap();
    let tree = File::create(folder.join(TREE_FILE)).unwrap();
    result.write_tree(tree).unwrap();
    std::fs::write(folder.join(SUMMARY_FILE), result.summary.to_json()).unwrap();
    assert_eq!(
        result.summary.unreadable.lost_bytes, 0,
        "the capture has holes"
    );
    let commands = result.summary.commands.iter();
    let of_files = commands.filter(|(name, _)| {
        !matches!(
            name.as_str(),
            "negotiate" | "session_setup" | "tree_connect" | "tree_disconnect" | "logoff"
        )
    });
    let requests = of_files.map(|(name, command)| (name.clone(), command.requests));
    (
        requests.collect(),
        std::fs::read(folder.join(TRACE_FILE)).unwrap(),
    )
}

fn replayed(folder: &Path) -> Profile {
    profile::load(&format!("trace:{}", folder.display())).unwrap()
}

#[test]
fn a_capture_of_a_run_goes_as_recorded_in_any_number_of_copies() {
    if let Err(skip) = require(&[TSHARK]) {
        return eprintln!("{skip}");
    }
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    for encryption in [Mode::Off, Mode::Required] {
        let options = RunOptions {
            sessions: SessionsSpec {
                encrypt: Some(encryption),
                dialect: Some(Dialect::Smb311.into()),
                ..SessionsSpec::default()
            },
            // Clients that make the same directory at the same time would be a race.
            ..options("1", 2)
        };
        let file = place.path().join(format!("{encryption}.pcap"));
        let capture = Capture::start(samba.port(), &file);
        run(&plan(&profile_of(TIDY), &options, &samba));
        capture.stop();
        let folder = place.path().join(format!("{encryption}"));
        let mut keys = KeyRing::default();
        keys.add_password(samba.password());
        let (expected, _) = import(&file, &folder, keys);
        let profile = replayed(&folder);
        let recording = Arc::clone(profile.recording.as_ref().unwrap());
        for copies in [1, 4] {
            let options = super::options(&copies.to_string(), 1);
            let record = run(&plan(&profile, &options, &samba));
            let point = &record.load_points[0];
            // Known: one lookup of a copy finds a name that was missing. It closes the file.
            let times = u64::from(copies);
            let mut found = 0;
            for (difference, count) in point.ops.differences() {
                assert_eq!(
                    difference.kind,
                    OpKind::Create,
                    "{encryption}: {difference:?}"
                );
                let missed = Some(NtStatus::OBJECT_NAME_NOT_FOUND);
                assert_eq!(difference.recorded, missed, "{encryption}: {difference:?}");
                found += count;
            }
            assert!(found <= times, "{encryption}, {copies}: {found}");
            assert_eq!(point.clients, copies * recording.clients_per_copy());
            let sent = commands(&counts(point));
            assert_eq!(sent.len(), expected.len(), "{encryption}: {sent:?}");
            for (name, count) in &expected {
                // The same lookup: its CREATE may be left out, and a CLOSE added.
                let known = match name.as_str() {
                    "create" | "close" => times,
                    _ => 0,
                };
                let off = sent[name.as_str()].abs_diff(times * count);
                assert!(
                    off <= known,
                    "{encryption}, {copies} copies, {name}: {sent:?}"
                );
            }
            assert!(is_clean(&samba));
        }
    }
}
