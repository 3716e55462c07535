//! Plans whose fields were changed to values that a resolved plan never has.

use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::driver::Null;
use smbench_engine::run::{PlannedRun, RunError, Unobserved, execute};
use smbench_model::plan::Plan;
use smbench_model::record::ServerFacts;
use smbench_model::spec::{RunOptions, WorkSpec};

use super::{drawn, plan};
use crate::support::short;

type Change = fn(&mut Plan);

#[test]
fn a_plan_that_cannot_run_is_refused_before_anything_is_done() {
    let changes: [(Change, &str); 8] = [
        (
            |plan| plan.only_mut().clients.clear(),
            "there are no load points: give one or more numbers of clients",
        ),
        (
            |plan| plan.only_mut().clients = vec![0],
            "a load point has 0 clients: give 1 to 100000",
        ),
        (
            |plan| plan.only_mut().outstanding = 0,
            "outstanding is 0: give 1 to 1024",
        ),
        (
            |plan| plan.work.repeat = 0,
            "repeat is 0: it must be at least 1",
        ),
        (
            |plan| plan.generator.threads = 0,
            "threads is 0: give 1 to 1024",
        ),
        (
            |plan| plan.generator.setup_rate = Some(0),
            "setup_rate is 0: give 1 to 1000000 sessions per second",
        ),
        (
            |plan| plan.work.duration = Duration::ZERO,
            "duration is 0s: the measured window needs at least 1ms, such as 30s",
        ),
        (
            |plan| plan.sessions.connections.sessions_per_connection = 0,
            "sessions_per_connection is 0: give 1 to 256",
        ),
    ];
    for (change, words) in changes {
        let mut plan = plan(
            "read-4k",
            RunOptions {
                work: WorkSpec {
                    clients: Some("2".parse().unwrap()),
                    ..short().work
                },
                ..short()
            },
        );
        change(&mut plan);
        let server = ServerFacts::other("null://here");
        let cancel = Cancel::default();
        for run in [
            PlannedRun::of(&plan),
            PlannedRun::of(&plan).with_operations(drawn(&plan)),
            PlannedRun::of(&plan).on_target(server, Null, drawn(&plan)),
        ] {
            let outcome = execute(run, &mut Unobserved, &cancel);
            let error = outcome.err().unwrap();
            assert!(matches!(error, RunError::Plan(_)), "{error}");
            let message = error.to_string();
            assert_eq!(message, format!("failed to run the plan: {words}"));
        }
    }
}
