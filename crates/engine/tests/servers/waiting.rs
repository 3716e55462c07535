//! Waiting times of clients, and other measurements of groups, for every way in
//! which their load can end. They are counted up to that end, and no further.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::driver::{
    Answer, Busy, Call, Connector, Driver, Dropped, Opened, Scratch, Sink,
};
use smbench_engine::run::SessionError;
use smbench_engine::run::{PlannedRun, RunError, Unobserved, execute};
use smbench_formats::profile;
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::Nanos;
use smbench_model::contents::Verify;
use smbench_model::operations::{Drawn, Mix};
use smbench_model::plan::Plan;
use smbench_model::record::{LoadPointRecord, Outcome, RunRecord, ServerFacts};
use smbench_model::spec::{GeneratorSpec, RunOptions, SessionsSpec, WorkSpec};
use smbench_model::target::Target;
use smbench_protocol::header::Command;
use tokio::time::{Interval, interval};

use crate::hostile::relay::{Of, Reaction, Relay, Script};
use crate::support::{plan, short, target};

/// Longer than any run here.
const HANG: Duration = Duration::from_secs(120);
/// Number of answered calls of a client before it has to wait.
const ANSWERED: u32 = 10;

/// The reason why a client waits: credits for the first one, room for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    Credits,
    Room,
}

/// How often a driver that accepts nothing wakes its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wakes {
    Often,
    Never,
}

/// A target that makes its clients wait without end after some calls.
#[derive(Clone)]
struct Withholding {
    wakes: Wakes,
    /// Clients that are waiting.
    waiting: Arc<Mutex<BTreeSet<u32>>>,
}

struct Withholder {
    client: u32,
    lack: Lack,
    wakes: Wakes,
    waiting: Arc<Mutex<BTreeSet<u32>>>,
    taken: u32,
    slots: Vec<u32>,
    tick: Interval,
}

impl Withholding {
    fn new(wakes: Wakes) -> Self {
        let waiting = Arc::default();
        Self { wakes, waiting }
    }
}

impl Connector for Withholding {
    type Driver = Withholder;

    async fn open(&self, clients: &[u32]) -> Result<Opened<Withholder>, SessionError> {
        let client = clients[0];
        let driver = Withholder {
            client,
            lack: [Lack::Credits, Lack::Room][client as usize],
            wakes: self.wakes,
            waiting: Arc::clone(&self.waiting),
            taken: 0,
            slots: Vec::new(),
            tick: interval(Duration::from_millis(2)),
        };
        Ok(Opened::new(driver, 0, vec![Nanos(0)]))
    }
}

impl Withholder {
    fn has(&self, what: Lack) -> bool {
        let has = self.taken < ANSWERED || self.lack != what;
        if !has {
            self.waiting.lock().unwrap().insert(self.client);
        }
        has
    }
}

impl Driver for Withholder {
    fn has_room(&self, _: &Scratch) -> bool {
        self.has(Lack::Room)
    }

    fn submit(
        &mut self,
        call: &Call,
        _: &mut Scratch,
        _: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        if !self.has(Lack::Credits) {
            return Err(Busy::Credits);
        }
        self.taken += 1;
        self.slots.push(call.slot);
        Ok(())
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        _: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        match (self.slots.is_empty(), self.wakes) {
            (false, _) => Poll::Ready(Ok(0)),
            (true, Wakes::Often) => self.tick.poll_tick(context).map(|_| Ok(0)),
            (true, Wakes::Never) => Poll::Pending,
        }
    }

    fn take_answers(
        &mut self,
        _: usize,
        _: Nanos,
        _: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        self.slots
            .drain(..)
            .try_for_each(|slot| sink.answer(&Answer::success(slot, 4096)))
    }

    fn is_awaited(&self) -> bool {
        true
    }
}

