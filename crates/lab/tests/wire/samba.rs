//! The scratch Samba: its start, its use with the real `smbclient`, and its end.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use smbench_lab::{LabError, SambaOptions, SambaShare, ScratchSamba, ShareAccess, Signing, Tool};
use tempfile::TempDir;

use crate::client::{Client, SIGNING_ENABLED, SIGNING_REQUIRED, has, negotiate, pattern};

const SAMBA: [Tool; 2] = [Tool::SMBD, Tool::PDBEDIT];
const SAMBA_AND_CLIENT: [Tool; 3] = [Tool::SMBD, Tool::PDBEDIT, Tool::SMBCLIENT];

/// Environment variable that marks the process which the test kills.
const HOLD: &str = "SMBENCH_LAB_TEST_HOLDS_A_SAMBA";

fn client<'a>(samba: &'a ScratchSamba, share: &'a str, folder: &'a Path) -> Client<'a> {
    Client {
        port: samba.port(),
        share,
        user: samba.user(),
        password: samba.password(),
        arguments: &[],
        folder,
    }
}

fn is_running(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| stat.rsplit_once(')').map(|(_, rest)| rest.to_owned()))
        .is_some_and(|rest| !rest.trim_start().starts_with(['Z', 'X']))
}

#[test]
fn a_file_goes_to_disk_and_back_and_nothing_stays() {
    if !has(&SAMBA_AND_CLIENT) {
        return;
    }
    let samba = ScratchSamba::start(SambaOptions::default()).unwrap();
    let (port, user) = (samba.port(), samba.user().to_owned());
    assert_eq!(samba.url(), format!("smb://{user}@127.0.0.1:{port}/bench"));
    let folder = TempDir::new().unwrap();
    let data = pattern(3_000_000);
    fs::write(folder.path().join("local"), &data).unwrap();

    let client = client(&samba, "bench", folder.path());
    client.run("put local remote; get remote back; mkdir dir");
    assert_eq!(fs::read(folder.path().join("back")).unwrap(), data);
    let on_disk = samba.data_dir();
    assert_eq!(fs::read(on_disk.join("remote")).unwrap(), data);
    assert!(on_disk.join("dir").is_dir());

    let pids = samba.server_pids();
    assert!(!pids.is_empty());
    samba.stop().unwrap();
    let left: Vec<u32> = pids.into_iter().filter(|&pid| is_running(pid)).collect();
    assert_eq!(left, [] as [u32; 0]);
    let instance = on_disk.ancestors().nth(2).unwrap();
    assert!(!instance.exists(), "{}", instance.display());
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
}

#[test]
fn a_wrong_password_is_refused() {
    if !has(&SAMBA_AND_CLIENT) {
        return;
    }
    let samba = ScratchSamba::start(SambaOptions::default()).unwrap();
    let folder = TempDir::new().unwrap();
    let wrong = Client {
        password: "wrong",
        ..client(&samba, "bench", folder.path())
    };
    assert!(wrong.fail("ls").contains("NT_STATUS_LOGON_FAILURE"));
}

#[test]
fn two_servers_run_side_by_side_without_sharing_anything() {
    if !has(&SAMBA_AND_CLIENT) {
        return;
    }
    let one = ScratchSamba::start(SambaOptions::default()).unwrap();
    let two = ScratchSamba::start(SambaOptions::default()).unwrap();
    assert_ne!(one.port(), two.port());
    assert_ne!(one.password(), two.password());
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("f"), b"one").unwrap();
    client(&one, "bench", folder.path()).run("put f");
    assert!(one.data_dir().join("f").is_file());
    assert_eq!(fs::read_dir(two.data_dir()).unwrap().count(), 0);
    one.stop().unwrap();
    client(&two, "bench", folder.path()).run("put f");
    assert_eq!(fs::read(two.data_dir().join("f")).unwrap(), b"one");
}

#[test]
fn a_read_only_share_stands_beside_the_main_one() {
    if !has(&SAMBA_AND_CLIENT) {
        return;
    }
    let samba = ScratchSamba::start(SambaOptions {
        shares: vec![SambaShare {
            name: "readonly".into(),
            access: ShareAccess::ReadOnly,
            lines: vec!["comment = look but do not touch".into()],
        }],
        ..SambaOptions::default()
    })
    .unwrap();
    assert!(samba.url_of("readonly").ends_with("/readonly"));
    fs::write(samba.data_dir_of("readonly").join("given"), b"data").unwrap();
    let folder = TempDir::new().unwrap();
    let client = client(&samba, "readonly", folder.path());
    client.run("get given");
    assert_eq!(fs::read(folder.path().join("given")).unwrap(), b"data");
    let refused = client.fail("put given new");
    assert!(refused.contains("NT_STATUS_ACCESS_DENIED"), "{refused}");
}

