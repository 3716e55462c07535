//! The trials of a probe, and that it leaves nothing on the share.

use std::fmt::Debug;
use std::net::TcpListener;
use std::thread;

use smbench_engine::Cancel;
use smbench_engine::probe::{FlushPolicy, PolicyFinding, Probe, WritePolicy, probe};
use smbench_engine::storage::{Disks, Storage};
use smbench_lab::{
    EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba, ShareAccess, Tool, require,
};
use smbench_model::limits::Limits;
use smbench_model::sessions::SessionOptions;
use smbench_model::target::Target;
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::command::lease::LeaseState;
use smbench_protocol::header::Command;
use smbench_protocol::{Dialect, NtStatus};

use crate::hostile::forge::{STATUS, with};
use crate::hostile::relay::{Of, Reaction, Relay};
use crate::support::target;

fn probed(target: &Target, dialect: Dialect) -> Probe {
    let options = SessionOptions {
        dialects: dialect.into(),
        ..SessionOptions::default()
    };
    let probed = probe(target, options, Limits::default(), &Cancel::default());
    probed.unwrap().smb2().unwrap()
}

#[test]
fn samba_is_tried_out_and_left_as_it_was() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let target = target(&samba.url(), samba.password());
    for dialect in [Dialect::Smb202, Dialect::Smb21, Dialect::Smb311] {
        let found = probed(&target, dialect);
        assert!(found.session.setup.min > std::time::Duration::ZERO);
        assert!(found.session.setup.min <= found.session.setup.median);
        match dialect {
            Dialect::Smb311 => assert_eq!(found.channels, Ok(())),
            _ => {
                let reason = found.channels.unwrap_err();
                assert!(reason.contains("multichannel"), "{reason}");
            }
        }
        let trials = found.trials.unwrap();
        assert_eq!((trials.write.count, trials.flush.count), (32, 32));
        assert_eq!(trials.compound, Ok(()));
        let levels = [
            OplockLevel::LevelII,
            OplockLevel::Exclusive,
            OplockLevel::Batch,
        ];
        assert_eq!(trials.oplocks, levels.map(|level| (level, Ok(level))));
        let leases = [
            LeaseState::R,
            LeaseState::RH,
            LeaseState::RW,
            LeaseState::RWH,
        ];
        match dialect {
            Dialect::Smb202 => assert_eq!(trials.leases, []),
            _ => assert_eq!(trials.leases, leases.map(|state| (state, Ok(state)))),
        }
    }
    assert_eq!(std::fs::read_dir(samba.data_dir()).unwrap().count(), 0);
}

#[test]
fn a_read_only_share_is_probed_without_trials() {
    let server = EmbeddedServer::start(EmbeddedOptions {
        access: ShareAccess::ReadOnly,
        ..EmbeddedOptions::default()
    })
    .unwrap();
    let target = target(&server.url(), server.password());
    let reason = probed(&target, Dialect::Smb311).trials.unwrap_err();
    assert!(reason.contains("create directory"), "{reason}");
}

#[test]
fn a_directory_that_a_probe_cannot_remove_is_reported_beside_what_it_found() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let of = Of::Command(Command::QueryDirectory);
    let relay = Relay::start(server.address(), of, |answer| {
        let refused = NtStatus::ACCESS_DENIED.0.to_le_bytes();
        Reaction::send(&with(answer.message, STATUS, refused))
    });
    let mut target = target(&server.url(), server.password());
    target.port = relay.port();
    let found = probed(&target, Dialect::Smb311);
    assert!(found.trials.is_ok(), "{found:?}");
    let directory = server.memory().paths()[0].clone();
    let expected = format!("directory '{}' remains: ", directory.trim_end_matches('/'));
    let leftover = found.leftover.unwrap();
    assert!(leftover.starts_with(&expected), "{leftover}");
}

#[test]
fn what_a_flush_and_a_write_do_is_seen_on_the_disk_or_not_known() {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        return eprintln!("{skip}");
    }
    for (lines, flush, write) in [
        (
            &["strict sync = yes"][..],
            FlushPolicy::Honours,
            WritePolicy::Buffers,
        ),
        (
            &["strict sync = no"],
            FlushPolicy::Ignores,
            WritePolicy::Buffers,
        ),
        (
            &["strict sync = yes", "sync always = yes"],
            FlushPolicy::Honours,
            WritePolicy::Waits,
        ),
    ] {
        let samba = ScratchSamba::start(SambaOptions {
            extra_global: lines.iter().map(|&line| line.to_owned()).collect(),
            ..SambaOptions::default()
        })
        .unwrap();
        let target = target(&samba.url(), samba.password());
        let found = probed(&target, Dialect::Smb311).trials.unwrap();
        let disks = Storage::of(&samba.data_dir()).unwrap().disks();
        let has_cache = disks.as_ref().map(Disks::have_volatile_caches);
        is_or_unknown(&found.flush_finding, flush, FlushPolicy::Unknown, has_cache);
        is_or_unknown(&found.write_finding, write, WritePolicy::Unknown, has_cache);
    }
}

/// Checks a finding. Where it is unknown, there must be a reason that this machine can
/// have. `has_cache` says whether a disk below the share has a volatile cache, if there
/// is one.
fn is_or_unknown<P: PartialEq + Copy + Debug>(
    found: &PolicyFinding<P>,
    expected: P,
    unknown: P,
    has_cache: Option<bool>,
) {
    if found.policy != unknown {
        assert_eq!(found.policy, expected, "{found:?}");
        return;
    }
    let reasons: &[_] = match has_cache {
        None => &["no disk here"],
        Some(false) => &["no volatile cache"],
        // Other tests sync files as well, and some file systems do not pass a flush
        // on.
        Some(true) => &[
            "others use it, too",
            "neither all of them nor few",
            "does not always flush",
            "does not count",
        ],
    };
    let mut reasons = reasons.iter();
    let is_given = reasons.any(|reason| found.evidence.contains(reason));
    assert!(is_given, "{found:?}");
}

#[test]
fn a_server_that_keeps_no_files_shows_nothing() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let target = target(&server.url(), server.password());
    let trials = probed(&target, Dialect::Smb311).trials.unwrap();
    let (flush, write) = (trials.flush_finding, trials.write_finding);
    assert_eq!(flush.policy, FlushPolicy::Unknown);
    assert_eq!(write.policy, WritePolicy::Unknown);
    for evidence in [flush.evidence, write.evidence] {
        assert!(evidence.contains("no file open"), "{evidence}");
    }
}

/// As Samba does at `max smbd processes`: that is no sign of a server with SMB1 only.
#[test]
fn a_server_without_room_for_a_connection_is_not_said_to_speak_smb1() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("smb://ann@{}/data", listener.local_addr().unwrap());
    thread::spawn(move || {
        for client in listener.incoming() {
            drop(client);
        }
    });
    let limits = Limits::default();
    let refused = probe(
        &target(&url, "pw"),
        SessionOptions::default(),
        limits,
        &Cancel::default(),
    );
    let refusal = refused.err().unwrap().to_string();
    assert!(
        refusal.contains("it takes no further connection"),
        "{refusal}"
    );
    assert!(!refusal.contains("SMB1"), "{refusal}");
}
