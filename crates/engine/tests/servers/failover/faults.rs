//! Servers that lose acknowledged writes, or apply an old one again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use smbench_engine::{Cancel, Observer, Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::progress::Progress;
use smbench_model::record::{FinalRead, LoadPointRecord, RunRecord, WrongPlace};
use smbench_model::spec::SessionsSpec;
use smbench_protocol::header::Command;

use super::faulty::{Fault, FaultyRelay};
use super::options;
use crate::hostile::relay::{Of, Reaction, Relay, Script};
use crate::support::target;

/// A client writes and reads places of one size.
const PROFILE: &str = "name = \"places\"\n\
    files = { count = 1, size = \"32KiB\" }\n\
    sizes = [{ size = \"4KiB\", weight = 100 }]\n\
    operations = [{ op = \"write\", weight = 50 }, { op = \"read\", weight = 50 }]\n";
/// A client only writes, to so many places that some faults are left at the end.
const WRITES: &str = "name = \"writes\"\n\
    files = { count = 1, size = \"4MiB\" }\n\
    sizes = [{ size = \"4KiB\", weight = 100 }]\n\
    operations = [{ op = \"write\", weight = 100 }]\n";

/// Plans a client whose connections are carried by a relay with this port.
fn plan_through(
    port: u16,
    server: &EmbeddedServer,
    profile: &str,
    reconnect: Option<Duration>,
) -> Plan {
    let mut target = target(&server.url(), server.password());
    target.port = port;
    let mut options = options(1, Duration::from_secs(2), SessionsSpec::default());
    options.work.file_size = None;
    options.sessions.reconnect = reconnect;
    let profile = Profile::parse("places", profile).unwrap();
    Plan::resolve(&profile, &options, target, Limits::default(), 1).unwrap()
}

/// Runs a client through a relay.
fn run_through(
    relay: &FaultyRelay,
    server: &EmbeddedServer,
    profile: &str,
    reconnect: Option<Duration>,
) -> LoadPointRecord {
    let plan = plan_through(relay.port, server, profile, reconnect);
    let mut record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    record.load_points.remove(0)
}

/// Checks that the load point names the faults that READs must have found, and each once.
fn assert_named(point: &LoadPointRecord, wrong_reads: &[u64], fault: Fault) {
    let faults = point.ops.faults();
    assert_eq!(faults.lost, wrong_reads.len() as u64, "{fault:?}");
    assert_eq!((faults.doubled, faults.torn), (0, 0), "{fault:?}");
    let named = point.ops.wrong_places();
    let offsets: Vec<_> = named.iter().map(|place| place.offset).collect();
    let kept = wrong_reads.len().min(WrongPlace::KEPT_MAX);
    assert_eq!(offsets, wrong_reads[..kept], "{fault:?}");
    for place in named {
        assert_eq!(place.client, 0);
        let found = format!("the block at {} holds generation ", place.offset);
        assert!(place.found.starts_with(&found), "{place}");
    }
    let reason = point.invalid.as_ref().unwrap();
    let first = format!("wrong data first at {}", named[0]);
    assert!(reason.contains(&first), "{reason}");
}

/// The server loses some writes and repeats older ones. The first READ of such a place is named
/// with its file and its offset, and no other READ is. Each fault counts once.
#[test]
fn each_write_that_is_lost_or_repeated_is_named_when_it_is_read() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    for fault in [Fault::Drop, Fault::Repeat] {
        let relay = FaultyRelay::start(server.address(), fault, 50);
        let point = run_through(&relay, &server, PROFILE, None);
        let wrong_reads = relay.wrong_reads();
        // Most places are read before they are written again.
        assert!(
            !relay.faults().is_empty() && !wrong_reads.is_empty(),
            "{fault:?}"
        );
        assert_named(&point, &wrong_reads, fault);
        assert!(point.ops.wrong_places().iter().all(|place| place.file == 0));
        assert_eq!(point.ops.verification().final_read, None);
    }
}

/// Clients that can come back read what they have written once more after their load. So they
/// find each fault that is still there, also if they never read under load.
#[test]
fn a_write_that_is_lost_or_repeated_is_found_without_a_read_under_load() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    for fault in [Fault::Drop, Fault::Repeat] {
        for profile in [WRITES, PROFILE] {
            let relay = FaultyRelay::start(server.address(), fault, 10);
            let point = run_through(&relay, &server, profile, Some(Duration::from_secs(60)));
            assert!(relay.unread().is_empty(), "{fault:?}");
            let wrong_reads = relay.wrong_reads();
            assert!(!wrong_reads.is_empty(), "{fault:?}");
            assert_named(&point, &wrong_reads, fault);
            let FinalRead { due, checked } = point.ops.verification().final_read.unwrap();
            assert!(due >= 8 && due == checked, "{checked} of {due}");
            assert_eq!(point.final_flush, None);
            assert_eq!(point.dropouts, []);
        }
    }
}

/// Whether the observer has seen what clients are to read after their load.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// Lets the server answer READs once their progress is shown.
struct WhenShown;

impl Observer for WhenShown {
    fn progress(&mut self, progress: &Progress) {
        if let Progress::ReadingBack { done, total, .. } = progress {
            assert!(done <= total, "{progress:?}");
            IS_SHOWN.store(true, Ordering::SeqCst);
        }
    }

    fn load_point_ended(&mut self, _: &RunRecord) {}
}

/// READs after the load may take long, so that their progress is shown while they last.
#[test]
fn what_clients_read_after_their_load_is_shown() {
    /// Ends the test if it is never shown.
    const LONGEST: Duration = Duration::from_secs(40);
    let script: Script = |answer| {
        let begun = Instant::now();
        while !IS_SHOWN.load(Ordering::SeqCst) && begun.elapsed() < LONGEST {
            thread::sleep(Duration::from_millis(5));
        }
        Reaction::send(&answer.message)
    };
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let relay = Relay::start(server.address(), Of::Command(Command::Read), script);
    let reconnect = Some(Duration::from_secs(60));
    let plan = plan_through(relay.port(), &server, WRITES, reconnect);
    let record = execute(&plan, &mut WhenShown, &Cancel::default()).unwrap();
    assert!(IS_SHOWN.load(Ordering::SeqCst));
    let point = &record.load_points[0];
    assert_eq!(point.dropouts, []);
    let FinalRead { due, checked } = point.ops.verification().final_read.unwrap();
    assert!(due > 0 && due == checked, "{checked} of {due}");
}
