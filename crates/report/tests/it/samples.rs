//! Records as a run makes them, with round numbers.

mod study;

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, SystemTime};

use smbench_model::Nanos;
use smbench_model::access::{Access, SizeWeight};
use smbench_model::action::QueryClass;
use smbench_model::action::{Action, WeightedAction};
use smbench_model::contents::Verify;
use smbench_model::cpu::{CpuScope, CpuSource, ServerCpuRecord, ServerCpuUse};
use smbench_model::files::{FileSet, Layout, Scope};
use smbench_model::generator::{DriverKind, Generator, Pinning};
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::load::{LoadModel, Ramp};
use smbench_model::login::Login;
use smbench_model::plan::Plan;
use smbench_model::record::{
    ClientUsage, Dropout, Fairness, GeneratorRecord, LoadPointRecord, Outcome, Phase, Punctuality,
    Recorder, RunRecord, Series, ServerFacts, SetupRecord, Tally, WorkerRecord, latency_histogram,
    lateness_histogram,
};
use smbench_model::secret::Secret;
use smbench_model::sessions::{Connections, Mode, SessionOptions, Sessions};
use smbench_model::target::Target;
use smbench_model::work::{Population, Work};
use smbench_model::workload::{Requests, Workload};
use smbench_protocol::{Dialect, Logon, SigningAlgorithm};
use smbench_report::{Disclosure, RunDoc};
pub(crate) use study::{comparison, result, study_doc, transfer};

/// Occurs nowhere else, so a search for it finds a leak.
pub(crate) const PASSWORD: &str = "hunter2-must-not-leak";

fn population(load_points: &[u32]) -> Population {
    Population {
        name: None,
        profile: "file-server".to_owned(),
        share: None,
        per_unit: None,
        caching: None,
        session: None,
        credits: None,
        sources: None,
        workload: Workload {
            sizes: vec![
                SizeWeight {
                    size: 4096,
                    weight: 90.0,
                },
                SizeWeight {
                    size: 65_536,
                    weight: 10.0,
                },
            ],
            requests: Requests::Data {
                read_percent: 80.0,
                flush_every_writes: Some(100),
            },
            access: Access::Sequential,
            files: FileSet {
                scope: Scope::Private,
                count: 1,
                size: 1 << 20,
                layout: Layout::Flat,
            },
        },
        clients: load_points.to_vec(),
        outstanding: 4,
        load: LoadModel::default(),
        rates: Vec::new(),
        stages: None,
        start: Duration::ZERO,
        ramp: Ramp::Full,
        verify: Verify::Off,
        count: None,
    }
}

pub(crate) fn plan(load_points: &[u32], repeat: u32) -> Plan {
    Plan {
        work: Work {
            profile: "file-server".to_owned(),
            populations: vec![population(load_points)],
            unit: None,
            repeat,
            ramp_up: Duration::from_secs(2),
            duration: Duration::from_secs(10),
            until_steady: None,
            stages: None,
            ramp_down: Duration::from_millis(500),
            seed: 42,
            events: Vec::new(),
        },
        sessions: Sessions {
            target: Target {
                domain: String::new(),
                user: "bench".to_owned(),
                host: "files.example".to_owned(),
                port: 445,
                share: "data".to_owned(),
                path: String::new(),
                password: Secret::new(PASSWORD),
                login: Login::Ntlm,
                accounts: Vec::new(),
            },
            options: SessionOptions {
                dialects: Dialect::Smb311.into(),
                signing: Mode::Auto,
                ..SessionOptions::default()
            },
            connections: Connections::default(),
            caching: smbench_model::sessions::Caching::None,
            failover: smbench_model::sessions::Failover::default(),
            churn: smbench_model::sessions::Churn::default(),
        },
        generator: Generator {
            threads: 2,
            pinning: Pinning::Pinned,
            setup_rate: Some(500),
            server_cpu: CpuSource::Processes,
            tcp: smbench_model::generator::TcpCounters::Off,
            server_counters: smbench_model::cpu::CounterSource::Off,
            driver: DriverKind::Native,
            part: smbench_model::part::ClientPart::All,
            parts: smbench_model::part::PartRecords::Merged,
            begin_at: None,
            hooks: Default::default(),
        },
        limits: Limits::default(),
    }
}

