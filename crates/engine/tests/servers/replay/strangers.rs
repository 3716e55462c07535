//! Replays of what other clients did.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use smbench_capture::KeyRing;
use smbench_lab::{SambaOptions, ScratchSamba, Tool, require};

use super::captures::{import, replayed};
use super::{is_clean, options, plan, run};
use crate::capture::{Capture, TSHARK};

const SMBTORTURE: Tool = Tool::new("smbtorture", "samba-testsuite");

/// The test has no log-off. It leaves files open that the end of its connections deletes.
#[test]
fn files_that_the_end_of_a_connection_closed_are_closed_there() {
    if let Err(skip) = require(&[TSHARK, SMBTORTURE]) {
        return eprintln!("{skip}");
    }
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("recorded.pcap");
    let capture = Capture::start(samba.port(), &file);
    let url = samba.url();
    let (_, share) = url.rsplit_once('/').unwrap();
    let mut smbtorture = Command::new(SMBTORTURE.find().unwrap());
    smbtorture
        .arg(format!("//127.0.0.1/{share}"))
        .args(["-p", &samba.port().to_string()])
        .args(["-U", &format!("{}%{}", samba.user(), samba.password())])
        .arg("smb2.delete-on-close-perms")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Some of its parts fail without ACLs. What it asked and got is all that counts.
    smbtorture.status().unwrap();
    capture.stop();
    for entry in std::fs::read_dir(samba.data_dir()).unwrap() {
        let path = entry.unwrap().path();
        std::fs::remove_dir_all(&path)
            .or_else(|_| std::fs::remove_file(&path))
            .unwrap();
    }
    let folder = place.path().join("recorded");
    let captured = import(&file, &folder, KeyRing::default());
    let ended = captured.commands.get("logoff").map_or(0, |of| of.requests);
    assert_eq!(ended, 0, "smbtorture logs off");
    let profile = replayed(&folder);
    assert!(profile.recording.as_ref().unwrap().summary().closed > 0);
    let record = run(&plan(&profile, &options("1", 1), &samba));
    let differences = record.load_points[0].ops.differences();
    assert_eq!(differences, &BTreeMap::new());
    assert!(is_clean(&samba));
}
