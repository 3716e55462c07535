//! The end of a window: once the load is steady, on time, and when cancelled.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{Observer, Progress, Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::record::{Outcome, RunRecord};
use smbench_model::spec::{RunOptions, WorkSpec};
use smbench_protocol::header::Command;

use super::{HANG, options, run};
use crate::hostile::relay::{Of, Reaction, Relay, Script};
use crate::support::{plan, target};

/// The end of the window is known while it is open. Each operation still counts once, in
/// or outside. A machine that is never steady comes to the longest window.
#[test]
fn a_window_ends_once_the_load_is_steady() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let options = RunOptions {
        work: WorkSpec {
            rate: Some("200".parse().unwrap()),
            clients: Some("2".parse().unwrap()),
            until_steady: Some(Duration::from_secs(20)),
            ..options().work
        },
        ..options()
    };
    let point = run(&server, &options);
    let window = point.window;
    // Five intervals, and the one that is needed to end them.
    assert!((6..=20).contains(&window.as_secs()), "{window:?}");
    assert_eq!(window.subsec_nanos(), 0);
    let intervals = point.series.all.iter().map(|interval| interval.count);
    assert_eq!(
        intervals.sum::<u64>(),
        point.ops.window(OpKind::Read).count()
    );
    assert_eq!(point.series.all.len() as u64, window.as_secs());
    assert_eq!(point.punctuality.due, 200 * window.as_secs());
}

/// The stage that ends with the load has what is in flight then.
#[test]
fn what_is_under_way_when_the_last_stage_ends_is_counted_in_it() {
    const HELD: Duration = Duration::from_secs(3);
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    // A read each 100 ms: the twelfth one is in the second stage.
    let script: Script = |answer| match answer.nth {
        11 => Reaction::send(&answer.message).after(HELD),
        _ => Reaction::send(&answer.message),
    };
    let relay = Relay::start(server.address(), Of::Command(Command::Read), script);
    let mut target = target(&server.url(), server.password());
    target.port = relay.port();
    let options = RunOptions {
        work: WorkSpec {
            stages: Some("1s:1,2s:1".parse().unwrap()),
            think_time: Some(Duration::from_millis(100)),
            duration: None,
            ramp_up: None,
            ..options().work
        },
        ..options()
    };
    let plan = plan("read-4k", &options, target);
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    let stages = record.load_points.iter().map(|stage| stage.punctuality);
    let longest: Vec<_> = stages.map(|kept| kept.in_flight_max).collect();
    let [first, last] = longest[..] else {
        panic!("there are two stages: {longest:?}");
    };
    assert!(first == Nanos(0) && last >= HELD.into(), "{longest:?}");
}

/// Tells once that the run is under load.
struct UnderLoad(Option<mpsc::Sender<()>>);

impl Observer for UnderLoad {
    fn progress(&mut self, progress: &Progress) {
        if matches!(progress, Progress::Running { .. }) {
            // Nobody may wait for it.
            let _ = self.0.take().map(|told| told.send(()));
        }
    }

    fn load_point_ended(&mut self, _: &RunRecord) {}
}

/// No operation is in flight, and none will be for an hour.
#[test]
fn a_run_whose_clients_think_for_an_hour_can_be_cancelled_and_ends_on_time() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let options = RunOptions {
        work: WorkSpec {
            think_time: Some(Duration::from_secs(3600)),
            clients: Some("2".parse().unwrap()),
            ..options().work
        },
        ..options()
    };
    for (duration, cancelled) in [(Duration::from_millis(100), false), (HANG, true)] {
        let options = RunOptions {
            work: WorkSpec {
                duration: Some(duration),
                ..options.work.clone()
            },
            ..options.clone()
        };
        let target = target(&server.url(), server.password());
        let plan = plan("read-4k", &options, target);
        let cancel = Cancel::default();
        let (done, ended) = mpsc::channel();
        let (under_load, begun) = mpsc::channel();
        let of_run = cancel.clone();
        thread::spawn(move || {
            // The receiver is gone after a time-out.
            let mut observer = UnderLoad(Some(under_load));
            let _ = done.send(execute(&plan, &mut observer, &of_run));
        });
        if cancelled {
            begun.recv_timeout(HANG).expect("it begins");
            cancel.cancel();
        }
        let record = ended.recv_timeout(HANG).expect("it ends").unwrap();
        let expected = if cancelled {
            Outcome::Interrupted
        } else {
            Outcome::Complete
        };
        assert_eq!(record.outcome, expected);
        assert_eq!(server.memory().paths(), Vec::<String>::new());
    }
}
