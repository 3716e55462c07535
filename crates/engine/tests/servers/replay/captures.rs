//! Replays of captures: what tcpdump recorded of a run goes as recorded, as often as there
//! are copies.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use smbench_capture::{
    CaptureImport, CaptureSummary, ImportOptions, KeyRing, NameTreatment, SESSIONS_FILE,
    SUMMARY_FILE, TRACE_FILE, TREE_FILE,
};
use smbench_formats::profile;
use smbench_lab::{SambaOptions, ScratchSamba, require};
use smbench_model::kind::OpKind;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::secret::Secret;
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec};
use smbench_model::target::ClientAccount;
use smbench_protocol::Dialect;

use super::{TIDY, counts, is_clean, options, plan, profile_of, run};
use crate::capture::{Capture, Message, TSHARK, captured_while};

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
    import_with(capture, folder, keys, ImportOptions::default())
}

pub(super) fn import_with(
    capture: &Path,
    folder: &Path,
    keys: KeyRing,
    options: ImportOptions,
) -> CaptureSummary {
    let mut import = CaptureImport::new(options);
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
    let sessions = File::create(folder.join(SESSIONS_FILE)).unwrap();
    result.write_sessions(sessions).unwrap();
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
        for copies in [1, 50] {
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

/// Names of accounts that are one on the server.
const USERS: [&str; 4] = ["ann", "bob", "cyd", "eve"];

/// Returns the accounts of clients, with the same password.
fn accounts(samba: &ScratchSamba, users: &[&str]) -> Vec<ClientAccount> {
    let account = |user: &&str| ClientAccount {
        domain: String::new(),
        user: (*user).to_owned(),
        password: Secret::new(samba.password()),
    };
    users.iter().map(account).collect()
}

/// A replay logs on each recorded user with the account that it is given.
#[test]
fn each_recorded_user_has_an_account_of_its_own() {
    if let Err(skip) = require(&[TSHARK]) {
        return eprintln!("{skip}");
    }
    let place = tempfile::tempdir().unwrap();
    let map = place.path().join("users.map");
    let account = nix::unistd::User::from_uid(nix::unistd::getuid());
    let account = account.unwrap().unwrap().name;
    std::fs::write(&map, format!("{account} = {}\n", USERS.join(" "))).unwrap();
    let Some(samba) = ScratchSamba::or_skip(SambaOptions {
        extra_global: vec![format!("username map = {}", map.display())],
        ..SambaOptions::default()
    }) else {
        return;
    };
    let captured_as = |name: &str, plan: &Plan| {
        let file = place.path().join(format!("{name}.pcap"));
        let capture = Capture::start(samba.port(), &file);
        run(plan);
        capture.stop();
        let folder = place.path().join(name);
        let kept = ImportOptions {
            names: NameTreatment::Keep,
            ..ImportOptions::default()
        };
        let summary = import_with(&file, &folder, KeyRing::default(), kept);
        let users = summary.users.into_iter();
        (
            folder,
            users
                .filter(|(user, _)| USERS.contains(&&user[..]))
                .collect::<Vec<_>>(),
        )
    };
    let sessions = |users: &[&str]| {
        let users = users.iter().map(|user| ((*user).to_owned(), 1));
        users.collect::<Vec<(String, u64)>>()
    };
    for per_connection in [1, 3] {
        let mut options = options("3", 1);
        options.sessions.sessions_per_connection = Some(per_connection);
        options.sessions.encrypt = Some(Mode::Off);
        let mut recorded = plan(&profile_of(TIDY), &options, &samba);
        recorded.sessions.target.accounts = accounts(&samba, &USERS[..3]);
        let (folder, seen) = captured_as(&format!("recorded-{per_connection}"), &recorded);
        assert_eq!(seen, sessions(&USERS[..3]));
        let profile = replayed(&folder);
        let recording = profile.recording.as_ref().unwrap();
        let next = |user: Option<&str>| {
            let at = USERS.iter().position(|known| Some(*known) == user);
            // The first session of the capture is that of the run.
            at.map_or("ann", |at| USERS[at + 1])
        };
        let users: Vec<_> = recording.users().map(next).collect();
        let mut replay = plan(&profile, &super::options("1", 1), &samba);
        replay.sessions.options.encryption = Mode::Off;
        replay.sessions.target.accounts = accounts(&samba, &users);
        let (_, seen) = captured_as(&format!("replayed-{per_connection}"), &replay);
        assert_eq!(seen, sessions(&USERS));
    }
}

const CREATE: u16 = 5;
const CLOSE: u16 = 6;
const FLUSH: u16 = 7;
const WRITE: u16 = 9;

/// Requests about one file that were in one frame are in one frame again.
#[test]
fn compounds_go_in_one_frame_as_recorded() {
    if let Err(skip) = require(&[TSHARK]) {
        return eprintln!("{skip}");
    }
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    for (name, compound) in [
        (
            "smbtorture-compounds-3.1.1-unsigned",
            &[CREATE, WRITE, CLOSE][..],
        ),
        ("smbtorture-2.1-unsigned", &[FLUSH, CLOSE]),
    ] {
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/captures");
        let file = Path::new(fixtures).join(format!("{name}.pcap"));
        let folder = place.path().join(name);
        import(&file, &folder, KeyRing::default());
        let profile = replayed(&folder);
        let copies = 3;
        // With one slot, the requests of a frame go one by one.
        for (outstanding, frames) in [(None, copies), (Some(1), 0)] {
            let mut options = options(&copies.to_string(), 1);
            options.work.outstanding = outstanding;
            let (record, conversations) =
                captured_while(&samba, || run(&plan(&profile, &options, &samba)));
            let point = &record.load_points[0];
            assert_eq!(point.ops.differences(), &BTreeMap::new(), "{name}");
            let requests = conversations.iter().flat_map(|each| &each.requests);
            let commands = requests.map(|frame| {
                let parts = frame.parts();
                parts.iter().map(Message::command).collect::<Vec<_>>()
            });
            let sent = commands.filter(|commands| commands == compound).count();
            assert_eq!(sent, frames, "{name}, {outstanding:?}");
        }
    }
}