/// Returns the CPU record of a remote server without an exporter.
fn server_cpu() -> ServerCpuRecord {
    ServerCpuRecord {
        source: String::new(),
        used: Err("the server is on another machine; give --server-metrics".to_owned()),
    }
}

/// Adds 10 s of CPU time, used by a server with 4 CPUs, to a load point.
pub(crate) fn on_a_busy_server(mut point: LoadPointRecord) -> LoadPointRecord {
    point.server_cpu = ServerCpuRecord {
        source: "http://files.example:9100/metrics".to_owned(),
        used: Ok(ServerCpuUse {
            scope: CpuScope::Machine,
            cores: 4,
            busy: Duration::from_secs(10),
        }),
    };
    point
}

/// Returns a generator of two workers with spare time, one of them on CPU 3.
fn generator() -> GeneratorRecord {
    let worker = |cpu| {
        let mut lateness = lateness_histogram();
        lateness.record_n(20_000, 990).unwrap();
        lateness.record_n(400_000, 10).unwrap();
        WorkerRecord {
            cpu,
            cpu_share: 0.25,
            waiting_share: Some(0.125),
            lateness,
        }
    };
    GeneratorRecord {
        workers: vec![worker(Some(3)), worker(None)],
        machine_busy: Some(0.5),
        ..GeneratorRecord::default()
    }
}

/// Returns a plan of a mix of commands that move no data.
pub(crate) fn metadata_plan(load_points: &[u32]) -> Plan {
    let weighted = |action, weight| WeightedAction { action, weight };
    let mut plan = plan(load_points, 1);
    plan.work.profile = "metadata".to_owned();
    plan.only_mut().workload.sizes = Vec::new();
    plan.only_mut().workload.requests = Requests::Mix(vec![
        weighted(
            Action::QueryInfo {
                class: QueryClass::FsSize,
            },
            30.0,
        ),
        weighted(Action::Echo, 50.0),
        weighted(
            Action::QueryInfo {
                class: QueryClass::Basic,
            },
            20.0,
        ),
    ]);
    plan
}

/// Returns one pass of that mix. Each second of its 10 s window has `echos` echos
/// of 1 ms and the same number of queries of 2 ms.
pub(crate) fn metadata_point(clients: u32, echos: u64) -> LoadPointRecord {
    let mut second = Recorder::default();
    for _ in 0..echos {
        second.success(OpKind::Echo, 0, Nanos(1_000_000));
        second.success(OpKind::QueryFile, 0, Nanos(2_000_000));
    }
    let (ops, series) = seconds(&second);
    LoadPointRecord {
        in_flight: Duration::from_millis(echos * 3 * 10),
        ops,
        series,
        ..point(clients, 1, 0)
    }
}

/// Returns ten equal seconds.
fn seconds(each: &Recorder) -> (Tally, Series) {
    let mut series = Series {
        interval: Duration::from_secs(1),
        ..Series::default()
    };
    let mut ops = Tally::default();
    for second in 0..10 {
        ops.add(each, Phase::Window);
        series.set(second, each);
    }
    (ops, series)
}

/// Adds the operations that `book` records.
pub(crate) fn book(ops: &mut Tally, phase: Phase, book: impl FnOnce(&mut Recorder)) {
    let mut recorder = Recorder::default();
    book(&mut recorder);
    ops.add(&recorder, phase);
}

/// Returns one pass at a load point. Its 10 s window has `reads` reads of 4 KiB at
/// 1 ms in each second. It also has a quarter as many writes at 2 ms, and one flush
/// at 30 ms. Each is made once, because histograms without optimisation take their time.
pub(crate) fn point(clients: u32, repeat: u32, reads: u64) -> LoadPointRecord {
    static MADE: LazyLock<Mutex<MadePoints>> = LazyLock::new(Mutex::default);
    let known = MADE.lock().unwrap().get(&(clients, repeat, reads)).cloned();
    known.unwrap_or_else(|| {
        let point = made(clients, repeat, reads);
        let mut all = MADE.lock().unwrap();
        all.insert((clients, repeat, reads), point.clone());
        point
    })
}

/// Load points by their clients, pass and reads.
type MadePoints = HashMap<(u32, u32, u64), LoadPointRecord>;

