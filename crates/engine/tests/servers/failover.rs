//! Clients that lose their connection under load and come back.

mod channels;
mod durable;
mod faults;
mod faulty;
mod forgetful;
mod gate;

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use smbench_engine::probe::{Cleanup, cleanup};
use smbench_engine::run::{PlannedRun, StateFile};
use smbench_engine::{Cancel, Observer, Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba};
use smbench_model::contents::Verify;
use smbench_model::event::PlannedEvent;
use smbench_model::limits::Limits;
use smbench_model::progress::{MeasuredInterval, Progress};
use smbench_model::record::{EventLosses, LoadPointRecord, Outcome, RunRecord};
use smbench_model::sessions::{HandleDurability, SessionOptions};
use smbench_model::spec::{RunOptions, SessionsSpec, WorkSpec};
use smbench_model::target::Target;
use smbench_protocol::header::{Command as SmbCommand, Header};
use smbench_protocol::{Dialect, NtStatus};

use crate::hostile::relay::{Of, Reaction, Relay, Script};
use crate::support::{plan, target};
use gate::Gate;

/// Does something once, when the first interval of a window has ended.
struct AfterFirstInterval<F>(Option<F>);

impl<F: FnOnce()> Observer for AfterFirstInterval<F> {
    fn progress(&mut self, _: &Progress) {}

    fn interval_ended(&mut self, _: &MeasuredInterval<'_>) {
        if let Some(act) = self.0.take() {
            act();
        }
    }

    fn load_point_ended(&mut self, _: &RunRecord) {}
}

fn options(clients: u32, window: Duration, sessions: SessionsSpec) -> RunOptions {
    RunOptions {
        work: WorkSpec {
            clients: Some(clients.to_string().parse().unwrap()),
            duration: Some(window),
            ramp_up: Some(Duration::ZERO),
            file_size: Some("256KiB".parse().unwrap()),
            verify: Some(Verify::ReadBack),
            ..WorkSpec::default()
        },
        sessions: SessionsSpec {
            reconnect: Some(Duration::from_secs(60)),
            ..sessions
        },
        ..RunOptions::default()
    }
}

fn with_events(mut options: RunOptions, events: &[&str]) -> RunOptions {
    let events = events
        .iter()
        .map(|text| text.parse::<PlannedEvent>().unwrap());
    options.work.event = Some(events.collect());
    options
}

/// Returns the only load point of a run that came to its end, and is valid although
/// connections were lost.
fn valid_point(record: RunRecord) -> LoadPointRecord {
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.leftover, None);
    let [point] = <[_; 1]>::try_from(record.load_points).unwrap();
    assert_eq!(point.dropouts, []);
    assert_eq!(point.invalid, None);
    assert_eq!(point.ops.errors(), point.ops.lost_with_connection());
    assert_eq!(point.ops.faults(), Default::default());
    point
}

fn losses(point: &LoadPointRecord, event: Option<u32>) -> &EventLosses {
    point.ops.losses().after(event).unwrap()
}

/// All clients come back through a path that was cut for a time. None of them can have had an
/// answer in that time, by the clock of the relay.
#[test]
fn clients_that_are_cut_for_a_time_all_come_back() {
    const CLIENTS: u32 = 16;
    const CUT: Duration = Duration::from_millis(400);
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let gate = Gate::start(server.address());
    let mut target = target(&server.url(), server.password());
    target.port = gate.port();
    let options = options(CLIENTS, Duration::from_secs(8), SessionsSpec::default());
    let plan = plan("file-server", &options, target);
    let (tell, closed_for) = std::sync::mpsc::channel();
    let cut = || {
        let gate = gate.clone();
        std::thread::spawn(move || {
            gate.close();
            let closed = Instant::now();
            std::thread::sleep(CUT);
            let closed_for = closed.elapsed();
            gate.open();
            tell.send(closed_for).unwrap();
        });
    };
    let record = execute(
        &plan,
        &mut AfterFirstInterval(Some(cut)),
        &Cancel::default(),
    );
    let point = valid_point(record.unwrap());
    let closed_for = closed_for.recv().unwrap();
    let losses = losses(&point, None);
    assert_eq!(losses.clients, u64::from(CLIENTS));
    assert_eq!(losses.blackout.get().len(), u64::from(CLIENTS));
    assert_eq!(losses.still_away(), 0);
    assert_eq!(losses.failed, point.ops.errors());
    // Each client had one request in flight, or none.
    assert!(losses.failed + losses.repeated.unsigned_abs() <= u64::from(CLIENTS));
    // A histogram is exact to three digits.
    let least = closed_for.as_nanos() as f64 * 0.999;
    assert!(
        losses.blackout.get().min() as f64 >= least,
        "{closed_for:?}"
    );
    assert_eq!(point.clients_served, CLIENTS);
}

