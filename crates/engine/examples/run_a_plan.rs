//! A plan made in code and run against a server in this process, then a few figures
//! of its record. `cargo run --release -p smbench-engine --example run_a_plan`.

#![expect(clippy::print_stdout, reason = "that is what it is for")]

use std::error::Error;
use std::time::Duration;

use smbench_engine::{Cancel, Plan, Profile, RunOptions, Target, Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::files::Scope;
use smbench_model::kind::OpKind;
use smbench_model::record::Outcome;
use smbench_model::sessions::Mode;
use smbench_model::spec::{FilesSpec, SizeSpec, Spec};
use smbench_model::spec::{SessionsSpec, WorkSpec};
use smbench_model::units::Size;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    // For a server of your own, give a URL:
    // Target::with_password("smb://alice@nas/bench", password).
    let server = EmbeddedServer::start(EmbeddedOptions::default())?;
    let target = Target::with_password(&server.url(), server.password())?;

    let size = |kib: u64, weight| SizeSpec {
        size: Size(kib << 10),
        weight,
    };
    let spec = Spec {
        read_percent: Some(70.0),
        sizes: vec![size(4, 60.0), size(64, 40.0)],
        files: FilesSpec {
            scope: Some(Scope::Private),
            count: Some(2),
            size: Some(Size(1 << 20)),
        },
        run: RunOptions {
            work: WorkSpec {
                clients: Some("1,4".parse()?),
                duration: Some(Duration::from_millis(500)),
                ramp_up: Some(Duration::from_millis(100)),
                ramp_down: Some(Duration::ZERO),
                ..WorkSpec::default()
            },
            sessions: SessionsSpec {
                sign: Some(Mode::Required),
                ..SessionsSpec::default()
            },
            ..RunOptions::default()
        },
        ..Spec::default()
    };
    let plan = Plan::of(&Profile::from_spec("embedded", spec), target)?;

    let record = execute(&plan, &mut Unobserved, &Cancel::default())?;
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.leftover, None, "the share is as it was");
    assert_eq!(record.load_points.len(), 2);
    for point in &record.load_points {
        assert_eq!(point.invalid, None, "only valid points may be quoted");
        let all = point.ops.window_all();
        let latency = all.latency();
        println!(
            "{} clients: {:.0} operations/s, {} bytes, p50 {} ns, p99 {} ns, {} errors",
            point.clients,
            all.count() as f64 / point.window.as_secs_f64(),
            all.bytes,
            latency.value_at_quantile(0.5),
            latency.value_at_quantile(0.99),
            point.ops.errors(),
        );
        let of = |kind| point.ops.whole(kind).count;
        assert!(of(OpKind::Read) > of(OpKind::Write));
    }
    Ok(())
}
