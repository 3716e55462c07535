//! Workloads in CIFS on a real Samba, and its negotiation.

use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::probe::{Probed, cleanup, probe};
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba};
use smbench_model::contents::Verify;
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::record::{Outcome, RunRecord};
use smbench_model::sessions::Caching;
use smbench_model::sessions::{Mode, SessionOptions};
use smbench_model::spec::{RunOptions, SessionsSpec, WorkSpec};
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::{Dialect, DialectRange, Logon};

use crate::support::{plan, short, target};

/// Everything that a mix can do in CIFS.
pub(crate) const EVERYTHING: &str = r#"
operations = [
    { op = "read", weight = 8 },
    { op = "write", weight = 8, write_through = true },
    { op = "flush", weight = 4 },
    { op = "create", weight = 4 },
    { op = "create", disposition = "create", delete_on_close = true, weight = 4 },
    { op = "create", directory = true, disposition = "open", weight = 4 },
    { op = "lock", weight = 4 },
    { op = "lock", exclusive = true, past_end = true, weight = 4 },
    { op = "query_info", class = "basic", weight = 4 },
    { op = "query_info", class = "network_open", weight = 4 },
    { op = "query_info", class = "fs_full_size", weight = 4 },
    { op = "query_info", class = "security", weight = 4 },
    { op = "set_info", class = "basic", weight = 4 },
    { op = "set_info", class = "allocation", weight = 4 },
    { op = "set_info", class = "end_of_file", weight = 4 },
    { op = "set_info", class = "rename", weight = 4 },
    { op = "set_info", class = "delete", weight = 4 },
    { op = "set_info", class = "security", weight = 4 },
    { op = "query_directory", weight = 4 },
    { op = "query_directory", class = "id_both_directory", weight = 4 },
    { op = "change_notify", weight = 4 },
    { op = "echo", weight = 4 },
    { op = "tree_connect", weight = 2 },
    { op = "log_on", weight = 2 },
]
sizes = [{ size = "4KiB", weight = 100 }]
[files]
size = "256KiB"
"#;

fn samba(lines: &[&str]) -> Option<ScratchSamba> {
    ScratchSamba::or_skip(SambaOptions {
        extra_global: lines.iter().map(ToString::to_string).collect(),
        extra_share: vec!["kernel oplocks = no".to_owned()],
        ..SambaOptions::default()
    })
}

pub(crate) fn options(dialects: &str) -> RunOptions {
    RunOptions {
        work: WorkSpec {
            clients: Some("4".parse().unwrap()),
            duration: Some(Duration::from_secs(1)),
            ..short().work
        },
        sessions: SessionsSpec {
            dialect: Some(dialects.parse().unwrap()),
            ..short().sessions
        },
        ..short()
    }
}

pub(crate) fn run(plan: &Plan) -> RunRecord {
    let record = execute(plan, &mut Unobserved, &Cancel::default()).unwrap();
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.leftover, None);
    let point = &record.load_points[0];
    assert_eq!(point.dropouts, []);
    assert_eq!(point.ops.errors(), 0, "{:?}", point.ops.failures());
    record
}

#[test]
fn samba_does_every_command_in_cifs_signed_and_not() {
    let Some(samba) = samba(&[ScratchSamba::CIFS, "server signing = auto"]) else {
        return;
    };
    let profile = Profile::parse("everything", EVERYTHING).unwrap();
    for (sign, signing) in [
        (Mode::Off, None),
        (Mode::Auto, None),
        (Mode::Required, Some("md5")),
    ] {
        let options = RunOptions {
            sessions: SessionsSpec {
                sign: Some(sign),
                ..options("cifs").sessions
            },
            ..options("cifs")
        };
        let server = target(&samba.url(), samba.password());
        let plan = Plan::resolve(&profile, &options, server, Limits::default(), 2).unwrap();
        let record = run(&plan);
        assert_eq!(record.server.dialect, Some(Dialect::Cifs));
        assert_eq!(record.server.signing, signing);
        let ops = &record.load_points[0].ops;
        for kind in plan.only().workload.kinds() {
            assert!(ops.whole(kind).count > 0, "{sign:?}: {}", kind.name());
        }
    }
}

