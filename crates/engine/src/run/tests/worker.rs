//! A worker whose allocations are counted, on a real server, and its coordinator.

use std::cell::Cell;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::load::SetupFailures;
use smbench_model::operations::Mix;
use smbench_model::plan::Plan;
use smbench_model::record::{Recorder, SeriesDetail, SplitSizes, Tally};
use tokio::runtime::LocalRuntime;

use crate::drivers::cifs::Cifs;
use crate::drivers::driver::Connector;
use crate::drivers::native::Native;
use crate::drivers::site::{Site, endpoint};
use crate::drivers::site_connect::SiteConnect;
use crate::machine::cancel::Cancel;
use crate::machine::poller::Poller;
use crate::machine::{clock, runtime};
use crate::run::{Unobserved, site};
use crate::smb::session::Endpoint;
use crate::smb::share::{self, ShareSession, Workspace};
use crate::worker::any_group::OpenGroups as _;
use crate::worker::assignment::{Assignment, WorkerParts};
use crate::worker::load::put_load_on;
use crate::worker::recorder_exchange::RecorderExchange;
use crate::worker::schedule::Schedule;
use crate::worker::setup_rate::SetupRate;
use crate::worker::supply::{Indirect, OperationSource, Supplies};
use crate::worker::timeline::EndedInterval;
use crate::worker::work::LoadWorker;

/// Length of an interval: short enough for many hand-ins, and long enough for the
/// coordinator of a debug build to merge them.
const INTERVAL: Nanos = Nanos(200_000_000);
/// Operations and intervals of the warm-up.
const WARM_OPERATIONS: u64 = 1_500;
const WARM_INTERVALS: u64 = 2;
/// Operations and intervals that are counted.
pub(super) const COUNTED_OPERATIONS: u64 = 1_500;
const COUNTED_INTERVALS: u64 = 2;
/// Maximum number of attempts after the first one without an allocation.
const PHASES_MAX: u32 = 5;
/// Maximum number of attempts up to that first one. Data for a full socket waits in
/// buffers with a limit (1 MiB and a little more). They double each time the
/// machine stalls for longer than before: about ten times each, for two clients.
const GROWING_MAX: u32 = 25;

/// Number of recorders, so that the worker always finds one even if the coordinator
/// is late.
pub(super) const SPARE: usize = 100;

/// Counts made by the coordinator.
#[derive(Default)]
pub(super) struct Seen {
    operations: AtomicU64,
    intervals: AtomicU64,
    pub(super) over: AtomicBool,
}

impl Seen {
    pub(super) fn now(&self) -> (u64, u64) {
        let operations = self.operations.load(Ordering::Relaxed);
        (operations, self.intervals.load(Ordering::Relaxed))
    }

