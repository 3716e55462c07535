//! Replays in CIFS: each line is the one request that it was.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::sync::Arc;

use smbench_lab::{SambaOptions, ScratchSamba, Tool, require};
use smbench_model::kind::OpKind;
use smbench_model::profile::Profile;
use smbench_model::spec::{RunOptions, SessionsSpec};
use smbench_protocol::Dialect;

use super::{CLIENT_TXT, LINES, TIDY, counts, is_clean, options, plan, profile_of, recorded, run};

fn replays_as_recorded(profile: &Profile, samba: &ScratchSamba, clients: u32) {
    let options = options(&clients.to_string(), 1);
    let options = RunOptions {
        sessions: SessionsSpec {
            dialect: Some(Dialect::Cifs.into()),
            ..options.sessions
        },
        ..options
    };
    let record = run(&plan(profile, &options, samba));
    assert_eq!(record.server.dialect, Some(Dialect::Cifs));
    let point = &record.load_points[0];
    assert_eq!(point.invalid, None);
    assert_eq!(point.ops.differences(), &BTreeMap::new());
    let trace = Arc::clone(profile.recording.as_ref().unwrap());
    let (summary, times) = (trace.summary(), u64::from(clients));
    let mut expected = recorded(&summary.operations, times);
    *expected.get_mut(&OpKind::Close).unwrap() += summary.closed * times;
    assert_eq!(counts(point), expected);
    let bytes = |kind| point.ops.whole(kind).bytes;
    assert_eq!(bytes(OpKind::Write), summary.bytes_written * times);
    assert!(is_clean(samba));
}

#[test]
fn loadfiles_go_as_recorded_in_cifs() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions {
        extra_global: vec![ScratchSamba::CIFS.to_owned()],
        ..SambaOptions::default()
    }) else {
        return;
    };
    // In SMB1, a closed handle is not told from one that never was.
    let tidy = TIDY.replace("FILE_CLOSED", "INVALID_HANDLE");
    replays_as_recorded(&profile_of(&tidy), &samba, 3);
    if let Err(skip) = require(&[Tool::new("dbench", "dbench")]) {
        return eprintln!("{skip}");
    }
    let file = BufReader::new(std::fs::File::open(CLIENT_TXT).unwrap());
    let lines = file.lines().take(LINES).map(|line| line.unwrap() + "\n");
    replays_as_recorded(&profile_of(&lines.collect::<String>()), &samba, 1);
}
