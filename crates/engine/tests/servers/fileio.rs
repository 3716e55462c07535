//! `fileio` tests on the embedded server that end by their event count, or by a
//! cancel before that.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{MeasuredInterval, Observer, Progress, Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::fileio::{FileOrigin, Fileio, Flushing, RequestSpread, TestMode};
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::record::{LoadPointRecord, Outcome, RunRecord};
use smbench_model::spec::{GeneratorSpec, WorkSpec};
use smbench_model::spec::{RunOptions, Spec};
use smbench_model::target::Target;
use smbench_model::units::Size;
use smbench_protocol::header::Command;

use crate::hostile::relay::{Of, Reaction, Relay, Script};
use crate::support::target;

/// Longer than any run here.
const HANG: Duration = Duration::from_secs(120);

fn embedded() -> EmbeddedServer {
    EmbeddedServer::start(EmbeddedOptions::default()).unwrap()
}

/// Four files of 16 blocks, written one after the other, and flushed at the end.
fn test(events: Option<u64>) -> Fileio {
    Fileio {
        mode: TestMode::SeqReWr,
        files: 4,
        total: Size(4 << 16),
        block: Size(4096),
        merged: 0,
        flushing: Flushing::Sets {
            every: None,
            at_end: true,
        },
        rw_ratio: 1.5,
        spread: RequestSpread::Uniform,
        events,
        time: events.is_none().then_some(HANG),
        home: FileOrigin::Own,
    }
}

/// Makes a plan with three clients on two threads.
fn plan(test: Fileio, passes: u32, target: Target) -> Plan {
    let profile = Profile {
        fileio: Some(test),
        ..Profile::from_spec("fileio", Spec::default())
    };
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("3".parse().unwrap()),
            duration: Some(HANG),
            repeat: Some(passes),
            ..WorkSpec::default()
        },
        generator: GeneratorSpec {
            threads: Some(2),
            ..GeneratorSpec::default()
        },
        ..RunOptions::default()
    };
    Plan::resolve(&profile, &options, target, Limits::default(), 2).unwrap()
}

/// Collects the intervals of a run.
#[derive(Default)]
struct Intervals {
    /// For each load point: the end of its last interval, from the start of the
    /// window, and the number of completed operations.
    of_points: Vec<(Duration, u64)>,
    /// Cancelled at the first progress report under load.
    cancel: Option<Cancel>,
}

impl Observer for Intervals {
    fn progress(&mut self, progress: &Progress) {
        if let (Progress::Running { .. }, Some(cancel)) = (progress, &self.cancel) {
            cancel.cancel();
        }
    }

    fn interval_ended(&mut self, interval: &MeasuredInterval<'_>) {
        let at = interval.point.number as usize;
        self.of_points
            .resize(at.max(self.of_points.len()), (Duration::ZERO, 0));
        let (end, count) = &mut self.of_points[at - 1];
        *end = Duration::from_secs(interval.index.into()) + interval.length;
        *count += interval.ops.all().count();
    }

    fn load_point_ended(&mut self, _: &RunRecord) {}
}

/// Checks that the last interval is exactly as long as the load in it.
fn check_intervals(record: &RunRecord, intervals: &Intervals) {
    assert_eq!(record.load_points.len(), intervals.of_points.len());
    for (point, &(end, count)) in record.load_points.iter().zip(&intervals.of_points) {
        assert_eq!(end, point.window);
        assert_eq!(count, point.ops.window_all().count());
        assert_eq!(
            count,
            point.series.all.iter().map(|of| of.count).sum::<u64>()
        );
    }
}

fn written(point: &LoadPointRecord) -> u64 {
    point.ops.window(OpKind::Write).count()
}

#[test]
fn each_load_point_has_its_events_and_ends_with_the_last() {
    let server = embedded();
    let target = target(&server.url(), server.password());
    let plan = plan(test(Some(100)), 2, target);
    let mut intervals = Intervals::default();
    let record = execute(&plan, &mut intervals, &Cancel::default()).unwrap();
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.load_points.len(), 2);
    for point in &record.load_points {
        assert_eq!(point.invalid, None);
        assert_eq!(written(point), 100);
        assert!(point.window < HANG);
        // No operation was in flight when the events were used up.
        assert_eq!(point.drain, Duration::ZERO);
        // One for each client and each file.
        assert_eq!(point.ops.whole(OpKind::FinalFlush).count, 3 * 4);
    }
    check_intervals(&record, &intervals);
}

#[test]
fn a_cancelled_window_ends_with_the_cancel() {
    let server = embedded();
    let target = target(&server.url(), server.password());
    let plan = plan(test(None), 1, target);
    let cancel = Cancel::default();
    let mut intervals = Intervals {
        cancel: Some(cancel.clone()),
        ..Intervals::default()
    };
    let record = execute(&plan, &mut intervals, &cancel).unwrap();
    assert_eq!(record.outcome, Outcome::Interrupted);
    let point = &record.load_points[0];
    let length = point.window.as_secs_f64();
    let reason = point.invalid.as_deref().unwrap();
    let text = reason.strip_prefix("interrupted after ").unwrap();
    let (after, planned) = text.split_once(" s of ").unwrap();
    assert!(
        (after.parse::<f64>().unwrap() - length).abs() < 0.1,
        "{reason}"
    );
    assert_eq!(planned, format!("{} s", HANG.as_secs()));
    assert_eq!(point.ops.whole(OpKind::FinalFlush).count, 0);
    assert!(written(point) > 0);
    assert!(!point.drain.is_zero());
    check_intervals(&record, &intervals);
}

/// Number of answered FLUSHes, of those sent after the load.
const ANSWERED: u64 = 2;

/// The server stops answering while files are flushed. A cancelled run keeps all
/// measurements, and leaves nothing on the share.
#[test]
fn a_cancel_while_files_are_flushed_in_the_end_loses_nothing() {
    let script: Script = |answer| {
        if answer.nth < ANSWERED {
            Reaction::send(&answer.message)
        } else {
            Reaction::raw(Vec::new())
        }
    };
    let server = embedded();
    let relay = Relay::start(server.address(), Of::Command(Command::Flush), script);
    let mut target = target(&server.url(), server.password());
    target.port = relay.port();
    let plan = plan(test(Some(100)), 1, target);
    let cancel = Cancel::default();
    let (done, ended) = mpsc::channel();
    let running = thread::spawn({
        let cancel = cancel.clone();
        move || {
            let record = execute(&plan, &mut Unobserved, &cancel);
            // The receiver is gone after a time-out.
            let _ = done.send(record);
        }
    });
    // All three clients have sent a FLUSH that is never answered.
    while relay.seen() < ANSWERED + 3 && !running.is_finished() {
        thread::sleep(Duration::from_millis(1));
    }
    cancel.cancel();
    let record = ended.recv_timeout(HANG).unwrap().unwrap();
    assert_eq!(record.outcome, Outcome::Interrupted);
    assert_eq!(record.leftover, None);
    assert_eq!(server.memory().paths(), Vec::<String>::new());
    let point = &record.load_points[0];
    assert_eq!(
        point.invalid.as_deref(),
        Some("interrupted in the work after the window")
    );
    assert_eq!(written(point), 100);
    assert_eq!(point.ops.errors(), 0);
    assert_eq!(point.ops.whole(OpKind::FinalFlush).count, ANSWERED);
    assert_eq!(point.ops.window_all().count(), 100);
    let final_flush = point.final_flush.unwrap();
    assert!(!final_flush.is_zero(), "{final_flush:?}");
}