#[test]
fn sessions_share_a_connection_and_data_is_verified() {
    let Some(samba) = samba(&[ScratchSamba::CIFS]) else {
        return;
    };
    let mut options = options("cifs");
    options.work.outstanding = Some(8);
    options.work.verify = Some(Verify::ReadBack);
    options.sessions.sessions_per_connection = Some(4);
    options.sessions.oplock = Some(Caching::Oplock(OplockLevel::Batch));
    let plan = plan(
        "file-server",
        &options,
        target(&samba.url(), samba.password()),
    );
    let point = &run(&plan).load_points[0];
    assert_eq!(point.setup.connections, 1);
    assert!(point.ops.whole(OpKind::Read).count > 100);
}

/// Clients open the same files with batch oplocks, so each waits for the others' breaks.
#[test]
fn oplocks_are_broken_and_given_up() {
    let Some(samba) = samba(&[ScratchSamba::CIFS]) else {
        return;
    };
    let text = "operations = [{ op = \"create\", weight = 100 }]\n[files]\nscope = \"shared\"\ncount = 2\nsize = \"4KiB\"\n";
    let profile = Profile::parse("breaks", text).unwrap();
    let mut options = options("cifs");
    options.sessions.oplock = Some(Caching::Oplock(OplockLevel::Batch));
    let server = target(&samba.url(), samba.password());
    let plan = Plan::resolve(&profile, &options, server, Limits::default(), 2).unwrap();
    let point = &run(&plan).load_points[0];
    assert!(point.ops.caching().breaks > 0);
}

#[test]
fn cifs_is_spoken_only_where_it_was_offered() {
    let Some(old) = samba(&["server min protocol = NT1", "server max protocol = NT1"]) else {
        return;
    };
    let server = || target(&old.url(), old.password());
    let refused = |dialects: &str, server| {
        let plan = plan("file-server", &options(dialects), server);
        execute(&plan, &mut Unobserved, &Cancel::default())
            .unwrap_err()
            .to_string()
    };
    // The default offers no CIFS.
    let default = DialectRange::ALL.to_string();
    let error = refused(&default, server());
    assert!(error.starts_with("failed to "), "{error}");
    let record = run(&plan("file-server", &options("cifs..3.1.1"), server()));
    assert_eq!(record.server.dialect, Some(Dialect::Cifs));
    let embedded = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let new = || target(&embedded.url(), embedded.password());
    let record = run(&plan("file-server", &options("cifs..3.1.1"), new()));
    assert_eq!(record.server.dialect, Some(Dialect::Smb311));
    let error = refused("cifs", new());
    assert!(
        error.contains("dialect cifs") || error.contains("closed"),
        "{error}"
    );
}

#[test]
fn a_probe_describes_a_server_of_cifs_alone() {
    let Some(old) = samba(&["server min protocol = NT1", "server max protocol = NT1"]) else {
        return;
    };
    let server = target(&old.url(), old.password());
    let probed = probe(
        &server,
        SessionOptions::default(),
        Limits::default(),
        &Cancel::default(),
    );
    let Probed::Cifs(found) = probed.unwrap() else {
        panic!("the server has no SMB2");
    };
    let accepted = found.dialects.iter().filter(|(_, answer)| answer.is_ok());
    let accepted: Vec<_> = accepted.map(|(dialect, _)| *dialect).collect();
    assert_eq!(accepted, [Dialect::Cifs]);
    assert_eq!(found.negotiated.max_mpx, 50);
    assert_eq!(found.largest, (65_536, 65_536));
    assert!(!found.is_signed);
    assert_eq!(found.logon, Logon::Ntlm);
    assert!(found.free_bytes > Some(0));
    assert!(found.setup.min > Duration::ZERO);
}

#[test]
fn cleanup_reaches_a_server_of_cifs_alone() {
    let Some(old) = samba(&["server min protocol = NT1", "server max protocol = NT1"]) else {
        return;
    };
    let left = old.data_dir().join("smbench-0123456789abcdef");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("smbench.run"), "").unwrap();
    let options = SessionOptions {
        dialects: Dialect::Cifs.into(),
        ..SessionOptions::default()
    };
    let server = target(&old.url(), old.password());
    let found = cleanup(&server, options, Limits::default()).unwrap();
    assert_eq!(found.removed, ["smbench-0123456789abcdef"]);
    assert!(!left.exists());
}
