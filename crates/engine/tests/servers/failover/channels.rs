//! Clients with several connections that lose one of them.

use std::time::Duration;

use smbench_engine::{Cancel, execute};
use smbench_lab::{SambaOptions, ScratchSamba};
use smbench_model::record::{EventKind, LoadPointRecord};
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, SessionsSpec, WorkSpec};

use super::gate::Gate;
use super::{AfterFirstInterval, losses, options, valid_point};
use crate::support::{plan, target};

/// One client with several connections and more operations in flight.
fn several_connections(connections: u32, sign: Mode, encrypt: Mode) -> RunOptions {
    let sessions = SessionsSpec {
        connections_per_session: Some(connections),
        sign: Some(sign),
        encrypt: Some(encrypt),
        ..SessionsSpec::default()
    };
    let options = options(1, Duration::from_secs(3), sessions);
    RunOptions {
        work: WorkSpec {
            outstanding: Some(8 * connections),
            ..options.work
        },
        ..options
    }
}

/// The client goes on with the other connection: it sends its requests again there, none of them
/// fails, and it sets up no connection.
#[test]
fn a_client_that_loses_one_of_two_connections_goes_on() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    for (sign, encrypt) in [
        (Mode::Off, Mode::Off),
        (Mode::Required, Mode::Off),
        (Mode::Off, Mode::Required),
    ] {
        for number in [0, 1] {
            let what = format!("sign {sign:?}, encrypt {encrypt:?}, connection {number}");
            let gate = Gate::start(samba.address());
            let mut target = target(&samba.url(), samba.password());
            target.port = gate.port();
            let plan = plan(
                "file-server",
                &several_connections(2, sign, encrypt),
                target,
            );
            let mut connections = 0;
            let cut = || {
                connections = gate.count();
                gate.cut_from_the_end(number);
            };
            let record = execute(
                &plan,
                &mut AfterFirstInterval(Some(cut)),
                &Cancel::default(),
            );
            let point = valid_point(record.unwrap());
            let losses = losses(&point, None);
            assert_eq!(losses.channels, 1, "{what}");
            assert_eq!(losses.failed, 0, "{what}");
            assert_eq!(losses.still_away(), 0, "{what}");
            assert!(losses.repeated <= 16, "{what}: {}", losses.repeated);
            let kinds = point.ops.events().kept().iter();
            let kinds: Vec<_> = kinds.map(|event| event.kind).collect();
            assert_eq!(kinds, [EventKind::ChannelLost], "{what}");
            // The connection for the clean-up may be a new one.
            assert!(gate.count() <= connections + 1, "{what}");
        }
    }
}

/// Runs a profile, and cuts one of its connections in the window: 0 is the last one.
fn cut_once(
    samba: &ScratchSamba,
    profile: &str,
    options: &RunOptions,
    number: usize,
) -> LoadPointRecord {
    let gate = Gate::start(samba.address());
    let mut target = target(&samba.url(), samba.password());
    target.port = gate.port();
    let plan = plan(profile, options, target);
    let cut = || gate.cut_from_the_end(number);
    let record = execute(
        &plan,
        &mut AfterFirstInterval(Some(cut)),
        &Cancel::default(),
    );
    valid_point(record.unwrap())
}

/// Requests on the other connections may be overtaken by the first one that has the next channel
/// sequence, and are then refused.
#[test]
fn a_client_that_loses_one_of_four_connections_goes_on() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let options = several_connections(4, Mode::Off, Mode::Off);
    let point = cut_once(&samba, "file-server", &options, 2);
    let losses = losses(&point, None);
    assert_eq!((losses.channels, losses.failed), (1, 0));
}

/// A CREATE in flight could take effect twice, so that the sessions are set up anew.
#[test]
fn opens_that_are_lost_with_one_of_two_connections_leave_nothing_behind() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let mut options = several_connections(2, Mode::Off, Mode::Off);
    options.work.verify = None;
    let point = cut_once(&samba, "metadata", &options, 1);
    assert_eq!(losses(&point, None).still_away(), 0);
}
