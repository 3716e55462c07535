//! Servers that keep durable handles.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use smbench_engine::{Cancel, Unobserved, execute};
use smbench_lab::{SambaOptions, ScratchSamba, require};
use smbench_model::plan::Plan;
use smbench_model::record::{EventKind, LoadPointRecord, RunRecord};
use smbench_model::sessions::HandleDurability;
use smbench_model::spec::SessionsSpec;
use smbench_protocol::NtStatus;

use super::{losses, options, valid_point, with_events};
use crate::capture::{Message, TSHARK, captured_while};
use crate::support::{plan, target};

/// The shortest time from the first event to the second, and the longest that is tried.
const TIMES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(32)];
/// Samba's log of a file whose access time a read in flight at the loss changed later. Samba
/// gives no handle back of such a file.
const READ_LATER: &str = "st_ex_atime differs";
/// Most runs until no read changed an access time.
const RUNS_MAX: u32 = 5;

/// Command code of CREATE (MS-SMB2 2.2.1.2).
const CREATE: u16 = 5;
/// The name of the context SMB2_CREATE_APP_INSTANCE_ID (MS-SMB2 2.2.13.2).
const APP_INSTANCE_ID: [u8; 16] = 0x744d_142e_46fa_0890_4af7_a7ef_6aa6_bc45_u128.to_le_bytes();
/// Bytes from that name to the id behind it.
const ID_AFTER_NAME: usize = 20;

/// Runs plans with more and more time after each event, until all clients were back before the
/// next event and before the end of the window. On a busy machine that takes long, and only then
/// each event has its own losses. The last run counts in any case.
fn run_with_time(plan_of: impl Fn(Duration) -> Plan) -> LoadPointRecord {
    let mut time = TIMES[0];
    loop {
        let record = execute(&plan_of(time), &mut Unobserved, &Cancel::default());
        let record = record.unwrap();
        if time >= TIMES[1] || are_back_in_time(&record, time) {
            return valid_point(record);
        }
        time *= 2;
    }
}

/// Returns whether all clients were back within this time after each event.
fn are_back_in_time(record: &RunRecord, time: Duration) -> bool {
    let [point] = &record.load_points[..] else {
        return false;
    };
    let lost = point.ops.events().kept().iter();
    let lost = lost.filter(|event| event.kind == EventKind::LinkLost);
    let lost: Vec<_> = lost.map(|event| Duration::from(event.at)).collect();
    let are_back = |at: Option<u32>| {
        let event = at
            .and_then(|at| point.events[at as usize].at)
            .unwrap_or_default();
        let Some(losses) = point.ops.losses().after(at) else {
            return false;
        };
        // A blackout begins before the loss.
        let last = lost.iter().filter(|lost| **lost < event + time).max();
        let blackout = Duration::from_nanos(losses.blackout.get().max());
        losses.still_away() == 0 && last.is_some_and(|last| *last + blackout < event + time)
    };
    point.dropouts.is_empty() && [0, 1].into_iter().all(|event| are_back(Some(event)))
}

/// A server that keeps durable handles gives all of them back, and no write is lost.
#[test]
fn durable_handles_are_taken_back_after_an_event() {
    let options_of_samba = SambaOptions {
        extra_global: vec![ScratchSamba::CIFS.to_owned()],
        ..SambaOptions::default()
    };
    let Some(samba) = ScratchSamba::or_skip(options_of_samba) else {
        return;
    };
    for (dialect, oplock, handles) in [
        ("3.1.1", None, HandleDurability::Durable),
        ("3.0", Some("batch"), HandleDurability::Durable),
        ("2.1", Some("lease-rh"), HandleDurability::Durable),
        ("2.0.2", Some("batch"), HandleDurability::Durable),
        ("2.1", None, HandleDurability::None),
        ("cifs", None, HandleDurability::None),
    ] {
        let run = || {
            run_with_time(|time| {
                let sessions = SessionsSpec {
                    dialect: Some(dialect.parse().unwrap()),
                    oplock: oplock.map(|oplock| oplock.parse().unwrap()),
                    handles: Some(handles),
                    ..SessionsSpec::default()
                };
                let first = Duration::from_millis(500);
                let (first, second) = (first.as_millis(), (first + time).as_millis());
                let events = [
                    format!("at {second}ms: drop 50%"),
                    format!("at {first}ms: drop 100%"),
                ];
                let options =
                    with_events(options(4, 3 * time, sessions), &[&events[0], &events[1]]);
                let target = target(&samba.url(), samba.password());
                plan("file-server", &options, target)
            })
        };
        let mut point = run();
        for _ in 1..RUNS_MAX {
            let all = || point.ops.losses().all();
            let lost: usize = all().map(|(_, of)| of.handles.lost.len()).sum();
            if lost == 0 || !samba.log_tail().contains(READ_LATER) {
                break;
            }
            point = run();
        }
        assert!(point.ops.losses().after(None).is_none());
        for (event, clients) in [(0, 4), (1, 2)] {
            let losses = losses(&point, Some(event));
            assert_eq!(losses.clients, clients, "{dialect}");
            assert_eq!(losses.still_away(), 0, "{dialect}");
            let kept = match handles {
                HandleDurability::None => 0,
                _ => clients,
            };
            // The server's answer comes first, because it is the reason for the rest.
            let lost = &losses.handles.lost;
            assert_eq!(*lost, [].into(), "{dialect}: {}", samba.log_tail());
            assert_eq!(losses.handles.kept, kept, "{dialect}");
            // The oplock or lease comes back with the handle.
            assert_eq!(losses.handles.caching_kept, kept, "{dialect}");
        }
        // The plan has them in the order of their instants.
        let percents: Vec<_> = point
            .events
            .iter()
            .map(|event| event.event.action.to_string())
            .collect();
        assert_eq!(percents, ["drop 100%", "drop 50%"]);
    }
}

