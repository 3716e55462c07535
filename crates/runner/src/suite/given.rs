//! Times of a suite that is only tried out.

use std::time::Duration;

use smbench_model::spec::{RunOptions, WorkSpec};

use super::options::SuiteLoad;

/// Times of `--quick`: window, and ramps before and after it.
const QUICK: [Duration; 3] = [
    Duration::from_secs(3),
    Duration::from_millis(500),
    Duration::from_millis(200),
];

/// Returns the options that `--quick` sets for every run.
pub(super) fn quick(load: &SuiteLoad) -> RunOptions {
    let [duration, ramp_up, ramp_down] = if load.quick {
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
