//! Servers that violate the protocol. Each case is a script of a relay in front of the
//! embedded server, or of Samba for CIFS, and the way in which a run must end. No run may panic,
//! hang, use excessive memory, or count a tampered answer.

mod cifs;
mod expiry;
pub(crate) mod forge;
mod lies;
mod load;
mod log_ons;
mod protected;
pub(crate) mod relay;
mod setup;

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::record::{OperationFailure, Outcome, RunRecord};
use smbench_model::sessions::Mode;
use smbench_model::spec::RunOptions;
use smbench_model::spec::WorkSpec;
use smbench_model::target::Target;

use crate::support::{plan, target};
use relay::{Of, Relay, Script};

/// Number of clients of a run.
const CLIENTS: u64 = 2;
/// A run that lasts longer than this hangs. The longest one takes a few seconds, but minutes on
/// a busy machine.
const HANG: Duration = Duration::from_secs(600);
/// Maximum growth of the process over a whole table. The embedded server with its
/// files, the relay and the client run in this process, and perhaps other tests.
const GROWTH_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// The way in which a run must end.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The run does not start, for this reason.
    Refused(&'static str),
    /// Every client drops out, for this reason.
    Dropped(&'static str),
    /// The run does not start, because of a time limit.
    TimedOut(&'static str),
    /// Every client drops out, because of a time limit.
    Stalled(&'static str),
    /// Operations fail and are counted as this; the run continues.
    Counted(OpKind, OperationFailure),
    /// The run is valid, but files remain on the share.
    Leftover(&'static str),
    /// The run is valid.
    Valid,
}

impl End {
    /// Returns short limits if one of them must be reached, else limits that a busy
    /// machine does not reach.
    fn limits(self) -> Limits {
        let short = Duration::from_millis(700);
        let mut limits = Limits {
            connect: Duration::from_secs(10),
            setup: Duration::from_secs(10),
            operation: Duration::from_secs(10),
        };
        match self {
            Self::TimedOut(_) => limits.setup = short,
            Self::Stalled(_) => limits.operation = short,
            _ => {}
        }
        limits
    }

    /// Returns a window that ends only when every client has dropped out, even on a
    /// slow machine; `None` if any window will do.
    fn window(self) -> Option<Duration> {
        let is_cut_short = matches!(self, Self::Dropped(_) | Self::Stalled(_));
        is_cut_short.then_some(Duration::from_secs(60))
    }
}

/// One hostile server.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    /// Messages that the script sees.
    of: Of,
    script: Script,
    end: End,
}

/// A server without faults, behind the relay.
trait Sound {
    fn address(&self) -> SocketAddr;
    fn target(&self) -> Target;
    /// Returns the paths of everything on the share.
    fn paths(&self) -> Vec<String>;
}

impl Sound for EmbeddedServer {
    fn address(&self) -> SocketAddr {
        self.address()
    }

    fn target(&self) -> Target {
        target(&self.url(), self.password())
    }

    fn paths(&self) -> Vec<String> {
        self.memory().paths()
    }
}

/// Runs every case of a table with these options.
fn check(cases: &[Case], profile: &str, options: &RunOptions) {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    check_on(&server, cases, profile, options);
}

fn check_on(server: &impl Sound, cases: &[Case], profile: &str, options: &RunOptions) {
    let before = resident_bytes();
    for case in cases {
        check_case(case, server, profile, options);
    }
    let growth = resident_bytes().saturating_sub(before);
    assert!(growth < GROWTH_BYTES_MAX, "grown by {growth} bytes");
}

fn check_case(case: &Case, server: &impl Sound, profile: &str, options: &RunOptions) {
    let Case {
        name,
        of,
        script,
        end,
    } = *case;
    let relay = Relay::start(server.address(), of, script);
    let mut target = server.target();
    target.port = relay.port();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            file_size: Some("64KiB".parse().unwrap()),
            duration: end.window().or(options.work.duration),
            ..options.work.clone()
        },
        ..options.clone()
    };
    let mut plan = plan(profile, &options, target);
    plan.limits = end.limits();
    let outcome = run_watched(name, plan);
    assert!(relay.seen() > 0, "{name}: the script saw nothing");
    match (end, outcome) {
        (End::Refused(reason) | End::TimedOut(reason), outcome) => {
            let error = outcome.err().unwrap_or_else(|| panic!("{name}: it ran"));
            assert!(error.contains(reason), "{name}: {error}");
            assert!(!error.contains('\n'), "{name}: {error}");
        }
        (end, Err(error)) => panic!("{name}: {error} instead of {end:?}"),
        (end, Ok(record)) => {
            check_record(name, end, &record);
            let mode = Some(Mode::Required);
            if options.sessions.sign == mode || options.sessions.encrypt == mode {
                let reads = record.load_points[0].ops.whole(OpKind::Read).count;
                let genuine = relay.genuine();
                assert!(reads <= genuine, "{name}: {reads} of {genuine}");
            }
        }
    }
    // A new session can find and remove the remaining files, even if the last
    // session was broken.
    drop(relay);
    if !matches!(end, End::Leftover(_)) {
        let left = server.paths();
        assert_eq!(left, Vec::<String>::new(), "{name}");
    }
}

fn check_record(name: &str, end: End, record: &RunRecord) {
    let [point] = &record.load_points[..] else {
        panic!("{name}: one load point was asked for");
    };
    let context = format!("{name}: {:?} {:?}", record.outcome, point.dropouts);
    match end {
        End::Dropped(reason) | End::Stalled(reason) => {
            assert_eq!(point.dropouts.len() as u64, CLIENTS, "{context}");
            for dropout in &point.dropouts {
                assert!(dropout.reason.contains(reason), "{context}");
            }
            assert!(point.invalid.is_some(), "{context}");
            assert!(matches!(record.outcome, Outcome::Aborted(_)), "{context}");
        }
        End::Counted(kind, failure) => {
            let failures = point.ops.failures();
            let context = format!("{context} {failures:?}");
            assert!(failures.contains_key(&(kind, failure)), "{context}");
            assert_eq!(failures.len(), 1, "{context}");
            assert_eq!(point.dropouts, [], "{context}");
            assert!(point.invalid.is_some(), "{context}");
            assert_eq!(record.outcome, Outcome::Complete, "{context}");
        }
        End::Leftover(reason) => {
            let leftover = record.leftover.as_deref().unwrap_or_default();
            assert!(leftover.contains(reason), "{context}: {leftover}");
        }
        End::Valid => {
            assert_eq!(point.ops.errors(), 0, "{context}");
            assert_eq!(point.dropouts, [], "{context}");
            assert_eq!(record.outcome, Outcome::Complete, "{context}");
            assert!(point.ops.whole(OpKind::Read).count > 0, "{context}");
        }
        End::Refused(_) | End::TimedOut(_) => panic!("{context}: it ran"),
    }
}

/// Returns the run's record or error. Fails if the run panics or does not end.
fn run_watched(name: &str, plan: Plan) -> Result<RunRecord, String> {
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        let record = execute(&plan, &mut Unobserved, &Cancel::default());
        // The receiver is gone after a time-out.
        let _ = done.send(record.map_err(|error| error.to_string()));
    });
    match ended.recv_timeout(HANG) {
        Ok(outcome) => outcome,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{name}: hangs"),
        Err(mpsc::RecvTimeoutError::Disconnected) => panic!("{name}: panicked"),
    }
}

/// Returns the largest resident size of this process so far.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib: u64 = line
        .and_then(|line| line.split_whitespace().nth(1))
        .and_then(|kib| kib.parse().ok())
        .unwrap();
    kib * 1024
}