/// Makes a plan of two clients that read 4 KiB, for `duration`.
fn withheld(duration: Duration) -> Plan {
    let mut profile = profile::load("read-4k").unwrap();
    profile.spec.run = RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            duration: Some(duration),
            ramp_up: Some(Duration::ZERO),
            ..short().work
        },
        ..short()
    };
    Plan::of(&profile, Target::none()).unwrap()
}

fn run(plan: &Plan, connector: Withholding, cancel: &Cancel) -> Result<RunRecord, RunError> {
    let streams = Drawn {
        mix: Mix::new(&plan.only().workload),
        seed: plan.work.seed,
    };
    let server = ServerFacts::other("withholding://here");
    let run = PlannedRun::of(plan).on_target(server, connector, streams);
    execute(run, &mut Unobserved, cancel)
}

/// Checks that each of the two clients waited, and not longer than the window.
fn check_waits(point: &LoadPointRecord) {
    for waited in [point.credit_starved, point.held_back] {
        assert!(!waited.is_zero(), "{point:?}");
        assert!(waited <= point.window, "{waited:?} {:?}", point.window);
    }
}

#[test]
fn waiting_counts_until_the_window_closes() {
    let mut plan = withheld(Duration::from_secs(1));
    plan.work.ramp_up = Duration::from_millis(100);
    plan.work.ramp_down = Duration::from_millis(300);
    let record = run(&plan, Withholding::new(Wakes::Often), &Cancel::default()).unwrap();
    assert_eq!(record.outcome, Outcome::Complete);
    let point = &record.load_points[0];
    assert_eq!(point.dropouts, []);
    assert_eq!(point.window, Duration::from_secs(1));
    check_waits(point);
}

#[test]
fn waiting_counts_until_its_client_drops_out() {
    for wakes in [Wakes::Often, Wakes::Never] {
        let mut plan = withheld(HANG);
        plan.limits.operation = Duration::from_millis(100);
        let record = run(&plan, Withholding::new(wakes), &Cancel::default()).unwrap();
        let point = &record.load_points[0];
        let reasons = point.dropouts.iter().map(|dropout| &*dropout.reason);
        assert_eq!(
            reasons.collect::<Vec<_>>(),
            [
                "no answer to a request beside its operations within 100ms, \
                 and no credits for another",
                "its driver took no operation within 100ms"
            ]
        );
        // The load ends there.
        assert!(point.window < HANG, "{:?}", point.window);
        check_waits(point);
        assert!(point.credit_starved + point.held_back >= 2 * plan.limits.operation);
        assert_eq!((point.clients_served, point.fairness.clients()), (2, 2));
    }
}

/// With drivers that wake their groups often, and with drivers that never do, so
/// that the groups are aborted.
#[test]
fn waiting_counts_until_the_run_is_cancelled() {
    for wakes in [Wakes::Often, Wakes::Never] {
        let plan = withheld(HANG);
        let (connector, cancel) = (Withholding::new(wakes), Cancel::default());
        let waiting = Arc::clone(&connector.waiting);
        let record = thread::scope(|scope| {
            let running = scope.spawn(|| run(&plan, connector, &cancel));
            while waiting.lock().unwrap().len() < 2 && !running.is_finished() {
                thread::sleep(Duration::from_millis(1));
            }
            // Gives the clients some time to wait.
            thread::sleep(Duration::from_millis(20));
            cancel.cancel();
            running.join().unwrap().unwrap()
        });
        assert_eq!(record.outcome, Outcome::Interrupted);
        let point = &record.load_points[0];
        let broken_off = point.dropouts.iter().map(|dropout| &*dropout.reason);
        let expected = match wakes {
            Wakes::Often => vec![],
            Wakes::Never => vec!["interrupted while waiting for an answer"; 2],
        };
        assert_eq!(broken_off.collect::<Vec<_>>(), expected);
        check_waits(point);
        assert_eq!((point.clients_served, point.fairness.clients()), (2, 2));
        assert_eq!(point.fairness.min(), u64::from(ANSWERED));
    }
}