#[test]
fn signing_is_asked_for_when_required() {
    if !has(&SAMBA) {
        return;
    }
    for (signing, expected) in [
        (Signing::Optional, SIGNING_ENABLED),
        (Signing::Required, SIGNING_ENABLED | SIGNING_REQUIRED),
    ] {
        let samba = ScratchSamba::start(SambaOptions {
            signing,
            ..SambaOptions::default()
        })
        .unwrap();
        let (_, mode) = negotiate(samba.address());
        assert_eq!(mode, expected, "{signing:?}");
    }
}

#[test]
fn a_server_that_cannot_start_shows_why() {
    if !has(&SAMBA) {
        return;
    }
    let error = ScratchSamba::start(SambaOptions {
        extra_global: vec!["interfaces = 192.0.2.1/32".into()],
        ..SambaOptions::default()
    })
    .unwrap_err();
    let LabError::Samba { reason, log } = &error else {
        panic!("{error}");
    };
    assert_eq!(reason, "exited before it was ready");
    assert!(log.contains("smbd version"), "{log}");
}

#[test]
fn a_line_that_samba_would_pass_over_is_refused() {
    if !has(&SAMBA) {
        return;
    }
    let global = |line: &str| SambaOptions {
        extra_global: vec![line.into()],
        ..SambaOptions::default()
    };
    let misspelt = SambaOptions {
        extra_share: vec!["strict snyc = no".into()],
        ..SambaOptions::default()
    };
    for (options, named) in [
        (misspelt, "unknown parameter \"strict snyc\""),
        (
            global("write cache size = 262144"),
            "unknown parameter \"write cache size\"",
        ),
        (global("strict sync = maybe"), "maybe"),
        (global("include = /no/such/file"), "no file /no/such/file"),
    ] {
        let error = ScratchSamba::start(options).unwrap_err();
        let LabError::Configuration { said } = &error else {
            panic!("{error}");
        };
        assert!(said.contains(named), "{said}");
    }
    for line in ["strict sync = no", "aio_pthread:aio open = yes"] {
        ScratchSamba::check_line(line, None).unwrap();
    }
    let error = ScratchSamba::check_line("strict snyc = no", None).unwrap_err();
    assert!(matches!(error, LabError::Configuration { .. }), "{error}");
}

/// The test runs itself again as the process to kill. That process starts a
/// Samba, prints its process ids, and waits.
#[test]
fn smbd_ends_with_a_killed_parent() {
    if !has(&SAMBA) {
        return;
    }
    if env::var_os(HOLD).is_some() {
        let samba = ScratchSamba::start(SambaOptions::default()).unwrap();
        println!("\npids {:?}", samba.server_pids());
        loop {
            thread::park();
        }
    }
    // The killed process cannot delete its folder, so this process does.
    let folder = TempDir::new().unwrap();
    let mut parent = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "samba::smbd_ends_with_a_killed_parent",
            "--nocapture",
        ])
        .env(HOLD, "1")
        .env("TMPDIR", folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pids = BufReader::new(parent.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .find_map(|line| Some(line.strip_prefix("pids ")?.to_owned()));
    parent.kill().unwrap();
    parent.wait().unwrap();
    let mut running: Vec<u32> = pids
        .expect("the parent told its process ids")
        .trim_matches(['[', ']'])
        .split(", ")
        .map(|pid| pid.parse().unwrap())
        .collect();
    assert!(!running.is_empty());
    for _ in 0..1000 {
        running.retain(|&pid| is_running(pid));
        if running.is_empty() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("still running: {running:?}");
}

#[test]
fn what_a_killed_starter_left_is_stopped_and_removed() {
    if !has(&SAMBA) {
        return;
    }
    let samba = ScratchSamba::start(SambaOptions::default()).unwrap();
    assert!(samba.version().unwrap().starts_with("Samba 4."));
    let (root, pids) = (samba.root().to_owned(), samba.server_pids());
    // Keeps the pipe on standard input open.
    std::mem::forget(samba);
    assert!(pids.iter().any(|&pid| is_running(pid)));
    ScratchSamba::remove_remains(&root).unwrap();
    assert!(!root.exists());
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while pids.iter().any(|&pid| is_running(pid)) {
        assert!(std::time::Instant::now() < deadline, "{pids:?} run on");
        thread::sleep(Duration::from_millis(20));
    }
    // An already deleted folder is accepted, and another folder is not deleted.
    ScratchSamba::remove_remains(&root).unwrap();
    let other = TempDir::new().unwrap();
    ScratchSamba::remove_remains(other.path()).unwrap_err();
    assert!(other.path().exists());
}