/// A server that answers nothing more, and does not end its connections, is left after the limit
/// of an operation. Clients that think in the meantime are not counted.
#[test]
fn clients_leave_the_connections_of_a_silent_server() {
    const LIMIT: Duration = Duration::from_secs(2);
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let gate = Gate::start(server.address());
    let mut target = target(&server.url(), server.password());
    target.port = gate.port();
    let options = options(4, Duration::from_secs(10), SessionsSpec::default());
    let mut plan = plan("file-server", &options, target);
    plan.limits.operation = LIMIT;
    let silence = || gate.silence();
    let record = execute(
        &plan,
        &mut AfterFirstInterval(Some(silence)),
        &Cancel::default(),
    );
    let point = valid_point(record.unwrap());
    let losses = losses(&point, None);
    assert_eq!((losses.clients, losses.still_away()), (4, 0));
    let least = LIMIT.as_nanos() as f64 * 0.999;
    assert!(losses.blackout.get().min() as f64 >= least);
    assert!(gate.count() >= 8, "{}", gate.count());
}

/// A client that thinks while its connection is lost has no blackout.
#[test]
fn clients_with_nothing_to_send_have_no_blackout() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let target = target(&server.url(), server.password());
    let mut options = with_events(
        options(4, Duration::from_secs(2), SessionsSpec::default()),
        &["at 1s: drop 100%"],
    );
    options.work.think_time = Some(Duration::from_secs(600));
    let plan = plan("file-server", &options, target);
    let record = execute(&plan, &mut Unobserved, &Cancel::default());
    let point = valid_point(record.unwrap());
    let losses = losses(&point, Some(0));
    assert_eq!((losses.clients, losses.still_away()), (0, 0));
    assert_eq!(losses.blackout.get().len(), 0);
}

/// Servers' processes that are killed keep no handle, and a write that they had acknowledged is
/// still there.
#[test]
fn handles_of_killed_processes_are_reported_lost() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let sessions = SessionsSpec {
        handles: Some(HandleDurability::Durable),
        ..SessionsSpec::default()
    };
    // A busy machine may be seconds late with the end of the first interval.
    let options = options(4, Duration::from_secs(8), sessions);
    let target = target(&samba.url(), samba.password());
    let plan = plan("file-server", &options, target);
    let before: BTreeSet<_> = samba.server_pids().into_iter().collect();
    let kill = || {
        let of_clients = samba.server_pids().into_iter();
        let of_clients = of_clients.filter(|pid| !before.contains(pid));
        let pids: Vec<_> = of_clients.map(|pid| pid.to_string()).collect();
        let killed = Command::new("kill").arg("-9").args(&pids).status();
        assert!(killed.unwrap().success(), "{pids:?}");
    };
    let record = execute(
        &plan,
        &mut AfterFirstInterval(Some(kill)),
        &Cancel::default(),
    );
    let point = valid_point(record.unwrap());
    let losses = losses(&point, None);
    assert_eq!((losses.clients, losses.still_away()), (4, 0));
    assert_eq!(losses.handles.kept, 0);
    let expected = [(Some(NtStatus::OBJECT_NAME_NOT_FOUND), 4)];
    assert_eq!(losses.handles.lost, expected.into());
}

/// In CIFS, clients come back as in SMB2, also if their writes are noted for a check after a crash.
#[test]
fn clients_of_cifs_come_back() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions {
        extra_global: vec![ScratchSamba::CIFS.to_owned()],
        ..SambaOptions::default()
    }) else {
        return;
    };
    let sessions = SessionsSpec {
        dialect: Some(Dialect::Cifs.into()),
        ..SessionsSpec::default()
    };
    let options = options(2, Duration::from_secs(4), sessions);
    let options = with_events(options, &["at 1s: drop 100%"]);
    let plan = plan(
        "file-server",
        &options,
        target(&samba.url(), samba.password()),
    );
    let folder = tempfile::tempdir().unwrap();
    for is_noted in [false, true] {
        let path = folder.path().join("crash.state");
        let state = is_noted.then(|| StateFile::create(&path).unwrap());
        let run = PlannedRun::from(&plan).noting(state);
        let record = execute(run, &mut Unobserved, &Cancel::default()).unwrap();
        let point = &record.load_points[0];
        assert_eq!(point.dropouts, [], "{is_noted}");
        let losses = losses(point, Some(0));
        assert_eq!((losses.links, losses.still_away()), (2, 0), "{is_noted}");
    }
}