/// A kept handle has its locks. The clients release them, so that the next lock of a range is
/// granted.
#[test]
fn locks_on_kept_handles_are_released() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let profile = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let text = r#"
        access = "random"
        [files]
        scope = "private"
        [[sizes]]
        size = "4KiB"
        weight = 100
        [[operations]]
        op = "lock"
        exclusive = true
        weight = 90
        [[operations]]
        op = "read"
        weight = 10
    "#;
    fs::write(profile.path(), text).unwrap();
    let sessions = SessionsSpec {
        handles: Some(HandleDurability::Durable),
        ..SessionsSpec::default()
    };
    let mut options = with_events(
        options(8, Duration::from_secs(8), sessions),
        &["at 1s: drop 100%", "at 3s: drop 100%"],
    );
    // Each client has few ranges.
    options.work.file_size = Some("16KiB".parse().unwrap());
    let target = target(&samba.url(), samba.password());
    let plan = plan(profile.path().to_str().unwrap(), &options, target);
    let record = execute(&plan, &mut Unobserved, &Cancel::default());
    let point = valid_point(record.unwrap());
    let handles = || point.ops.losses().all().map(|(_, of)| &of.handles);
    let locks: u64 = handles().map(|of| of.locks_kept + of.locks_lost).sum();
    assert!(locks <= 2 * 8, "{locks}");
}

/// Returns where a message has these bytes.
fn place(message: &Message, bytes: &[u8]) -> Option<usize> {
    let mut windows = message.0.windows(bytes.len());
    windows.position(|window| window == bytes)
}

/// An open of a file that the server is to keep has the id of its client, and the next one has
/// the same after the server has lost the handle. A request for the handle has none.
#[test]
fn files_are_opened_again_with_the_same_app_instance_id() {
    if let Err(skip) = require(&[TSHARK]) {
        return eprintln!("{skip}");
    }
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    // Requests are small, so none is cut when the server is killed.
    let profile = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let text = "read_percent = 100\n[files]\nscope = \"private\"\n\
        [[sizes]]\nsize = \"4KiB\"\nweight = 100\n";
    fs::write(profile.path(), text).unwrap();
    let sessions = SessionsSpec {
        dialect: Some("3.1.1".parse().unwrap()),
        handles: Some(HandleDurability::Durable),
        ..SessionsSpec::default()
    };
    let mut options = with_events(
        options(2, Duration::from_secs(8), sessions),
        &["at 1s: signal KILL"],
    );
    options.work.think_time = Some(Duration::from_millis(20));
    let target = target(&samba.url(), samba.password());
    let plan = plan(profile.path().to_str().unwrap(), &options, target);
    let (record, conversations) = captured_while(&samba, || {
        execute(&plan, &mut Unobserved, &Cancel::default()).unwrap()
    });
    let point = valid_point(record);
    let expected = [(Some(NtStatus::OBJECT_NAME_NOT_FOUND), 2)];
    assert_eq!(losses(&point, Some(0)).handles.lost, expected.into());
    let requests = conversations.iter().flat_map(|each| &each.requests);
    let (mut opened, mut asked_back) = (BTreeMap::new(), 0);
    for create in requests.filter(|request| request.command() == CREATE) {
        let name = place(create, &APP_INSTANCE_ID);
        assert_eq!(name.is_some(), place(create, b"DH2Q").is_some());
        asked_back += usize::from(place(create, b"DH2C").is_some());
        if let Some(name) = name {
            let id = create.0[name + ID_AFTER_NAME..][..16].to_vec();
            *opened.entry(id).or_insert(0) += 1;
        }
    }
    assert!(asked_back >= 2, "{asked_back}");
    let times: Vec<u32> = opened.into_values().collect();
    assert!(
        times.len() == 2 && times.iter().all(|&times| times >= 2),
        "{times:?}"
    );
}
