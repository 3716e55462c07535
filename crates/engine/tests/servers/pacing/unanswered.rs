//! Windows in which no operation completes: what was in flight at their end is known by kind.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_formats::profile;
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba};
use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::record::LoadPointRecord;
use smbench_model::spec::{RunOptions, SessionsSpec, WorkSpec};
use smbench_model::target::Target;
use smbench_protocol::cifs::header::CifsCommand;
use smbench_protocol::header::Command;

use super::{HANG, options};
use crate::hostile::relay::{Of, Reaction, Relay, Script};
use crate::support::{plan, target};

const WINDOW: Duration = Duration::from_millis(400);
const RAMP: Duration = Duration::from_secs(1);
/// Longer than ramp and window.
const HELD: Duration = Duration::from_secs(4);

/// Answers the first READ, and the others late.
const LATE: Script = |answer| match answer.nth {
    0 => Reaction::send(&answer.message),
    _ => Reaction::send(&answer.message).after(HELD),
};
/// Answers the first READ, and then nothing.
const SILENT: Script = |answer| match answer.nth {
    0 => Reaction::send(&answer.message),
    _ => Reaction::raw(Vec::new()).then_freeze(),
};

fn short_window() -> RunOptions {
    RunOptions {
        work: WorkSpec {
            duration: Some(WINDOW),
            ramp_up: Some(RAMP),
            ramp_down: Some(Duration::ZERO),
            ..options().work
        },
        ..options()
    }
}

fn measured(profile: &str, options: &RunOptions, target: Target) -> LoadPointRecord {
    let limits = Limits {
        operation: Duration::from_secs(8),
        ..Limits::default()
    };
    let profile = profile::load(profile).unwrap();
    let plan = Plan::resolve(&profile, options, target, limits, 2).unwrap();
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    record.load_points.into_iter().next().unwrap()
}

/// Measures reads through a relay with this script.
fn read(
    server: SocketAddr,
    (of, script): (Of, Script),
    options: &RunOptions,
    target: Target,
) -> LoadPointRecord {
    let relay = Relay::start(server, of, script);
    let target = Target {
        port: relay.port(),
        ..target
    };
    measured("read-4k", options, target)
}

/// Checks that one read was in flight at the close, and one was answered before the window.
#[track_caller]
fn check(point: &LoadPointRecord) {
    let in_flight = point.ops.in_flight(OpKind::Read).unwrap();
    assert_eq!(in_flight.count, 1);
    assert_eq!(in_flight.shortest, in_flight.longest);
    assert!(in_flight.longest >= Nanos::from(WINDOW), "{in_flight:?}");
    assert!(
        in_flight.longest <= Nanos::from(WINDOW + RAMP),
        "{in_flight:?}"
    );
    assert_eq!(point.ops.before(), 1);
    assert_eq!(point.ops.window_all().count(), 0);
}

/// Checks the same, and the reason.
#[track_caller]
fn check_late(point: &LoadPointRecord) {
    check(point);
    let reason = point.invalid.as_deref().unwrap_or_default();
    let (begins, ends) = (
        "no operation completed in the window: 1 read was in flight for ",
        " s; 1 operation completed before it",
    );
    assert!(
        reason.starts_with(begins) && reason.ends_with(ends),
        "{reason}"
    );
}

#[test]
fn a_read_that_missed_the_window_is_named_with_its_wait() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let target = target(&server.url(), server.password());
    let of = (Of::Command(Command::Read), LATE);
    check_late(&read(server.address(), of, &short_window(), target));
}

#[cfg(feature = "smb-rs")]
#[test]
fn a_read_of_smb_rs_that_missed_the_window_is_named_with_its_wait() {
    use smbench_model::generator::DriverKind;
    use smbench_model::spec::GeneratorSpec;

    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let options = RunOptions {
        generator: GeneratorSpec {
            driver: Some(DriverKind::SmbRs),
            ..short_window().generator
        },
        ..short_window()
    };
    let target = target(&server.url(), server.password());
    let of = (Of::Command(Command::Read), LATE);
    check_late(&read(server.address(), of, &options, target));
}

#[test]
fn a_read_that_is_never_answered_is_counted_beside_the_client_that_is_lost() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let target = target(&server.url(), server.password());
    let of = (Of::Command(Command::Read), SILENT);
    let point = read(server.address(), of, &short_window(), target);
    check(&point);
    assert_eq!(point.dropouts.len(), 1);
}

/// The answer comes before the client is given up, long after the interrupt.
#[test]
fn what_was_in_flight_at_an_interrupt_is_counted() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let relay = Relay::start(server.address(), Of::Command(Command::Read), LATE);
    let target = Target {
        port: relay.port(),
        ..target(&server.url(), server.password())
    };
    let options = RunOptions {
        work: WorkSpec {
            duration: Some(HANG),
            ..short_window().work
        },
        ..short_window()
    };
    let plan = plan("read-4k", &options, target);
    let cancel = Cancel::default();
    let record = thread::scope(|scope| {
        let running = scope.spawn(|| execute(&plan, &mut Unobserved, &cancel).unwrap());
        while relay.seen() == 0 && !running.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
        // The read is in flight after the ramp, too.
        thread::sleep(RAMP + WINDOW);
        cancel.cancel();
        running.join().unwrap()
    });
    let point = &record.load_points[0];
    assert_eq!(point.dropouts.len(), 0);
    let in_flight = point.ops.in_flight(OpKind::Read).unwrap();
    assert_eq!(in_flight.count, 1);
    assert!(in_flight.longest < Nanos::from(HELD), "{in_flight:?}");
}

#[test]
fn a_read_of_cifs_that_missed_the_window_is_named_with_its_wait() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions {
        extra_global: vec![ScratchSamba::CIFS.to_owned()],
        ..SambaOptions::default()
    }) else {
        return;
    };
    let options = RunOptions {
        sessions: SessionsSpec {
            dialect: Some("cifs".parse().unwrap()),
            ..SessionsSpec::default()
        },
        ..short_window()
    };
    let target = target(&samba.url(), samba.password());
    let of = (Of::Cifs(CifsCommand::ReadAndX), LATE);
    check_late(&read(samba.address(), of, &options, target));
}

/// The server runs a command before it connects a client to the share.
#[test]
fn log_ons_that_missed_the_window_are_named_with_their_step() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions {
        extra_share: vec![format!("preexec = sleep {}", HELD.as_secs())],
        ..SambaOptions::default()
    }) else {
        return;
    };
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            file_size: None,
            ..short_window().work
        },
        ..short_window()
    };
    let target = target(&samba.url(), samba.password());
    let point = measured("logons", &options, target);
    let in_flight = |kind| point.ops.in_flight(kind).map_or(0, |of| of.count);
    assert_eq!(in_flight(OpKind::Session), 2);
    assert_eq!(in_flight(OpKind::SessionTreeConnect), 2);
    assert_eq!(in_flight(OpKind::SessionLogOn), 0);
    let reason = point.invalid.unwrap_or_default();
    let (waits, before) = (
        "window: 2 log-ons (2 in session_tree_connect) were in flight, the longest for ",
        " s; no operation completed before it",
    );
    assert!(
        reason.contains(waits) && reason.ends_with(before),
        "{reason}"
    );
}
