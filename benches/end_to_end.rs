//! Benchmarks of whole runs against the embedded server in this process. The
//! time per operation includes the server's.
//!
//! Not here: the cost of a driver alone, which is `us/op` of `smbench run`, and
//! the comparison with other clients, which `benches/yardsticks.sh` makes.

use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use smbench_benches::plan_for;
use smbench_engine::Cancel;
use smbench_engine::driver::Null;
use smbench_engine::run::{PlannedRun, Unobserved, execute};
use smbench_formats::profile;
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::generator::DriverKind;
use smbench_model::operations::{Drawn, Mix};
use smbench_model::plan::Plan;
use smbench_model::record::{RunRecord, ServerFacts};
use smbench_model::sessions::Mode;
use smbench_model::spec::RunOptions;
use smbench_model::spec::{GeneratorSpec, SessionsSpec, WorkSpec};
use smbench_model::target::Target;

const WINDOW: Duration = Duration::from_millis(300);
/// Number of clients of a run.
const CLIENTS: u32 = 4;
/// Path of a profile in this folder.
const SEQUENTIAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/gigabit/sequential-64k.toml");

/// Options of a run that is one sample.
fn quick() -> RunOptions {
    RunOptions {
        work: WorkSpec {
            clients: Some(CLIENTS.to_string().parse().expect("a number is a list")),
            duration: Some(WINDOW),
            ramp_up: Some(Duration::from_millis(50)),
            ramp_down: Some(Duration::ZERO),
            ..WorkSpec::default()
        },
        generator: GeneratorSpec {
            threads: Some(1),
            ..GeneratorSpec::default()
        },
        ..RunOptions::default()
    }
}

fn plan(server: &EmbeddedServer, profile: &str, options: RunOptions) -> Plan {
    let options = options.or(quick());
    plan_for(&server.url(), server.password(), profile, &options).expect("the plan is sound")
}

/// Returns the wall time of `operations` operations, at the rate of a run's window.
fn time_of(operations: u64, plan: &Plan) -> Duration {
    let record = execute(plan, &mut Unobserved, &Cancel::default()).expect("the run succeeds");
    time_in(operations, &record)
}

fn time_in(operations: u64, record: &RunRecord) -> Duration {
    let point = &record.load_points[0];
    assert_eq!(point.invalid, None, "only a clean run is timed");
    let done = point.ops.window_all().count();
    point.window.mul_f64(operations as f64 / done as f64)
}

/// Makes a group in which each sample is a whole run. The number of operations
/// that criterion asks for has no effect on the run.
fn of_runs<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_secs(1));
    group
}

fn server() -> EmbeddedServer {
    EmbeddedServer::start(EmbeddedOptions::default()).expect("the server starts")
}

/// Compares drivers. smb-rs always signs, so only the signed native run is its
/// equal.
fn drivers(criterion: &mut Criterion) {
    let server = server();
    let mut group = of_runs(criterion, "READ of 4 KiB, 4 clients");
    for (name, driver, sign) in [
        ("native, unsigned", DriverKind::Native, Mode::Off),
        ("native, signed", DriverKind::Native, Mode::Required),
        ("smb-rs, signed", DriverKind::SmbRs, Mode::Required),
    ] {
        let options = RunOptions {
            generator: GeneratorSpec {
                driver: Some(driver),
                ..GeneratorSpec::default()
            },
            sessions: SessionsSpec {
                sign: Some(sign),
                ..SessionsSpec::default()
            },
            ..RunOptions::default()
        };
        let plan = plan(&server, "read-4k", options);
        group.bench_function(name, |bench| {
            bench.iter_custom(|reads| time_of(reads, &plan));
        });
    }
    group.finish();
}

fn operations(criterion: &mut Criterion) {
    let server = server();
    let mut group = of_runs(criterion, "operation, 4 clients");
    for (name, profile, outstanding) in [
        ("read-4k", "read-4k", 1),
        ("read-4k, 16 outstanding", "read-4k", 16),
        ("sequential-64k", SEQUENTIAL, 1),
        ("file-server", "file-server", 1),
        ("metadata", "metadata", 1),
    ] {
        let options = RunOptions {
            work: WorkSpec {
                outstanding: Some(outstanding),
                ..WorkSpec::default()
            },
            sessions: SessionsSpec {
                sign: Some(Mode::Off),
                ..SessionsSpec::default()
            },
            ..RunOptions::default()
        };
        let plan = plan(&server, profile, options);
        group.bench_function(name, |bench| {
            bench.iter_custom(|operations| time_of(operations, &plan));
        });
    }
    group.finish();
}

/// Measures only the worker loop and the recording. Nothing is sent.
fn null_target(criterion: &mut Criterion) {
    let server = ServerFacts::other("null://here");
    let mut group = of_runs(criterion, "operation on the null target, 4 clients");
    for (name, outstanding) in [("read-4k", 1), ("read-4k, 16 outstanding", 16)] {
        let options = RunOptions {
            work: WorkSpec {
                outstanding: Some(outstanding),
                ..quick().work
            },
            ..quick()
        };
        let mut profile = profile::load("read-4k").expect("it is built in");
        profile.spec.run = options;
        let plan = Plan::of(&profile, Target::none()).expect("the plan is sound");
        let drawn = Drawn {
            mix: Mix::new(&plan.only().workload),
            seed: plan.work.seed,
        };
        group.bench_function(name, |bench| {
            bench.iter_custom(|operations| {
                let (server, drawn, cancel) = (server.clone(), drawn.clone(), Cancel::default());
                let run = PlannedRun::of(&plan).on_target(server, Null, drawn);
                let record = execute(run, &mut Unobserved, &cancel);
                time_in(operations, &record.expect("the run succeeds"))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, drivers, operations, null_target);
criterion_main!(benches);
