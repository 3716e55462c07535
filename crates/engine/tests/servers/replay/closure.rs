//! Closure: what a run of office clients did is in its capture, and a replay of the capture
//! does it again. That holds for plain and encrypted sessions, whatever opens them, and for
//! CIFS.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use smbench_capture::{CaptureSummary, ImportOptions, KeyRing, SliceBegin};
use smbench_formats::profile;
use smbench_lab::{KdcOptions, Password, SambaOptions, ScratchKdc, ScratchSamba, Tool, require};
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::login::{KerberosLogin, Login, Proof};
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec};
use smbench_model::target::Target;
use smbench_protocol::Dialect;

use super::captures::{import, import_with, replayed};
use super::{counts, is_clean, options, recorded, run};
use crate::capture::{Capture, TSHARK};
use crate::support::target;

/// Requests that set up sessions, or end them. A replay has its own.
const OF_SESSIONS: [&str; 14] = [
    "negotiate",
    "session_setup",
    "logoff",
    "tree_connect",
    "tree_disconnect",
    "ioctl 0x00140204",
    "ioctl 0x001401fc",
    "cifs_negotiate",
    "cifs_session_setup_andx",
    "cifs_logoff_andx",
    "cifs_tree_connect_andx",
    "cifs_tree_disconnect",
    "cifs_echo",
    "echo",
];

/// A server, and how clients log on to it.
struct Scene<'a> {
    samba: &'a ScratchSamba,
    target: Target,
    sessions: SessionsSpec,
}

impl Scene<'_> {
    fn plan(&self, profile: &Profile, options: RunOptions) -> Plan {
        let options = RunOptions {
            sessions: self.sessions.clone(),
            ..options
        };
        let target = self.target.clone();
        Plan::resolve(profile, &options, target, Limits::default(), 2).unwrap()
    }

    /// Captures a run of four office clients. Returns the bytes that it moved.
    fn capture(&self, file: &Path) -> [u64; 2] {
        let office = profile::load("netbench-like").unwrap();
        let mut options = options("4", 1);
        (options.work.loops, options.work.duration) = (None, Some(Duration::from_millis(500)));
        let capture = Capture::start(self.samba.port(), file);
        let record = run(&self.plan(&office, options));
        capture.stop();
        [OpKind::Read, OpKind::Write].map(|kind| {
            let bytes = record.load_points[0].ops.whole(kind).bytes;
            assert!(bytes > 0, "{}", kind.name());
            bytes
        })
    }

    /// Imports a capture of the run, and replays it. The replay must do what the run did.
    /// `moved` are the bytes that the run moved.
    fn replays(&self, file: &Path, folder: &Path, keys: &KeyRing, moved: [u64; 2]) {
        let captured = import(file, folder, keys.clone());
        assert_eq!(captured.unreadable.encrypted_messages, 0);
        let profile = replayed(folder);
        let summary = profile.recording.as_ref().unwrap().summary();
        let others = summary.skipped.keys();
        let others: Vec<_> = others
            .filter(|what| !OF_SESSIONS.contains(&&what[..]))
            .collect();
        assert_eq!(others, [""; 0], "left out");
        let file = folder.join("replay.pcap");
        let capture = Capture::start(self.samba.port(), &file);
        let record = run(&self.plan(&profile, options("1", 1)));
        capture.stop();
        let point = &record.load_points[0];
        assert_eq!(point.ops.differences(), &BTreeMap::new());
        let mut expected = recorded(&summary.operations, 1);
        *expected.entry(OpKind::Close).or_default() += summary.closed;
        assert_eq!(counts(point), expected);
        let bytes = |kind| point.ops.whole(kind).bytes;
        // The run also wrote the documents.
        let [read, written] = moved;
        assert_eq!(bytes(OpKind::Read), read);
        assert!(bytes(OpKind::Write) > written);
        assert!(is_clean(self.samba));
        // What the replay itself sets up and removes is before and after its load.
        let opened = point.window_opened.duration_since(SystemTime::UNIX_EPOCH);
        let of_load = ImportOptions {
            from: Some(SliceBegin::At(opened.unwrap())),
            length: Some(point.window),
            ..ImportOptions::default()
        };
        let again = import_with(&file, &folder.join("again"), keys.clone(), of_load);
        let mut expected = on_files(&captured);
        for (what, count) in &mut expected {
            if what.ends_with("close requests") || what.ends_with("close STATUS_SUCCESS") {
                *count += summary.closed;
            }
        }
        assert_eq!(on_files(&again), expected);
    }
}

/// Counts the requests of a capture on files, and their final answers: by command, by status,
/// and by bytes of READs and WRITEs. Other answers are as long as the names in them.
fn on_files(summary: &CaptureSummary) -> BTreeMap<String, u64> {
    let commands = summary.commands.iter();
    let of_files = commands.filter(|(name, _)| {
        let is_of_session = OF_SESSIONS.contains(&&name[..]) || *name == "ioctl";
        !is_of_session
    });
    let mut counts = BTreeMap::new();
    for (name, command) in of_files {
        counts.insert(format!("{name} requests"), command.requests);
        if name.contains("read") || name.contains("write") {
            counts.insert(format!("{name} bytes"), command.bytes);
        }
        let statuses = command.statuses.iter();
        let of_final = statuses.filter(|(status, _)| *status != "STATUS_PENDING");
        counts.extend(of_final.map(|(status, &count)| (format!("{name} {status}"), count)));
    }
    counts
}

