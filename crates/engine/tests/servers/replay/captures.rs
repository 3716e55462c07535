//! Replays of captures: what tcpdump recorded of a run goes as recorded, as often as there
//! are copies.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use smbench_capture::{
    CaptureImport, CaptureSummary, ImportOptions, KeyRing, NameTreatment, SUMMARY_FILE, TRACE_FILE,
    TREE_FILE,
};
use smbench_formats::profile;
use smbench_lab::{SambaOptions, ScratchSamba, require};
use smbench_model::kind::OpKind;
use smbench_model::profile::Profile;
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec};
use smbench_protocol::Dialect;

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

/// Imports a capture into a folder, and returns its summary.
pub(super) fn import(capture: &Path, folder: &Path, keys: KeyRing) -> CaptureSummary {
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
    result.summary
}

/// Returns the requests of a capture by command that a replay sends, as often as that.
fn requests(summary: &CaptureSummary, times: u64) -> BTreeMap<&str, u64> {
    let commands = summary.commands.iter();
    let of_files = commands.filter(|(name, _)| {
        !matches!(
            name.as_str(),
            "negotiate" | "session_setup" | "tree_connect" | "tree_disconnect" | "logoff"
        )
    });
    let requests = of_files.map(|(name, command)| (name.as_str(), command.requests * times));
    requests.collect()
}

/// Returns the number of files that no CLOSE closed.
fn left_open(summary: &CaptureSummary) -> u64 {
    let done = |command: &str| summary.commands[command].statuses["STATUS_SUCCESS"];
    done("create") - done("close")
}

pub(super) fn replayed(folder: &Path) -> Profile {
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
        let captured = import(&file, &folder, keys);
        let left_open = left_open(&captured);
        assert_eq!(left_open, 1, "the directory of all clients");
        let profile = replayed(&folder);
        let recording = Arc::clone(profile.recording.as_ref().unwrap());
        assert_eq!(recording.summary().closed, left_open);
        for copies in [1, 4] {
            let options = super::options(&copies.to_string(), 1);
            let record = run(&plan(&profile, &options, &samba));
            let point = &record.load_points[0];
            let of_copies = format!("{encryption}, {copies} copies");
            assert_eq!(point.ops.differences(), &BTreeMap::new(), "{of_copies}");
            assert_eq!(point.clients, copies * recording.clients_per_copy());
            let times = u64::from(copies);
            let mut expected = requests(&captured, times);
            // The end of a session closed it, and another session deleted it afterwards. Here
            // it needs a CLOSE.
            *expected.get_mut("close").unwrap() += left_open * times;
            assert_eq!(commands(&counts(point)), expected, "{of_copies}");
            for (kind, bytes) in [
                (OpKind::Read, captured.bytes_read),
                (OpKind::Write, captured.bytes_written),
            ] {
                assert_eq!(point.ops.whole(kind).bytes, times * bytes, "{of_copies}");
            }
            assert!(is_clean(&samba));
        }
    }
}
