//! Servers that do not know the handles of clients which come back, or not even their files.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use smbench_engine::probe::probe;
use smbench_engine::{Cancel, Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba};
use smbench_model::limits::Limits;
use smbench_model::record::RunRecord;
use smbench_model::sessions::{HandleDurability, SessionOptions};
use smbench_model::spec::{RunOptions, SessionsSpec};
use smbench_model::target::Target;
use smbench_protocol::NtStatus;

use super::gate::Gate;
use super::{AfterFirstInterval, losses, options, valid_point, with_events};
use crate::support::{plan, target};

const CLIENTS: u32 = 4;
/// A busy machine may be seconds late with the end of the first interval.
const WINDOW: Duration = Duration::from_secs(8);

fn durable() -> SessionsSpec {
    SessionsSpec {
        handles: Some(HandleDurability::Durable),
        ..SessionsSpec::default()
    }
}

/// Runs clients whose path leads to another server after the first interval.
fn run_moved(mut target: Target, from: SocketAddr, to: SocketAddr, with: &RunOptions) -> RunRecord {
    let gate = Gate::start(from);
    target.port = gate.port();
    let plan = plan("file-server", with, target);
    let move_on = || gate.lead_to(to);
    let record = execute(
        &plan,
        &mut AfterFirstInterval(Some(move_on)),
        &Cancel::default(),
    );
    record.unwrap()
}

/// Returns the GUID that a server has in NEGOTIATE.
fn guid(samba: &ScratchSamba) -> [u8; 16] {
    let target = target(&samba.url(), samba.password());
    let (options, limits) = (SessionOptions::default(), Limits::default());
    let probed = probe(&target, options, limits, &Cancel::default());
    let found = probed.unwrap().smb2().unwrap();
    found.session.negotiated.server_guid
}

/// A server that comes back under another GUID refuses all handles. Clients open their files
/// again, and no write is lost.
#[test]
fn clients_come_back_to_a_server_with_another_guid() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    // Samba makes its GUID of this name.
    let renamed = SambaOptions {
        extra_global: vec!["netbios name = OTHER".to_owned()],
        ..SambaOptions::default()
    };
    let beside = samba.beside(Ipv4Addr::new(127, 0, 0, 2), renamed).unwrap();
    let other = ScratchSamba::start(beside).unwrap();
    assert_ne!(guid(&samba), guid(&other));
    let options = options(CLIENTS, WINDOW, durable());
    let target = target(&samba.url(), samba.password());
    let record = run_moved(target, samba.address(), other.address(), &options);
    let point = valid_point(record);
    let losses = losses(&point, None);
    assert_eq!((losses.clients, losses.still_away()), (4, 0));
    assert_eq!(losses.handles.kept, 0);
    let expected = [(Some(NtStatus::OBJECT_NAME_NOT_FOUND), 4)];
    assert_eq!(losses.handles.lost, expected.into());
}

/// The handles of a server that promises to keep none are lost, and no write is.
#[test]
fn handles_that_were_not_promised_are_lost_and_writes_are_not() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions {
        extra_share: vec!["durable handles = no".to_owned()],
        ..SambaOptions::default()
    }) else {
        return;
    };
    let options = options(CLIENTS, WINDOW, durable());
    let options = with_events(options, &["at 1s: drop 100%"]);
    let target = target(&samba.url(), samba.password());
    let plan = plan("file-server", &options, target);
    let record = execute(&plan, &mut Unobserved, &Cancel::default());
    let point = valid_point(record.unwrap());
    let losses = losses(&point, Some(0));
    assert_eq!((losses.clients, losses.still_away()), (4, 0));
    assert_eq!(losses.handles.kept, 0);
    assert_eq!(losses.handles.lost, [(None, 4)].into());
}

/// Clients of a server that comes back without their files drop out when their time is over, and
/// say which file they could not open.
#[test]
fn clients_of_a_server_without_their_files_say_so() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let empty = EmbeddedServer::start(EmbeddedOptions {
        password: Some(server.password().into()),
        ..EmbeddedOptions::default()
    });
    let empty = empty.unwrap();
    let mut options = options(CLIENTS, WINDOW, SessionsSpec::default());
    options.sessions.reconnect = Some(Duration::from_secs(1));
    let target = target(&server.url(), server.password());
    let record = run_moved(target, server.address(), empty.address(), &options);
    let [point] = &record.load_points[..] else {
        panic!("{} load points", record.load_points.len());
    };
    assert_eq!(point.dropouts.len(), CLIENTS as usize);
    for dropout in &point.dropouts {
        let reason = &dropout.reason;
        for part in [
            "no new session could be set up within 1s: ",
            "failed to open file '",
        ] {
            assert!(reason.contains(part), "{reason}");
        }
    }
}