fn made(clients: u32, repeat: u32, reads: u64) -> LoadPointRecord {
    let mut second = Recorder::default();
    for _ in 0..reads {
        second.success(OpKind::Read, 4096, Nanos(1_000_000));
    }
    for _ in 0..reads / 4 {
        second.success(OpKind::Write, 4096, Nanos(2_000_000));
    }
    second.success(OpKind::Flush, 0, Nanos(30_000_000));
    let (mut ops, series) = seconds(&second);
    book(&mut ops, Phase::Outside, |ramp| {
        ramp.success(OpKind::Read, 4096, Nanos(9_000_000));
    });
    let mut session = latency_histogram();
    session.saturating_record_n(5_000_000, clients.into());
    let mut fairness = Fairness::default();
    for _ in 0..clients {
        let operations = (reads + reads / 4 + 1) * 10 / u64::from(clients);
        fairness.add(operations, Nanos(operations * 1000));
    }
    LoadPointRecord {
        clients_at_start: clients,
        drain: Duration::from_millis(3),
        final_flush: None,
        fairness,
        // The summed duration of the window's operations.
        in_flight: Duration::from_millis((reads + reads / 4 * 2 + 30) * 10),
        punctuality: Punctuality::default(),
        clients,
        rate: None,
        repeat,
        window_opened: SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000),
        window: Duration::from_secs(10),
        ops,
        series,
        populations: Vec::new(),
        hosts: Vec::new(),
        clients_served: clients,
        dropouts: Vec::new(),
        invalid: None,
        client: ClientUsage {
            cpu_user: Duration::from_millis(100),
            cpu_system: Duration::from_millis(400),
            max_rss_bytes: 48 << 20,
        },
        server_cpu: server_cpu(),
        tcp: None,
        counters: None,
        generator: generator(),
        setup: SetupRecord {
            connections: clients.into(),
            session,
            elapsed: Duration::from_millis(25),
            attempts: None,
        },
        credit_starved: Duration::from_millis(1),
        held_back: Duration::from_millis(2),
        unsent: 0,
        hooks: Default::default(),
        events: Vec::new(),
        stage: None,
        memory: None,
        stages: Vec::new(),
    }
}

/// Returns the load point as if clients had been lost.
pub(crate) fn dropped(mut point: LoadPointRecord, clients: u32) -> LoadPointRecord {
    point.dropouts = (0..clients)
        .map(|client| Dropout {
            client,
            reason: "connection reset by the server".to_owned(),
            after_s: None,
        })
        .collect();
    point
}

pub(crate) fn run(load_points: Vec<LoadPointRecord>) -> RunRecord {
    let mut clients: Vec<_> = load_points.iter().map(|point| point.clients).collect();
    clients.dedup();
    let repeat = load_points.iter().map(|point| point.repeat).max();
    let server = ServerFacts {
        url: "smb://bench@files.example/data".to_owned(),
        is_here: true,
        logon: Some(Logon::Ntlm),
        dialect: Some(Dialect::Smb311),
        signing: Some(SigningAlgorithm::AesCmac.name()),
        encryption: None,
        max_read: 8 << 20,
        max_write: 8 << 20,
        max_transact: 1 << 20,
        logoff_ends_all: false,
        split: None,
        tree: None,
        populations: Vec::new(),
    };
    let started = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_323_045);
    let plan = plan(&clients, repeat.unwrap_or(1));
    RunRecord {
        load_points,
        outcome: Outcome::Complete,
        ..RunRecord::new(&plan, server, started)
    }
}

pub(crate) fn document(record: &RunRecord) -> RunDoc {
    let disclosure = Disclosure {
        notes: vec!["server and generator share this machine".to_owned()],
        ..Disclosure::default()
    };
    RunDoc::from_record(record, disclosure)
}

/// Returns a run whose throughput rises to a peak at 8 clients and falls again.
pub(crate) fn curve() -> RunRecord {
    run(vec![
        point(1, 1, 400),
        point(4, 1, 1560),
        point(8, 1, 1600),
        point(16, 1, 800),
    ])
}

/// Returns a text without the breaks in its long lines.
pub(crate) fn unwrapped(text: &str) -> String {
    text.lines().fold(String::new(), |mut all, line| {
        let more = line.trim_start_matches(' ');
        let is_more = matches!(line.len() - more.len(), 2 | 9) && !all.is_empty();
        all += if is_more { " " } else { "\n" };
        all + if is_more { more } else { line }
    }) + "\n"
}
