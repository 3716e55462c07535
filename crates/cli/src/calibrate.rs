//! `smbench calibrate`: measures the highest load that this machine can generate.
//! With it, a reader of results can distinguish a slow server from a slow client.
//!
//! There are three targets, each cheaper than the one before:
//!
//! - the embedded server
//! - a process that moves the same number of bytes on bare sockets
//! - no target at all
//!
//! Each is measured with one thread, which uses one core, and with one thread per
//! core. Targets run in a separate process, so that CPU times are the generator's
//! alone. Not here: the calibration's document and texts
//! ([`smbench_report::calibration`]).

mod sysbench;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use smbench_engine::Cancel;
use smbench_engine::driver::Null;
use smbench_engine::loopback::{self, Loopback};
use smbench_engine::run::SessionError;
use smbench_engine::run::{self, PlannedRun, RunError, Unobserved};
use smbench_model::access::Access;
use smbench_model::cpu::CpuSource;
use smbench_model::files::Scope;
use smbench_model::limits::Limits;
use smbench_model::operations::{Drawn, Mix};
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::record::{RunRecord, ServerFacts};
use smbench_model::spec::{FilesSpec, GeneratorSpec, RunOptions, SizeSpec, Spec, WorkSpec};
use smbench_model::target::Target;
use smbench_model::units::Size;
use smbench_report::calibration::CALIBRATION_FILE;
use smbench_report::doc::{
    CalibrationDoc, CeilingDoc, CeilingTarget, MachineDoc, SCHEMA_VERSION, ToolDoc,
};
use smbench_report::units::{counted, plain};
use smbench_report::{Disclosure, RunDoc, ServerLocation};

use crate::args::{CalibrateArgs, CalibrationSource, Destination};
use crate::embedded::{Embedded, Responder};
use crate::failure::{Exit, Failure};
use crate::output::print;
use crate::progress::{ProgressLine, Visibility};
use crate::results::{check_writable, make_folder};
use crate::signals;

/// Time under load before and after each window.
const RAMP: Duration = Duration::from_millis(100);
/// Length of each window if a suite measures the ceilings before it begins.
pub(crate) const QUICK: Duration = Duration::from_millis(200);

/// Targets that an operation is measured with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TargetSet {
    /// Every target, with one thread and with all.
    Whole,
    /// Only the embedded server, which runs are compared with. Used for large
    /// requests, which take long.
    Server,
}

/// Measured operations: share of reads in percent, bytes, and targets. A run is
/// compared with sizes that differ by a factor of up to four: from 1 KiB to 4 MiB.
const OPERATIONS: [(f64, u64, TargetSet); 6] = [
    (100.0, 4 << 10, TargetSet::Whole),
    (100.0, 64 << 10, TargetSet::Whole),
    (100.0, 1 << 20, TargetSet::Server),
    (0.0, 4 << 10, TargetSet::Whole),
    (0.0, 64 << 10, TargetSet::Whole),
    (0.0, 1 << 20, TargetSet::Server),
];

/// Returns the number of clients per thread: enough that an answer is always
/// waiting. Slow answers need fewer clients.
const fn clients_per_thread(extent: TargetSet) -> u32 {
    match extent {
        TargetSet::Whole => 16,
        TargetSet::Server => 4,
    }
}

/// Measures all ceilings, then prints and saves them.
pub(crate) fn calibrate(args: &CalibrateArgs) -> Result<Exit, Failure> {
    let path = args.out.join(CALIBRATION_FILE);
    if let Some(Destination::File(path)) = &args.document.json {
        check_writable(path)?;
    }
    make_folder(&args.out).map_err(Failure::write_results(&args.out))?;
    check_writable(&path)?;
    let line = ProgressLine::new(Visibility::unless(args.document.quiet));
    let cancel = Cancel::default();
    signals::stop_on_interrupt(&cancel, &line, String::new())?;
    let doc = measured(args.duration, &line, &cancel)?;
    line.clear();
    let is_text = args.document.json != Some(Destination::Stdout);
    // Do both even if one fails, so that neither result is lost.
    let saved = doc.save(&path);
    print(&if is_text { text(&doc) } else { doc.to_json() })?;
    saved?;
    if let Some(Destination::File(path)) = &args.document.json {
        std::fs::write(path, doc.to_json()).map_err(Failure::write(path))?;
    }
    if is_text {
        print(&format!("\ncalibration: {}\n", path.display()))?;
    }
    Ok(Exit::Done)
}

fn text(doc: &CalibrationDoc) -> String {
    let mut text = doc.table().to_text();
    text.extend(doc.sysbench_lines().iter().map(|line| format!("{line}\n")));
    text
}

/// Answers on bare sockets until standard input ends.
pub(crate) fn respond() -> Result<Exit, Failure> {
    let failed = || Failure::io("answer on the loopback interface");
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failed())?;
    let address = listener.local_addr().map_err(failed())?;
    thread::spawn(move || {
        // The measuring process notices that there are no more answers.
        let _ = loopback::serve(&listener);
    });
    print(&format!("{address}\n"))?;
    // An unreadable input counts as ended.
    let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
    Ok(Exit::Done)
}

/// Saves the calibration that a study is compared with. A given file replaces the
/// study's calibration. Without one, the study's calibration stays, or a new one is
/// measured.
pub(crate) fn keep(
    source: Option<&CalibrationSource>,
    folder: &Path,
    line: &ProgressLine,
    cancel: &Cancel,
) -> Result<(), Failure> {
    let path: PathBuf = folder.join(CALIBRATION_FILE);
    let doc = match source {
        Some(CalibrationSource::Off) => return Ok(()),
        Some(CalibrationSource::File(path)) => CalibrationDoc::load(path)?,
        None if path.exists() => return Ok(()),
        None => match measured(QUICK, line, cancel) {
            Err(Failure::Interrupted) => return Ok(()),
            measured => measured?,
        },
    };
    Ok(doc.save(&path)?)
}

