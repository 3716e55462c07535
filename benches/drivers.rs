//! Reads of 4 KiB end to end, natively beside smb-rs: whole runs against the
//! embedded server in this process, so that the time per read has the server's
//! in it. What each driver itself costs is `us/op` of `smbench run --driver`.
//!
//! smb-rs signs; natively both ways are run, and the signed one is the equal.

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use smbench_engine::Cancel;
use smbench_engine::plan::{DriverKind, Limits, Mode, Plan};
use smbench_engine::profile;
use smbench_engine::run::{Unobserved, execute};
use smbench_engine::spec::RunOptions;
use smbench_engine::target::{Secret, Target};
use smbench_lab::{EmbeddedOptions, EmbeddedServer};

const WINDOW: Duration = Duration::from_millis(300);
/// Clients of a run; each has one read in flight.
const CLIENTS: u32 = 4;

fn plan(server: &EmbeddedServer, driver: DriverKind, sign: Mode) -> Plan {
    let (mut target, _) = Target::parse(&server.url()).expect("the lab's URLs are right");
    target.password = Secret::new(server.password());
    let options = RunOptions {
        clients: Some(CLIENTS.to_string().parse().expect("a number is a list")),
        duration: Some(WINDOW),
        ramp_up: Some(Duration::from_millis(50)),
        ramp_down: Some(Duration::ZERO),
        threads: Some(1),
        driver: Some(driver),
        sign: Some(sign),
        ..RunOptions::default()
    };
    let profile = profile::load("read-4k").expect("the profile is built in");
    Plan::resolve(&profile, &options, target, Limits::default(), 1).expect("the plan is sound")
}

/// Wall time of `reads` reads at the rate of a run's window.
fn time_of(reads: u64, plan: &Plan) -> Duration {
    let record = execute(plan, &mut Unobserved, &Cancel::default()).expect("the run succeeds");
    let point = &record.load_points[0];
    assert_eq!(point.invalid, None, "only a clean run is timed");
    let done = point.ops.window_all().count();
    point.window.mul_f64(reads as f64 / done as f64)
}

fn drivers(criterion: &mut Criterion) {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).expect("the server starts");
    let mut group = criterion.benchmark_group("READ of 4 KiB, 4 clients");
    // A sample is a whole run, however many reads criterion asks it for.
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_secs(1));
    for (name, driver, sign) in [
        ("native, unsigned", DriverKind::Native, Mode::Off),
        ("native, signed", DriverKind::Native, Mode::Required),
        ("smb-rs, signed", DriverKind::SmbRs, Mode::Required),
    ] {
        let plan = plan(&server, driver, sign);
        group.bench_function(name, |bench| {
            bench.iter_custom(|reads| time_of(reads, &plan));
        });
    }
    group.finish();
}

criterion_group!(benches, drivers);
criterion_main!(benches);