fn sessions(dialect: Dialect, encrypt: Mode) -> SessionsSpec {
    SessionsSpec {
        dialect: Some(dialect.into()),
        encrypt: Some(encrypt),
        ..SessionsSpec::default()
    }
}

/// Makes Samba log the keys of sessions.
const LOGGED_KEYS: &str = "debug encryption = yes";

/// Returns the session keys that a Samba has logged, as lines of a key file.
fn logged_keys(samba: &ScratchSamba) -> String {
    let mut lines = String::new();
    for entry in std::fs::read_dir(samba.root().join("log")).unwrap() {
        let text = std::fs::read(entry.unwrap().path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let dumped = |label: &str| {
            let lines = text
                .lines()
                .filter(|line| line.trim_start().starts_with(label));
            lines.map(hex).collect::<Vec<_>>()
        };
        for (id, key) in dumped("Session Id").iter().zip(dumped("Session Key")) {
            writeln!(lines, "{id},{key},,").unwrap();
        }
    }
    assert!(!lines.is_empty(), "the log has no keys");
    lines
}

/// Returns the bytes of a dump such as `[0000] 01 02   ..`, in hexadecimal.
fn hex(line: &str) -> String {
    let (_, bytes) = line.split_once(']').unwrap();
    let is_byte = |word: &&str| word.len() == 2 && u8::from_str_radix(word, 16).is_ok();
    bytes.split_whitespace().take_while(is_byte).collect()
}

/// Returns the compressed lines of a trace.
fn trace_of(folder: &Path) -> Vec<u8> {
    std::fs::read(folder.join(smbench_capture::TRACE_FILE)).unwrap()
}

#[test]
fn plain_and_encrypted_sessions_and_those_of_cifs_do_again_what_was_captured() {
    if let Err(skip) = require(&[TSHARK]) {
        return eprintln!("{skip}");
    }
    let Some(samba) = ScratchSamba::or_skip(SambaOptions {
        extra_global: vec![ScratchSamba::CIFS.to_owned(), LOGGED_KEYS.to_owned()],
        ..SambaOptions::default()
    }) else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    for (name, sessions) in [
        ("plain", sessions(Dialect::Smb311, Mode::Off)),
        ("encrypted", sessions(Dialect::Smb311, Mode::Required)),
        ("cifs", sessions(Dialect::Cifs, Mode::Off)),
    ] {
        let scene = Scene {
            samba: &samba,
            target: target(&samba.url(), samba.password()),
            sessions,
        };
        let file = place.path().join(format!("{name}.pcap"));
        let moved = scene.capture(&file);
        let mut keys = KeyRing::default();
        keys.add_password(samba.password());
        let folder = place.path().join(name);
        scene.replays(&file, &folder, &keys, moved);
        if name == "encrypted" {
            let mut keys = KeyRing::default();
            keys.add_session_keys("log", &logged_keys(&samba)).unwrap();
            let same = place.path().join("by-session-keys");
            import(&file, &same, keys);
            assert!(trace_of(&folder) == trace_of(&same), "the traces differ");
        }
    }
}

#[test]
fn a_session_that_kerberos_encrypts_does_again_what_was_captured() {
    let tools = require(&[TSHARK, Tool::SMBD, Tool::PDBEDIT]);
    if let Err(skip) = tools.and_then(|()| require(&ScratchKdc::TOOLS)) {
        return eprintln!("{skip}");
    }
    let kdc = ScratchKdc::start(KdcOptions::default()).unwrap();
    let keytab: PathBuf = kdc.add_service("cifs", "127.0.0.1").unwrap();
    let samba = ScratchSamba::start(SambaOptions {
        kerberos: Some(kdc.samba(keytab.clone())),
        extra_global: vec![LOGGED_KEYS.to_owned()],
        ..SambaOptions::default()
    })
    .unwrap();
    let password = Password::random().unwrap();
    kdc.add_user(samba.user(), &password).unwrap();
    let mut target = target(&samba.url(), password.as_str());
    target.login = Login::Kerberos(KerberosLogin {
        proof: Proof::Password,
        configuration: vec![kdc.configuration()],
        ..KerberosLogin::default()
    });
    let scene = Scene {
        samba: &samba,
        target,
        sessions: sessions(Dialect::Smb311, Mode::Required),
    };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("kerberos.pcap");
    let moved = scene.capture(&file);
    let [by_keytab, by_keys] = ["keytab", "keys"].map(|name| place.path().join(name));
    let mut keys = KeyRing::default();
    let bytes = std::fs::read(&keytab).unwrap();
    keys.add_keytab("keytab", &bytes).unwrap();
    scene.replays(&file, &by_keytab, &keys, moved);
    let mut keys = KeyRing::default();
    keys.add_session_keys("log", &logged_keys(&samba)).unwrap();
    import(&file, &by_keys, keys);
    assert!(
        trace_of(&by_keytab) == trace_of(&by_keys),
        "the traces differ"
    );
}
