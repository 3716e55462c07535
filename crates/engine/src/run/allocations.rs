//! Allocation tests: after a warm-up, a worker allocates no memory. They cover the
//! loop, the alarm, the gauge, the hand-in of recorders, and the native driver on a
//! real server.
//!
//! Only the worker's thread is counted; the server and the coordinator have threads
//! of their own.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use smbench_formats::loadfile::Unknown;
use smbench_formats::{loadfile, profile};
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::Nanos;
use smbench_model::contents::Verify;
use smbench_model::fileio::{Fileio, Flushing, Home, Spread, TestMode};
use smbench_model::load::Rate;
use smbench_model::operations::fileio::Sequences;
use smbench_model::operations::replay::Replays;
use smbench_model::operations::{Drawn, Mix};
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::record::{self, Recorder};
use smbench_model::secret::Secret;
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, Spec};
use smbench_model::target::Target;
use smbench_model::units::Size;

use super::{Unobserved, site};
use crate::drivers::driver::Driver as _;
use crate::drivers::native;
use crate::drivers::site::Site;
use crate::machine::cancel::Cancel;
use crate::machine::clock;
use crate::smb::session::{Endpoint, Session};
use crate::smb::share::{self, Workspace};
use crate::worker::assignment::{Assignment, Means, Outcome};
use crate::worker::board::{Board, Desk};
use crate::worker::schedule::Schedule;
use crate::worker::setup::open_group;
use crate::worker::setup_rate::SetupRate;
use crate::worker::shared::Shared;
use crate::worker::supply::Supplies;
use crate::worker::timeline::Over;
use crate::worker::work::{put_load_on, runtime};

/// Length of an interval: short enough for many hand-ins, and long enough for the
/// coordinator of a debug build to merge them.
const INTERVAL: Nanos = Nanos(400_000_000);
/// Operations and intervals of the warm-up.
const WARM_OPERATIONS: u64 = 3_000;
const WARM_INTERVALS: u64 = 2;
/// Operations and intervals that are counted.
const COUNTED_OPERATIONS: u64 = 3_000;
const COUNTED_INTERVALS: u64 = 2;
/// Maximum number of attempts after the first one without an allocation.
const PHASES_MAX: u32 = 5;
/// Maximum number of attempts up to that first one. Data for a full socket waits in
/// buffers with a limit (1 MiB and a little more). They double each time the
/// machine stalls for longer than before: about ten times each, for two clients.
const GROWING_MAX: u32 = 25;

/// Number of recorders, so that the worker always finds one even if the coordinator
/// is late.
const SPARE: usize = 100;

/// Counts made by the coordinator.
#[derive(Default)]
struct Seen {
    operations: AtomicU64,
    intervals: AtomicU64,
    over: AtomicBool,
}

impl Seen {
    fn now(&self) -> (u64, u64) {
        let operations = self.operations.load(Ordering::Relaxed);
        (operations, self.intervals.load(Ordering::Relaxed))
    }