/// Clients whose address is gone come back at the next one, and the directory is removed there.
#[test]
fn clients_come_back_at_the_next_address() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let (first, second) = (Gate::start(server.address()), Gate::start(server.address()));
    let mut target = target(&server.url(), server.password());
    target.port = first.port();
    let nodes = format!("127.0.0.1:{},127.0.0.1:{}", first.port(), second.port());
    let sessions = SessionsSpec {
        nodes: Some(nodes.parse().unwrap()),
        ..SessionsSpec::default()
    };
    let options = options(4, Duration::from_secs(8), sessions);
    let plan = plan("file-server", &options, target);
    let fail = || first.remove();
    let record = execute(
        &plan,
        &mut AfterFirstInterval(Some(fail)),
        &Cancel::default(),
    );
    let point = valid_point(record.unwrap());
    assert_eq!(losses(&point, None).blackout.get().len(), 4);
    assert!(second.count() >= 4, "{}", second.count());
}

/// Clients of a stopped server wait for it, which is their blackout, and those of killed processes
/// come back. Another server than one of the lab is left alone.
#[test]
fn a_lab_server_is_stopped_for_a_time_and_its_processes_are_killed() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let options = with_events(
        options(2, Duration::from_secs(8), SessionsSpec::default()),
        &["at 1s: stop 2s", "at 5s: signal KILL"],
    );
    let target_of_lab = target(&samba.url(), samba.password());
    let plan_on = |target| plan("file-server", &options, target);
    let record = execute(&plan_on(target_of_lab), &mut Unobserved, &Cancel::default());
    let point = valid_point(record.unwrap());
    for event in &point.events {
        assert!(matches!(event.signalled, Some(Ok(2..))), "{event:?}");
    }
    let waits = losses(&point, Some(0));
    assert_eq!((waits.clients, waits.still_away(), waits.links), (2, 0, 0));
    assert!(waits.blackout.get().min() >= 1_990_000_000);
    assert!(point.ops.window_all().latency().max() >= 1_990_000_000);
    let late = point.ops.in_blackout().unwrap();
    assert!(late.count() >= 2 && late.service.max() >= 1_990_000_000);
    let losses = losses(&point, Some(1));
    assert_eq!((losses.clients, losses.still_away()), (2, 0));

    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let plan = plan_on(target(&server.url(), server.password()));
    let error = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap_err();
    assert!(error.to_string().contains("is another server"), "{error}");
}

/// A run whose server is gone for good ends with an interrupt, without the time that its clients
/// had to come back.
#[test]
fn an_interrupt_ends_a_blackout() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let gate = Gate::start(server.address());
    let mut target = target(&server.url(), server.password());
    target.port = gate.port();
    let mut options = options(4, Duration::from_secs(3000), SessionsSpec::default());
    options.sessions.reconnect = Some(Duration::from_secs(3600));
    let plan = plan("file-server", &options, target);
    let cancel = Cancel::default();
    let interrupt = || {
        gate.close();
        cancel.cancel();
    };
    let record = execute(&plan, &mut AfterFirstInterval(Some(interrupt)), &cancel).unwrap();
    assert_eq!(record.outcome, Outcome::Interrupted);
    let reason = record.load_points[0].invalid.as_ref().unwrap();
    assert!(reason.starts_with("interrupted after"), "{reason}");
    // The directory could not be removed.
    assert!(record.leftover.is_some());
}

/// Cuts all connections once, and tries a clean-up after the load point.
struct CutAndCleanUp {
    gate: Option<Gate>,
    target: Target,
    seen: Option<Cleanup>,
}

impl Observer for CutAndCleanUp {
    fn progress(&mut self, _: &Progress) {}

    fn interval_ended(&mut self, _: &MeasuredInterval<'_>) {
        if let Some(gate) = self.gate.take() {
            gate.close();
            gate.open();
        }
    }

    fn load_point_ended(&mut self, _: &RunRecord) {
        let target = self.target.clone();
        // The engine's runtime is on this thread, so the clean-up needs another.
        let done = std::thread::spawn(move || {
            cleanup(&target, SessionOptions::default(), Limits::default()).unwrap()
        });
        self.seen = Some(done.join().unwrap());
    }
}

