//! Workloads on impacket's smbserver, of which no code is smbench's or Samba's.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::probe::{Probed, cleanup, probe};
use smbench_lab::{Tool, require};
use smbench_model::contents::Verify;
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::sessions::SessionOptions;
use smbench_model::target::Target;
use smbench_protocol::{Dialect, Logon};

use crate::cifs::{options, run};
use crate::replay;
use crate::support::target;

const VERSION: &str = "impacket==0.13.1";
const USER: &str = "ann";
const PASSWORD: &str = "a long word for impacket";

/// Serves until standard input ends, and prints the port.
const SERVER: &str = r#"
import os, sys, threading
sys.path.insert(0, sys.argv[1])
from impacket.smbserver import SimpleSMBServer
from impacket.ntlm import compute_lmhash, compute_nthash
server = SimpleSMBServer(listenAddress="127.0.0.1", listenPort=0)
server.addShare("BENCH", sys.argv[2], "")
server.setSMB2Support(sys.argv[5] == "2")
server.addCredential(sys.argv[3], 0, compute_lmhash(sys.argv[4]), compute_nthash(sys.argv[4]))
print(server._SimpleSMBServer__server.server_address[1], flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
server.start()
"#;

/// The protocols of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaks {
    Cifs,
    /// SMB 2.0.2, and CIFS.
    Smb2,
}

/// What impacket carries out of [`crate::cifs::EVERYTHING`].
const MIX: &str = r#"
operations = [
    { op = "read", weight = 30 },
    { op = "write", weight = 25 },
    { op = "tree_connect", weight = 5 },
    { op = "flush", weight = 10 },
    { op = "create", weight = 10 },
    { op = "query_info", class = "basic", weight = 10 },
    { op = "query_directory", weight = 5 },
    { op = "echo", weight = 5 },
]
sizes = [{ size = "4KiB", weight = 100 }]
[files]
size = "64KiB"
"#;

/// A server process, which ends when this is dropped.
struct Impacket {
    process: Child,
    stdin: Option<ChildStdin>,
    share: PathBuf,
    port: u16,
}

impl Impacket {
    /// Installs and starts the server; returns `None`, and says so, if there is no pip.
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn or_skip(name: &str, speaks: Speaks) -> Option<Self> {
        if let Err(skip) = require(&[Tool::new("pip3", "python3-pip")]) {
            eprintln!("{skip}");
            return None;
        }
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        static PACKAGES: LazyLock<PathBuf> = LazyLock::new(install);
        let packages = &*PACKAGES;
        let share = base.join(format!("share-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&share).unwrap();
        let mut process = Command::new("python3")
            .args(["-c", SERVER])
            .args([packages, &share])
            .args([USER, PASSWORD])
            .arg(match speaks {
                Speaks::Cifs => "1",
                Speaks::Smb2 => "2",
            })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = process.stdin.take();
        let mut port = String::new();
        let stdout = process.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut port).unwrap();
        Some(Self {
            port: port.trim().parse().unwrap(),
            process,
            stdin,
            share,
        })
    }

    /// Returns the share with its name in lower case, as people type it. The server knows it
    /// in upper case.
    fn target(&self) -> Target {
        let url = format!("smb://{USER}@127.0.0.1:{}/bench", self.port);
        target(&url, PASSWORD)
    }
}

/// Installs the server, unless it is there. Returns its folder.
fn install() -> PathBuf {
    let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let packages = base.join(VERSION);
    if !packages.exists() {
        let made = base.join(format!("{VERSION}-{}", std::process::id()));
        let mut pip = Command::new("pip3");
        pip.args(["install", "--quiet", "--disable-pip-version-check"]);
        let installed = pip.arg("--target").arg(&made).arg(VERSION).status();
        assert!(installed.unwrap().success(), "pip3 installs {VERSION}");
        // Another process may have been first.
        if std::fs::rename(&made, &packages).is_err() {
            std::fs::remove_dir_all(&made).unwrap();
        }
    }
    packages
}

impl Drop for Impacket {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.share);
    }
}

#[test]
fn impacket_carries_out_a_mix_with_verified_data() {
    for (dialects, dialect, speaks) in [
        ("cifs", Dialect::Cifs, Speaks::Cifs),
        ("cifs", Dialect::Cifs, Speaks::Smb2),
        ("2.0.2..3.1.1", Dialect::Smb202, Speaks::Smb2),
    ] {
        let Some(server) = Impacket::or_skip(&format!("mix-{dialects}-{speaks:?}"), speaks) else {
            return;
        };
        let profile = Profile::parse("mix", MIX).unwrap();
        let mut options = options(dialects);
        options.work.clients = Some("2".parse().unwrap());
        options.work.verify = Some(Verify::ReadBack);
        // Long enough for an interpreter on a busy machine.
        options.work.duration = Some(Duration::from_secs(3));
        let limits = Limits::default();
        let plan = Plan::resolve(&profile, &options, server.target(), limits, 2).unwrap();
        let record = run(&plan);
        assert_eq!(record.server.dialect, Some(dialect));
        let ops = &record.load_points[0].ops;
        for kind in plan.only().workload.kinds() {
            assert!(ops.whole(kind).count > 0, "{}", kind.name());
        }
        assert!(ops.whole(OpKind::Read).count > 10);
        assert_eq!(std::fs::read_dir(&server.share).unwrap().count(), 0);
    }
}

/// impacket answers an open of a name that is not there with STATUS_NO_SUCH_FILE.
#[test]
fn impacket_is_given_a_replay() {
    const LOADFILE: &str = r#"
Deltree "\clients\client1" NT_STATUS_OK
NTCreateX "\clients\client1" 0x1 0x2 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\one.doc" 0x40 0x2 1 NT_STATUS_OK
WriteX 1 0 4096 4096 NT_STATUS_OK
ReadX 1 0 4096 4096 NT_STATUS_OK
Close 1 NT_STATUS_OK
"#;
    let Some(server) = Impacket::or_skip("replay", Speaks::Smb2) else {
        return;
    };
    let (options, limits) = (replay::options("1", 1), Limits::default());
    let profile = replay::profile_of(LOADFILE);
    let plan = Plan::resolve(&profile, &options, server.target(), limits, 2).unwrap();
    let record = run(&plan);
    let point = &record.load_points[0];
    assert_eq!(point.invalid, None);
    assert_eq!(point.ops.differences(), &BTreeMap::new());
    assert_eq!(std::fs::read_dir(&server.share).unwrap().count(), 0);
}

#[test]
fn impacket_is_probed_and_cleaned_up() {
    let Some(server) = Impacket::or_skip("probe", Speaks::Cifs) else {
        return;
    };
    let (options, limits) = (SessionOptions::default(), Limits::default());
    let probed = probe(&server.target(), options, limits, &Cancel::default()).unwrap();
    let Probed::Cifs(found) = probed else {
        panic!("the server has no SMB2");
    };
    assert_eq!(found.logon, Logon::Ntlm);
    assert!(found.largest.0 < 65_536);
    let left = server.share.join("smbench-0123456789abcdef");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("smbench.run"), "").unwrap();
    let options = SessionOptions {
        dialects: Dialect::Cifs.into(),
        ..SessionOptions::default()
    };
    let found = cleanup(&server.target(), options, Limits::default()).unwrap();
    assert_eq!(found.removed, ["smbench-0123456789abcdef"]);
    assert!(!left.exists());
}
