//! A load of two clients whose connections are cut.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use smbench_formats::profile;
use smbench_model::operations::{Drawn, Mix, OpStream, Operation, RequestResult};
use smbench_model::plan::Plan;
use smbench_model::record::{Phase, Recorder, SeriesDetail, Tally};
use smbench_model::spec::RunOptions;
use smbench_protocol::NtStatus;

use super::super::plan;
use super::super::worker::{SPARE, Seen, assignment, endless, lone_worker, prepared};
use super::cutter::{After, Cutter, Server};
use crate::drivers::dropped::Dropped;
use crate::drivers::native::Native;
use crate::drivers::native::request::MixEncoder;
use crate::drivers::reconnecting::{
    ChurnPlan, PlannedStops, ReconnectPolicy, ReconnectingConnector,
};
use crate::drivers::site_connect::SiteConnect;
use crate::machine::cancel::Cancel;
use crate::machine::{clock, runtime};
use crate::worker::any_group::OpenGroups as _;
use crate::worker::assignment::{WorkerParts, WorkerResult};
use crate::worker::load::put_load_on;
use crate::worker::recorder_exchange::RecorderExchange;
use crate::worker::supply::{Supplies, Supply};
use crate::worker::work::LoadWorker;

/// Longest wait for the load to get further.
const PATIENCE: Duration = Duration::from_secs(60);

/// Operations that are counted when they are drawn, with their further requests.
#[derive(Clone)]
struct Counted {
    drawn: Drawn,
    counts: DrawnCounts,
}

/// Number of operations drawn by each client.
type DrawnCounts = Arc<[AtomicU64; 2]>;

struct CountedStream {
    stream: OpStream,
    client: usize,
    counts: DrawnCounts,
}

impl Supplies for Counted {
    type Supply = CountedStream;

    fn of_client(&self, client: u32) -> CountedStream {
        CountedStream {
            stream: self.drawn.of_client(client),
            client: client as usize,
            counts: Arc::clone(&self.counts),
        }
    }
}

impl Supply for CountedStream {
    fn next(&mut self, phase: Phase) -> Option<Operation> {
        self.counts[self.client].fetch_add(1, Ordering::Relaxed);
        Supply::next(&mut self.stream, phase)
    }

    fn after(&self, last: &Operation, went: RequestResult, status: NtStatus) -> Option<Operation> {
        Supply::after(&self.stream, last, went, status)
    }

    fn fault(&self) -> Dropped {
        self.stream.fault()
    }
}

/// What a load with cuts has left.
pub(super) struct Cuts {
    pub(super) tally: Tally,
    pub(super) outcome: WorkerResult,
    /// Number of operations drawn.
    pub(super) drawn: u64,
    /// Number of connections, the first of which keeps the directory.
    pub(super) connections: usize,
}

/// Runs a load whose connections are cut this often. Each time, new operations must complete
/// afterwards. Stops early if the load ends.
pub(super) fn cut(server: &Server, name: &str, options: &RunOptions, cuts: usize) -> Cuts {
    cut_within(PATIENCE, After::Accept, server, name, options, cuts)
}

/// Does the same for groups with this limit.
pub(super) fn cut_within(
    limit: Duration,
    after: After,
    server: &Server,
    name: &str,
    options: &RunOptions,
    cuts: usize,
) -> Cuts {
    let cutter = Cutter::start(server.address);
    let (from, to) = (server.address.port(), cutter.address.port());
    let url = server.url.replace(&format!(":{from}"), &format!(":{to}"));
    let profile = profile::load(name).unwrap();
    let plan: Arc<Plan> = Arc::new(plan(&url, &server.password, &profile, options));
    let mix = Mix::new(&plan.only().workload);
    let counts = DrawnCounts::default();
    let supplies = Counted {
        drawn: Drawn {
            mix: Arc::clone(&mix),
            seed: plan.work.seed,
        },
        counts: Arc::clone(&counts),
    };
    let empty = Recorder::expecting(plan.only().workload.kinds(), &plan.only().load);
    let exchange = RecorderExchange::new(1, empty.clone(), None, SeriesDetail::Summaries);
    let exchange = Arc::new(exchange);
    exchange.give_back((0..SPARE).map(|_| empty.clone()));
    let cancel = Cancel::default();
    let runtime = runtime::local().unwrap();
    let (workspace, site) = runtime.block_on(prepared(&plan, &mix, &cancel));
    let worker = assignment(&site, &exchange, &cancel);
    let connector = SiteConnect::<Native<MixEncoder>>::new(site);
    let parts = WorkerParts {
        connector: ReconnectingConnector {
            connector,
            policy: ReconnectPolicy::Within(limit),
            limit,
            churn: ChurnPlan::NONE,
            stops: PlannedStops::default(),
            per_group: plan.sessions.connections.sessions_per_connection,
        },
        supplies,
    };
    let before = cutter.count();
    let opened = runtime.block_on(async {
        let mut groups = Vec::new();
        for clients in &worker.groups {
            let opened = parts.open(&worker, clients, None).await;
            groups.push(opened.unwrap().driver);
        }
        groups
    });
    let mut worker = lone_worker(worker);
    for mut group in opened {
        group.begin_load(&worker.sockets()).unwrap();
        worker.groups.push(group);
    }
    let schedule = endless(clock::now());
    let (_schedules, schedules) = tokio::sync::watch::channel(Some(schedule));
    let seen = Seen::default();
    let mut workers = [worker];
    thread::scope(|scope| {
        scope.spawn(|| seen.coordinate(&exchange));
        runtime.block_on(async {
            {
                let mut load = pin!(put_load_on(&mut workers, schedule, &schedules));
                let cut = || cutter.cut(before, after);
                let is_over = interrupt(load.as_mut(), &counts, cuts, cut).await;
                cancel.cancel();
                if !is_over {
                    load.await.unwrap();
                }
            }
            for group in workers[0].groups.drain(..) {
                group.close().await;
            }
            workspace.remove().await.unwrap();
        });
        seen.over.store(true, Ordering::Relaxed);
    });
    let (_, tally, _) = exchange.finish();
    let [LoadWorker { outcome, .. }] = workers;
    Cuts {
        tally,
        outcome,
        drawn: drawn(&counts).iter().sum(),
        connections: cutter.count() - before,
    }
}

fn drawn(counts: &DrawnCounts) -> [u64; 2] {
    [0, 1].map(|client: usize| counts[client].load(Ordering::Relaxed))
}

/// Calls `cut` this often, each time after some more operations of each client. Returns whether the load has
/// ended, else after some more operations.
async fn interrupt<T>(
    mut load: Pin<&mut impl Future<Output = T>>,
    counts: &DrawnCounts,
    cuts: usize,
    cut: impl Fn(),
) -> bool {
    for at in 0..=cuts {
        let begun = drawn(counts);
        // A client without a connection draws one operation at most.
        let has_further = || {
            let now = drawn(counts);
            now.iter()
                .zip(begun)
                .all(|(now, begun)| *now >= begun + 100)
        };
        let further = async {
            while !has_further() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            _ = &mut load => return true,
            further = tokio::time::timeout(PATIENCE, further) => further.unwrap(),
        }
        if at < cuts {
            cut();
        }
    }
    false
}
