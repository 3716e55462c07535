//! Options of a suite's command line that apply to every run.

use std::time::Duration;

use smbench_model::spec::{RunOptions, WorkSpec};

use crate::args::SuiteArgs;

/// Times of `--quick`: window, and ramps before and after it.
const QUICK: [Duration; 3] = [
    Duration::from_secs(3),
    Duration::from_millis(500),
    Duration::from_millis(200),
];

/// Returns the options that `--quick` sets for every run.
pub(super) fn quick(args: &SuiteArgs) -> RunOptions {
    let [duration, ramp_up, ramp_down] = if args.load.quick {
        QUICK.map(Some)
    } else {
        [None; 3]
    };
    RunOptions {
        work: WorkSpec {
            duration,
            ramp_up,
            ramp_down,
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    }
}

/// Returns the other options for every run.
pub(super) fn options(args: &SuiteArgs) -> RunOptions {
    RunOptions {
        sessions: args.session.options(),
        ..args.load.window.options()
    }
}