/// The loss also ends the session that holds the directory of the run. Without another one, a
/// clean-up would remove what the clients work on.
#[test]
fn a_run_whose_connections_are_all_lost_holds_its_directory_again() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let gate = Gate::start(server.address());
    let direct = target(&server.url(), server.password());
    let mut target = direct.clone();
    target.port = gate.port();
    let mut observer = CutAndCleanUp {
        gate: Some(gate),
        target: direct,
        seen: None,
    };
    let options = options(4, Duration::from_secs(8), SessionsSpec::default());
    let plan = plan("file-server", &options, target);
    let record = execute(&plan, &mut observer, &Cancel::default());
    let point = valid_point(record.unwrap());
    assert_eq!(losses(&point, None).clients, 4);
    let seen = observer.seen.unwrap();
    assert_eq!((seen.in_use.len(), seen.removed.len()), (1, 0));
}

/// A load point ends although the session that holds the directory gets no answer any more. The
/// limit of an answer in that session is longer than any test.
#[test]
fn a_check_without_an_answer_does_not_hold_up_the_end_of_a_load_point() {
    /// Port of the first connection, which holds the directory.
    static FIRST: AtomicU16 = AtomicU16::new(0);
    let script: Script = |answer| {
        let same = Ordering::SeqCst;
        let first = FIRST.compare_exchange(0, answer.port, same, same);
        let is_first = first == Ok(0) || first == Err(answer.port);
        let header = Header::decode(&answer.message);
        if is_first && header.is_ok_and(|header| header.command == SmbCommand::Echo) {
            Reaction::raw(Vec::new())
        } else {
            Reaction::send(&answer.message)
        }
    };
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let relay = Relay::start(server.address(), Of::All, script);
    let mut target = target(&server.url(), server.password());
    target.port = relay.port();
    let options = options(2, Duration::from_secs(4), SessionsSpec::default());
    let options = with_events(options, &["at 1s: drop 100%"]);
    let mut plan = plan("file-server", &options, target);
    plan.limits.setup = Duration::from_secs(3000);
    let record = execute(&plan, &mut Unobserved, &Cancel::default());
    let point = valid_point(record.unwrap());
    assert_eq!(losses(&point, Some(0)).links, 2);
}

/// A load ends at its time although its clients have long to come back to a server that is gone.
#[test]
fn a_server_that_stays_away_does_not_hold_up_the_end_of_the_load() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let gate = Gate::start(server.address());
    let mut target = target(&server.url(), server.password());
    target.port = gate.port();
    let mut options = options(4, Duration::from_secs(8), SessionsSpec::default());
    options.sessions.reconnect = Some(Duration::from_secs(3600));
    // Reads are sent again, and so stay in flight.
    let plan = plan("read-4k", &options, target);
    let close = || gate.close();
    let record = execute(
        &plan,
        &mut AfterFirstInterval(Some(close)),
        &Cancel::default(),
    );
    let record = record.unwrap();
    let point = &record.load_points[0];
    let losses = losses(point, None);
    assert_eq!((losses.clients, losses.still_away()), (4, 4));
    assert_eq!(losses.repeated, 0);
    assert!((1..=4).contains(&losses.failed), "{}", losses.failed);
    let reason = point.invalid.as_ref().unwrap();
    assert!(reason.contains("not back when the load ended"), "{reason}");
}

/// Commands of events run at their instants, and one that fails makes the load point invalid.
#[test]
fn a_command_of_an_event_runs_in_the_window() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let target = target(&server.url(), server.password());
    let options = with_events(
        options(2, Duration::from_secs(1), SessionsSpec::default()),
        &[
            "at 100ms: exec echo $SMBENCH_POINT_WHEN $SMBENCH_POINT_CLIENTS",
            "at 200ms: exec echo no node; exit 7",
        ],
    );
    let plan = plan("file-server", &options, target);
    let record = execute(&plan, &mut Unobserved, &Cancel::default());
    let record = record.unwrap();
    let point = &record.load_points[0];
    let reason = "the command of the event at 200ms ended with exit status 7: no node";
    assert_eq!(point.invalid.as_deref(), Some(reason));
    let command = point.events[0].command.as_ref().unwrap();
    assert_eq!((&*command.output, command.exit), ("event 2\n", Some(0)));
    assert!(point.events[0].at.unwrap() >= Duration::from_millis(100));
    assert!(point.ops.losses().all().next().is_none());
}