/// A server answers for a while and then never again. At a cancel its clients are
/// lost, but none of their measurements.
#[test]
fn nothing_measured_is_lost_with_clients_that_are_broken_off() {
    const GENUINE: u64 = 200;
    let script: Script = |answer| {
        if answer.nth < GENUINE {
            Reaction::send(&answer.message)
        } else {
            Reaction::raw(Vec::new())
        }
    };
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let relay = Relay::start(server.address(), Of::Command(Command::Read), script);
    let mut target = target(&server.url(), server.password());
    target.port = relay.port();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            rate: Some("1000".parse().unwrap()),
            duration: Some(HANG),
            ramp_up: Some(Duration::ZERO),
            ..short().work
        },
        ..short()
    };
    let plan = plan("read-4k", &options, target);
    let cancel = Cancel::default();
    let record = thread::scope(|scope| {
        let running = scope.spawn(|| execute(&plan, &mut Unobserved, &cancel));
        // Both clients have sent a request that is never answered.
        while relay.seen() < GENUINE + 2 && !running.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
        cancel.cancel();
        running.join().unwrap().unwrap()
    });
    assert_eq!(record.outcome, Outcome::Interrupted);
    let point = &record.load_points[0];
    assert_eq!(point.dropouts.len(), 2);
    assert_eq!((point.clients_served, point.fairness.clients()), (2, 2));
    assert_eq!(point.fairness.mean() * 2.0, GENUINE as f64);
    assert!(!point.in_flight.is_zero());
    assert!(point.in_flight <= 2 * point.window, "{point:?}");
    let kept = point.punctuality;
    assert_eq!(kept.due, GENUINE + kept.unanswered, "{kept:?}");
    assert!(kept.unanswered >= 2, "{kept:?}");
    let due_at_most = 1000.0 * point.window.as_secs_f64() + 2.0;
    assert!(kept.due as f64 <= due_at_most, "{kept:?} {due_at_most}");
}

/// A client that has ended its load answers breaks until the others have ended theirs. A cancel
/// that breaks it off names only those that wait for an answer.
#[test]
fn a_cancel_names_no_client_whose_load_has_ended() {
    const GENUINE: u64 = 20;
    /// Port of the client that gets no answer any more.
    static SILENT: AtomicU16 = AtomicU16::new(0);
    let script: Script = |answer| {
        if answer.nth < GENUINE {
            return Reaction::send(&answer.message);
        }
        let (port, same) = (answer.port, Ordering::SeqCst);
        let silent = SILENT.compare_exchange(0, port, same, same);
        if silent.is_ok() || silent == Err(port) {
            Reaction::raw(Vec::new())
        } else {
            Reaction::send(&answer.message)
        }
    };
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let relay = Relay::start(server.address(), Of::Command(Command::Read), script);
    let mut target = target(&server.url(), server.password());
    target.port = relay.port();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            duration: Some(HANG),
            ramp_up: Some(Duration::ZERO),
            file_size: Some("256KiB".parse().unwrap()),
            verify: Some(Verify::ReadBack),
            ..short().work
        },
        sessions: SessionsSpec {
            oplock: Some("batch".parse().unwrap()),
            reconnect: Some(HANG),
            ..short().sessions
        },
        generator: GeneratorSpec {
            threads: Some(1),
            ..short().generator
        },
    };
    let plan = plan("file-server", &options, target);
    assert!(plan.reads_finally());
    let cancel = Cancel::default();
    let record = thread::scope(|scope| {
        let running = scope.spawn(|| execute(&plan, &mut Unobserved, &cancel));
        while SILENT.load(Ordering::SeqCst) == 0 && !running.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
        cancel.cancel();
        running.join().unwrap().unwrap()
    });
    assert_eq!(record.outcome, Outcome::Interrupted);
    let dropouts = &record.load_points[0].dropouts;
    assert_eq!(dropouts.len(), 1, "{dropouts:?}");
    assert_eq!(
        dropouts[0].reason,
        "interrupted while waiting for an answer"
    );
}