    /// Does the coordinator's work at the exchange until the load is over.
    pub(super) fn coordinate(&self, exchange: &RecorderExchange) {
        while !self.over.load(Ordering::Relaxed) {
            let (_, over) = exchange.collect();
            for EndedInterval { recorder, .. } in &over {
                let completed = recorder.all().count();
                self.operations.fetch_add(completed, Ordering::Relaxed);
                self.intervals.fetch_add(1, Ordering::Relaxed);
            }
            exchange.give_back(over.into_iter().map(|over| over.recorder));
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Makes the directory of a run, or prepares files and claims theirs.
async fn workspace(endpoint: &Endpoint, plan: &Plan, cancel: &Cancel) -> Workspace {
    let Some(test) = plan.only().workload.fileio() else {
        let session = ShareSession::open(endpoint).await.unwrap();
        let workspace = Workspace::create(endpoint, session).await;
        let mut workspace = workspace.map_err(|(error, _)| error).unwrap();
        let workload = &plan.only().workload;
        if let Some(tree) = workload.used_tree() {
            workspace.find_tree(tree).await.unwrap();
        }
        if let Some(tree) = workload.copied_tree() {
            let clients = 0..plan.max_clients();
            let made = workspace.make_copied_trees(tree, clients, cancel).await;
            made.unwrap();
        }
        return workspace;
    };
    let prepared = share::prepare_kept(endpoint, test, cancel, &mut |_, _| {}).await;
    prepared.unwrap();
    let session = ShareSession::open(endpoint).await.unwrap();
    let workspace = Workspace::of_prepared(endpoint, session, test).await;
    workspace.unwrap()
}

/// Returns the number of allocations of the worker's thread after the warm-up, and
/// the number of operations counted.
pub(super) fn allocations_with<T: OperationSource>(
    plan: &Arc<Plan>,
    mix: &Arc<Mix>,
    supplies: T,
) -> (u64, u64) {
    let is_cifs = plan.sessions.options.dialects.has_cifs();
    let has_steps = plan.only().workload.has_steps();
    if is_cifs && has_steps {
        allocations_of(plan, mix, |site| WorkerParts {
            connector: SiteConnect::<Cifs<T::CifsEncoder>>::new(site),
            supplies: supplies.split(SplitSizes::default()),
        })
    } else if is_cifs {
        allocations_of(plan, mix, |site| WorkerParts {
            connector: SiteConnect::<Cifs<T::CifsEncoder>>::new(site),
            supplies: Indirect::new(supplies),
        })
    } else if has_steps {
        allocations_of(plan, mix, |site| WorkerParts {
            connector: SiteConnect::<Native<T::Encoder>>::new(site),
            supplies: supplies.split(SplitSizes::default()),
        })
    } else {
        allocations_of(plan, mix, |site| WorkerParts {
            connector: SiteConnect::<Native<T::Encoder>>::new(site),
            supplies: supplies.native(),
        })
    }
}

fn allocations_of<C: Connector, S: Supplies>(
    plan: &Arc<Plan>,
    mix: &Arc<Mix>,
    parts: impl FnOnce(Arc<Site>) -> WorkerParts<C, S>,
) -> (u64, u64) {
    let empty = Recorder::expecting(plan.only().workload.kinds(), &plan.only().load);
    let exchange = Arc::new(RecorderExchange::new(
        1,
        empty.clone(),
        None,
        SeriesDetail::Summaries,
    ));
    // On a busy machine the coordinator may return recorders late.
    exchange.give_back((0..SPARE).map(|_| empty.clone()));
    let cancel = Cancel::default();
    let runtime = runtime::local().unwrap();
    let (workspace, site) = runtime.block_on(prepared(plan, mix, &cancel));
    let worker = assignment(&site, &exchange, &cancel);
    let parts = parts(site);
    let mut groups = runtime.block_on(async {
        let mut groups = Vec::new();
        for clients in &worker.groups {
            let opened = parts.open(&worker, clients, None).await.unwrap();
            groups.push(opened.driver);
        }
        groups
    });
    let mut worker = lone_worker(worker);
    runtime.block_on(async {
        for group in &mut groups {
            group.begin_load(&worker.sockets()).unwrap();
        }
    });
    worker.groups = groups;
    let schedule = endless(clock::now());
    let (_schedules, schedules) = tokio::sync::watch::channel(Some(schedule));
    let seen = Seen::default();
    let mut workers = [worker];
    let counts = thread::scope(|scope| {
        scope.spawn(|| seen.coordinate(&exchange));
        let (counts, ended) = {
            let load = put_load_on(&mut workers, schedule, &schedules);
            let mut load = pin!(load);
            let (counts, ended) = count(&runtime, load.as_mut(), &seen);
            cancel.cancel();
            runtime.block_on(load).unwrap();
            (counts, ended)
        };
        seen.over.store(true, Ordering::Relaxed);
        assert_eq!(ended, Ok(()));
        runtime.block_on(async {
            for group in workers[0].groups.drain(..) {
                group.close().await;
            }
            workspace.remove().await.unwrap();
        });
        counts
    });
    assert_eq!(workers[0].outcome.dropouts, []);
    let (_, tally, _) = exchange.finish();
    assert_eq!(tally.errors(), 0, "{:?}", tally.failures());
    assert!(tally.differences().is_empty(), "{:?}", tally.differences());
    assert!(record_has_all(&tally, plan), "{}", plan.work.profile);
    counts
}

/// Makes the files of the plan, and the data that drivers need.
pub(super) async fn prepared(
    plan: &Arc<Plan>,
    mix: &Arc<Mix>,
    cancel: &Cancel,
) -> (Workspace, Arc<Site>) {
    let endpoint = endpoint(plan).await.unwrap();
    let mut workspace = workspace(&endpoint, plan, cancel).await;
    let prepared = site::prepare(
        plan,
        &mut workspace,
        0..plan.max_clients(),
        &mut Unobserved,
        cancel,
    )
    .await;
    prepared.unwrap();
    let site = site::site(
        plan,
        mix,
        endpoint,
        None,
        workspace.directory.clone(),
        workspace.files_in.clone(),
        workspace.salt,
    );
    (workspace, site)
}

/// Assigns two clients to the only worker.
pub(super) fn assignment(
    site: &Site,
    exchange: &Arc<RecorderExchange>,
    cancel: &Cancel,
) -> Assignment {
    Assignment {
        generation_run: 1,
        salt: site.salt,
        clients: 2,
        clients_before: 0,
        rate: None,
        setup: SetupFailures::EndRun,
        enough: Arc::default(),
        groups_before: 0,
        groups: site.plan.sessions.connections.groups(0..2).collect(),
        pace: SetupRate::new(clock::now(), None, 1, 0, 1),
        cpu: None,
        exchange: Arc::clone(exchange),
        notes: None,
        number: 0,
        under_load: Cell::new(None),
        cancel: cancel.clone(),
        mix: Arc::clone(&site.mix),
        plan: Arc::clone(&site.plan),
    }
}

/// Makes the only worker of a thread.
pub(super) fn lone_worker(assignment: Assignment) -> LoadWorker {
    let (reports, _) = tokio::sync::mpsc::unbounded_channel();
    LoadWorker::new(assignment, &Poller::new().unwrap(), &reports)
}

/// Returns a schedule without an end.
pub(super) fn endless(begin: Nanos) -> Schedule {
    let never = begin + Nanos(3_600_000_000_000);
    Schedule {
        begin,
        open: begin,
        close: never,
        stop: never,
        interval: INTERVAL,
        clients: 2,
    }
}

/// Runs `load` until it is warm, and then until a phase has no allocation. Returns
/// the allocations and operations of the last phase, and whether the load went on.
fn count<G>(
    runtime: &LocalRuntime,
    mut load: Pin<&mut impl Future<Output = io::Result<G>>>,
    seen: &Seen,
) -> ((u64, u64), Result<(), &'static str>) {
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
            if of_operations >= operations && of_intervals >= intervals {
                Poll::Ready(Ok(()))
            } else {
                Poll::Pending
            }
        });
        runtime.block_on(reached)
    };
    // Each `block_on` makes its list of tasks that yield anew, as a worker does once.
    let of_block_on = allocation_counter::measure(|| runtime.block_on(tokio::task::yield_now()));
    assert!(of_block_on.count_total <= 1, "{of_block_on:?}");
    let mut ended = run_until(WARM_OPERATIONS, WARM_INTERVALS);
    let mut counts = (u64::MAX, 0);
    // Buffers grow to the size that stalls of the machine need, which may show late.
    // The worker is warm once a phase has no allocation, and another such phase must
    // follow.
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
            let taken = used.count_total.saturating_sub(of_block_on.count_total);
            counts = (taken, seen.now().0 - operations);
            if taken == 0 || ended.is_err() {
                break;
            }
        }
    }
    (counts, ended)
}

/// Returns whether every kind of the plan occurred.
fn record_has_all(tally: &Tally, plan: &Plan) -> bool {
    let kinds = plan.only().workload.kinds();
    kinds.into_iter().all(|kind| tally.whole(kind).count > 0)
}