/// Measures all ceilings, each for this time.
fn measured(
    duration: Duration,
    line: &ProgressLine,
    cancel: &Cancel,
) -> Result<CalibrationDoc, Failure> {
    let now = SystemTime::now().max(SystemTime::UNIX_EPOCH);
    let machine = MachineDoc::this();
    let cores = machine.cpus.unwrap_or(1);
    let (_server, target) = Embedded::start()?;
    let (_responder, address) = Responder::start()?;
    let mut threads = vec![1, cores];
    threads.dedup();
    let mut ceilings = Vec::new();
    for answers in CeilingTarget::ALL {
        for (read_percent, bytes, extent) in OPERATIONS {
            if extent == TargetSet::Server && answers != CeilingTarget::Embedded {
                continue;
            }
            for &threads in &threads {
                let op = if read_percent > 0.0 { "read" } else { "write" };
                line.show_within(format!(
                    "calibration: {}, {op} {}, {}",
                    answers.name(),
                    Size(bytes),
                    counted(threads.into(), "thread")
                ));
                let clients = threads * clients_per_thread(extent);
                let plan = plan(&target, read_percent, bytes, threads, clients, duration)?;
                let record = match answers {
                    CeilingTarget::Embedded => run::execute(&plan, &mut Unobserved, cancel),
                    CeilingTarget::Null => alone(&plan, Null, "null", cancel),
                    CeilingTarget::Loopback => {
                        alone(&plan, Loopback { server: address }, "loopback", cancel)
                    }
                };
                if cancel.is_cancelled() {
                    return Err(Failure::Interrupted);
                }
                ceilings.push(CeilingDoc {
                    target: answers,
                    op: op.to_owned(),
                    bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
                    threads,
                    clients: plan.max_clients(),
                    ..ceiling(record)
                });
            }
        }
    }
    line.show_within("calibration: sysbench".to_owned());
    let sysbench = sysbench::measured(cores);
    Ok(CalibrationDoc {
        schema_version: SCHEMA_VERSION,
        tool: ToolDoc::this(),
        started: humantime::format_rfc3339_seconds(now).to_string(),
        machine,
        duration_s: duration.as_secs_f64(),
        ceilings,
        sysbench,
    })
}

fn plan(
    target: &Target,
    read_percent: f64,
    bytes: u64,
    threads: u32,
    clients: u32,
    duration: Duration,
) -> Result<Plan, Failure> {
    let spec = Spec {
        read_percent: Some(read_percent),
        access: Some(Access::Random),
        files: FilesSpec {
            scope: Some(Scope::Private),
            count: Some(1),
            size: Some(Size(1 << 20)),
        },
        sizes: vec![SizeSpec {
            size: Size(bytes),
            weight: 100.0,
        }],
        ..Spec::default()
    };
    let options = RunOptions {
        work: WorkSpec {
            clients: clients.to_string().parse().ok(),
            ramp_up: Some(RAMP),
            duration: Some(duration),
            ramp_down: Some(Duration::ZERO),
            ..WorkSpec::default()
        },
        generator: GeneratorSpec {
            threads: Some(threads),
            server_cpu: Some(CpuSource::Off),
            ..GeneratorSpec::default()
        },
        ..RunOptions::default()
    };
    let profile = Profile::from_spec("calibration", spec);
    let limits = Limits::default();
    Ok(Plan::resolve(
        &profile,
        &options,
        target.clone(),
        limits,
        threads,
    )?)
}

/// Runs a plan against a target that is not an SMB server.
fn alone(
    plan: &Plan,
    connector: impl smbench_engine::driver::Connector,
    name: &str,
    cancel: &Cancel,
) -> Result<RunRecord, RunError> {
    let drawn = Drawn {
        mix: Mix::new(&plan.only().workload),
        seed: plan.work.seed,
    };
    let server = ServerFacts::other(&format!("{name}://here"));
    let run = PlannedRun::of(plan).on_target(server, connector, drawn);
    run::execute(run, &mut Unobserved, cancel)
}

/// Returns the figures of a run with one load point.
fn ceiling(record: Result<RunRecord, RunError>) -> CeilingDoc {
    let none = CeilingDoc {
        target: CeilingTarget::Null,
        op: String::new(),
        bytes: 0,
        threads: 0,
        clients: 0,
        ops_per_s: None,
        throughput_mbps: None,
        cpu_us_per_op: None,
        not_measured: None,
    };
    let missing = |reason: String| CeilingDoc {
        not_measured: Some(reason),
        ..none.clone()
    };
    let disclosure = Disclosure {
        place: ServerLocation::Embedded,
        ..Disclosure::default()
    };
    let doc = match record.map(|record| RunDoc::from_record(&record, disclosure)) {
        Ok(doc) => doc,
        Err(error) => return missing(plain(&error.to_string())),
    };
    match doc.load_points.first() {
        Some(point) if point.valid => CeilingDoc {
            ops_per_s: Some(point.ops_per_s),
            throughput_mbps: Some(point.throughput_mbps),
            cpu_us_per_op: point.client.cpu_us_per_op,
            ..none
        },
        Some(point) => {
            let reason = point.invalid_reason.as_deref();
            missing(reason.unwrap_or("no reason given").to_owned())
        }
        None => missing(SessionError::Interrupted.to_string()),
    }
}