    /// Does the coordinator's work at the board until the load is over.
    fn coordinate(&self, board: &Board) {
        while !self.over.load(Ordering::Relaxed) {
            let (_, over) = board.collect();
            for Over { recorder, .. } in &over {
                let completed = recorder.all().count();
                self.operations.fetch_add(completed, Ordering::Relaxed);
                self.intervals.fetch_add(1, Ordering::Relaxed);
            }
            board.give_back(over.into_iter().map(|over| over.recorder));
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn plan(server: &EmbeddedServer, profile: &Profile, options: &RunOptions) -> Plan {
    let (mut target, _) = Target::parse(&server.url()).unwrap();
    target.password = Secret::new(server.password());
    let mut profile = profile.clone();
    profile.spec.run = RunOptions {
        clients: Some("2".parse().unwrap()),
        ..options.clone()
    };
    Plan::of(&profile, target).unwrap()
}

/// Returns the number of allocations of the worker's thread after the warm-up, and
/// the number of operations counted.
fn allocations(profile: &Profile, options: &RunOptions) -> (u64, u64) {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let plan = Arc::new(plan(&server, profile, options));
    let mix = Mix::new(&plan.work.workload);
    let seed = plan.work.seed;
    match (plan.work.workload.replay(), plan.work.workload.fileio()) {
        (Some(replay), _) => {
            let supplies = Replays::new(replay.clone(), seed);
            allocations_with(&plan, &mix, supplies)
        }
        (None, Some(test)) => {
            let supplies = Sequences::new(test, seed, &mix);
            allocations_with(&plan, &mix, supplies)
        }
        (None, None) => {
            let mix = Arc::clone(&mix);
            allocations_with(&plan, &mix.clone(), Drawn { mix, seed })
        }
    }
}

/// Makes the directory of a run, or prepares files and claims theirs.
async fn workspace(endpoint: &Endpoint, plan: &Plan, cancel: &Cancel) -> Workspace {
    let Some(test) = plan.work.workload.fileio() else {
        let session = Session::open(endpoint).await.unwrap();
        let workspace = Workspace::create(endpoint, session).await;
        return workspace.map_err(|(error, _)| error).unwrap();
    };
    let prepared = share::prepare_kept(endpoint, test, cancel, &mut |_, _| {}).await;
    prepared.unwrap();
    let session = Session::open(endpoint).await.unwrap();
    let workspace = Workspace::of_prepared(endpoint, session, test).await;
    workspace.unwrap()
}

fn allocations_with<T: Supplies>(plan: &Arc<Plan>, mix: &Arc<Mix>, supplies: T) -> (u64, u64) {
    let empty = Recorder::expecting(plan.work.workload.kinds(), &plan.work.load);
    let board = Arc::new(Board::new(1, empty.clone()));
    // On a busy machine the coordinator may return recorders late.
    board.give_back((0..SPARE).map(|_| empty.clone()));
    let cancel = Cancel::default();
    let runtime = runtime().unwrap();
    let (workspace, site) = runtime.block_on(async {
        let endpoint = crate::drivers::site::endpoint(plan).await.unwrap();
        let mut workspace = workspace(&endpoint, plan, &cancel).await;
        let observer = &mut Unobserved;
        let prepared = site::prepare(plan, &mut workspace, observer, &cancel).await;
        prepared.unwrap();
        let site = Arc::new(Site {
            plan: Arc::clone(plan),
            endpoint,
            mix: Arc::clone(mix),
            directory: workspace.directory().to_owned(),
            salt: workspace.salt(),
        });
        (workspace, site)
    });
    let worker = Assignment {
        generation_run: 1,
        salt: site.salt,
        clients: 2,
        clients_before: 0,
        groups: plan.sessions.connections.groups(2).collect(),
        pace: SetupRate::new(clock::now(), None, 1, (0, 1)),
        cpu: None,
        board: Arc::clone(&board),
        number: 0,
        under_load: Cell::new(None),
        cancel: cancel.clone(),
        mix: Arc::clone(mix),
        plan: Arc::clone(plan),
    };
    let means = Means {
        connector: native::Connect(site),
        supplies,
    };
    let groups = runtime.block_on(async {
        let mut groups = Vec::new();
        for clients in &worker.groups {
            let opened = open_group(&worker, &means, clients).await.unwrap();
            groups.push(opened.driver);
        }
        groups
    });
    let desk = Desk::new(Arc::clone(&board), 0, clock::now());
    let shared = Rc::new(RefCell::new(Shared::new(desk)));
    let begin = clock::now();
    let never = begin + Nanos(3_600_000_000_000);
    let schedule = Schedule {
        begin,
        open: begin,
        close: never,
        stop: never,
        interval: INTERVAL,
    };
    let seen = Seen::default();
    let mut outcome = Outcome::default();
    let (taken, counted) = thread::scope(|scope| {
        scope.spawn(|| seen.coordinate(&board));
        let mut load = pin!(put_load_on(
            &worker,
            &shared,
            schedule,
            groups,
            &mut outcome
        ));
        let entered = runtime.enter();
        let mut looks = tokio::time::interval(Duration::from_millis(5));
        drop(entered);
        let mut run_until = |operations: u64, intervals: u64| {
            let reached = std::future::poll_fn(|context| {
                while looks.poll_tick(context).is_ready() {}
                if load.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Err("the load ended by itself"));
                }
                let (of_operations, of_intervals) = seen.now();
                match of_operations >= operations && of_intervals >= intervals {
                    true => Poll::Ready(Ok(())),
                    false => Poll::Pending,
                }
            });
            runtime.block_on(reached)
        };
        let mut ended = run_until(WARM_OPERATIONS, WARM_INTERVALS);
        let mut counts = (u64::MAX, 0);
        // Buffers grow to the size that stalls of the machine need, which may show
        // late. The worker is warm once a phase has no allocation, and another such
        // phase must follow.
        for phases_max in [GROWING_MAX, PHASES_MAX] {
            for _ in 0..phases_max {
                let (operations, intervals) = seen.now();
                let used = allocation_counter::measure(|| {
                    ended = ended.and_then(|()| {
                        run_until(
                            operations + COUNTED_OPERATIONS,
                            intervals + COUNTED_INTERVALS,
                        )
                    });
                });
                counts = (used.count_total, seen.now().0 - operations);
                if used.count_total == 0 || ended.is_err() {
                    break;
                }
            }
        }
        cancel.cancel();
        let groups = runtime.block_on(load);
        seen.over.store(true, Ordering::Relaxed);
        assert_eq!(ended, Ok(()));
        runtime.block_on(async {
            for group in groups.unwrap() {
                group.driver.close().await;
            }
            workspace.remove().await.unwrap();
        });
        counts
    });
    assert_eq!(outcome.dropouts, []);
    let (_, tally, _) = board.finish();
    assert_eq!(tally.errors(), 0, "{:?}", tally.failures());
    assert!(tally.differences().is_empty(), "{:?}", tally.differences());
    assert!(record_has_all(&tally, plan), "{}", plan.work.profile);
    (taken, counted)
}

/// Returns whether every kind of the plan occurred.
fn record_has_all(tally: &record::Tally, plan: &Plan) -> bool {
    let kinds = plan.work.workload.kinds();
    kinds.into_iter().all(|kind| tally.whole(kind).count > 0)
}

/// Short delays, so that there are many of them; both directions, some of it
/// random.
const BURSTS: &str = "[[pattern]]\nsize = \"4KiB\"\nweight = 50\nreads = 60\nrandom = 50\n\
    delay = \"1ms\"\nburst = 20\n[[pattern]]\nsize = \"512\"\nweight = 50\nreads = 100\n\
    random = 0\nreply = \"1KiB\"\n";

/// Some clients read, the others write.
const DIVIDED: &str = "read_percent = 50\nsplit = \"clients\"\n[[sizes]]\nsize = \"4KiB\"\n\
    weight = 60\n[[sizes]]\nsize = \"16KiB\"\nweight = 40\n";

/// Opens, closes, and operations with composed names. Operations that need a list,
/// such as the deletion of a tree, are left out.
const RECORDED: &str = r#"
NTCreateX "\clients\client1\one.doc" 0x40 0x3 1 NT_STATUS_OK
WriteX 1 0 4096 4096 NT_STATUS_OK
ReadX 1 0 4096 4096 NT_STATUS_OK
Flush 1 NT_STATUS_OK
QUERY_FILE_INFORMATION 1 258 NT_STATUS_OK
Close 1 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\one.doc" 1004 NT_STATUS_OK
FIND_FIRST "\clients\client1\*" 260 1366 1 NT_STATUS_OK
Rename "\clients\client1\one.doc" "\clients\client1\two.doc" NT_STATUS_OK
Unlink "\clients\client1\two.doc" 0x6 NT_STATUS_OK
"#;

fn recorded() -> Profile {
    let trace = loadfile::parse("my.txt", RECORDED.as_bytes(), Unknown::Refuse).unwrap();
    Profile {
        trace: Some(Arc::new(trace)),
        ..Profile::from_spec("my", Spec::default())
    }
}

/// Reads, writes and flushes of files that were prepared before.
fn prepared() -> Profile {
    Profile {
        fileio: Some(Fileio {
            mode: TestMode::RndRw,
            files: 4,
            total: Size(1 << 20),
            block: Size(4096),
            merged: 0,
            flushing: Flushing::Sets {
                every: Some(100),
                at_end: false,
            },
            rw_ratio: 1.5,
            spread: Spread::Uniform,
            events: None,
            time: Some(Duration::from_secs(3600)),
            home: Home::Prepared,
        }),
        ..Profile::from_spec("fileio", Spec::default())
    }
}

/// Checks that this profile with these options allocates nothing.
fn check(profile: &Profile, options: &RunOptions) {
    let (taken, counted) = allocations(profile, options);
    assert!(counted >= COUNTED_OPERATIONS);
    let RunOptions {
        outstanding,
        rate,
        verify,
        ..
    } = options;
    assert_eq!(
        taken,
        0,
        "{}, {outstanding:?} outstanding, {rate:?}, {verify:?}: memory taken during {counted} \
         operations",
        profile.name()
    );
}

#[test]
fn nothing_between_submitting_and_completing_takes_memory() {
    let rate: Rate = "2000".parse().unwrap();
    let named = |name| profile::load(name).unwrap();
    let bursts = || Profile::parse("bursts", BURSTS).unwrap();
    for (profile, outstanding, rate) in [
        (named("read-4k"), 1, None),
        (named("read-4k"), 16, None),
        (named("read-4k"), 1, Some(rate)),
        (named("file-server"), 1, None),
        (named("file-server"), 16, None),
        (named("file-server"), 16, Some(rate)),
        (named("metadata"), 1, None),
        (named("metadata"), 16, None),
        (named("metadata"), 16, Some(rate)),
        (bursts(), 1, None),
        (bursts(), 16, None),
    ] {
        let options = RunOptions {
            outstanding: Some(outstanding),
            rate,
            file_size: Some("256KiB".parse().unwrap()),
            ..RunOptions::default()
        };
        check(&profile, &options);
    }
}

#[test]
fn nor_does_what_is_checked_shared_divided_or_recorded() {
    let duration = Some(Duration::from_secs(3600));
    let divided = Profile::parse("divided", DIVIDED).unwrap();
    let verified = profile::load("file-server").unwrap();
    for (profile, outstanding, verify, duration) in [
        (verified, 16, Verify::ReadBack, None),
        (divided, 16, Verify::Off, None),
        (prepared(), 1, Verify::Off, duration),
        (prepared(), 1, Verify::ReadBack, duration),
        (recorded(), 1, Verify::Off, duration),
    ] {
        let options = RunOptions {
            outstanding: Some(outstanding),
            verify: Some(verify),
            duration,
            ..RunOptions::default()
        };
        check(&profile, &options);
    }
}

#[test]
fn nor_do_signing_encryption_and_sessions_that_share_a_connection() {
    let required = Some(Mode::Required);
    for options in [
        RunOptions {
            sign: required,
            ..RunOptions::default()
        },
        RunOptions {
            encrypt: required,
            ..RunOptions::default()
        },
        RunOptions {
            sessions_per_connection: Some(2),
            ..RunOptions::default()
        },
    ] {
        let options = RunOptions {
            outstanding: Some(4),
            ..options
        };
        check(&profile::load("file-server").unwrap(), &options);
    }
}
