//! A slow observer: which progress it receives, and which results are recorded in
//! spite of it.

use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::driver::Null;
use smbench_engine::run::{Observer, PlannedRun, Progress, Stage, execute};
use smbench_model::record::{RunRecord, ServerFacts};
use smbench_model::spec::{GeneratorSpec, RunOptions, WorkSpec};

use super::{drawn, plan};
use crate::support::short;

/// Blocks the coordinator at the first progress report under load, and during the
/// set-up of sessions.
struct Slow {
    hold: Duration,
    shown: Vec<Stage>,
}

impl Observer for Slow {
    fn progress(&mut self, progress: &Progress) {
        match progress {
            Progress::SettingUp { .. } => std::thread::sleep(self.hold),
            Progress::Running { stage, .. } => {
                if self.shown.is_empty() {
                    std::thread::sleep(self.hold);
                }
                self.shown.push(*stage);
            }
            _ => {}
        }
    }
    fn load_point_ended(&mut self, _: &RunRecord) {}
}

fn observed(ramp_up: u64, duration: u64, hold: u64) -> (RunRecord, Vec<Stage>) {
    let plan = plan(
        "file-server",
        RunOptions {
            work: WorkSpec {
                clients: Some("4".parse().unwrap()),
                ramp_up: Some(Duration::from_millis(ramp_up)),
                duration: Some(Duration::from_millis(duration)),
                ..short().work
            },
            generator: GeneratorSpec {
                threads: Some(1),
                ..short().generator
            },
            ..short()
        },
    );
    let mut observer = Slow {
        hold: Duration::from_millis(hold),
        shown: Vec::new(),
    };
    let server = ServerFacts::other("null://here");
    let (streams, cancel) = (drawn(&plan), Cancel::default());
    let run = PlannedRun::of(&plan).on_target(server, Null, streams);
    let record = execute(run, &mut observer, &cancel).unwrap();
    (record, observer.shown)
}

#[test]
fn progress_continues_when_a_turn_was_missed() {
    // The first report is at 500 ms; it blocks until after the next report is due.
    let (_, shown) = observed(0, 2_000, 600);
    let measuring = shown.iter().filter(|&&stage| stage == Stage::Measuring);
    assert!(measuring.count() >= 2, "{shown:?}");
}

#[test]
fn cpu_time_is_that_of_the_window_also_when_the_coordinator_missed_it() {
    // Blocked from before the window until after it. The first report is at 500 ms, or later on a
    // busy machine.
    let (record, shown) = observed(1500, 300, 1600);
    assert_eq!(shown.first(), Some(&Stage::RampUp));
    assert!(!shown.contains(&Stage::Measuring));
    let point = &record.load_points[0];
    let cpu = (point.client.cpu_user + point.client.cpu_system).as_secs_f64();
    // The null target answers at once, so the workers are busy.
    let workers: f64 = point.generator.workers.iter().map(|it| it.cpu_share).sum();
    let window = point.window.as_secs_f64();
    assert!(cpu > 0.5 * workers * window, "{cpu} {workers} {window}");
    // Sessions were set up while the observer slept.
    assert!(point.setup.elapsed < Duration::from_millis(1600));
}
