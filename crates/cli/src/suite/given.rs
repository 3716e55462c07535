//! Options of a suite's command line that apply to every run.

use std::time::Duration;

use smbench_model::spec::RunOptions;

use crate::args::{SuiteArgs, WindowArgs};

/// Times of `--quick`: window, and ramps before and after it.
const QUICK: [Duration; 3] = [
    Duration::from_secs(3),
    Duration::from_millis(500),
    Duration::from_millis(200),
];

/// Returns the options that `--quick` sets for every run.
pub(super) fn quick(args: &SuiteArgs) -> RunOptions {
    let [duration, ramp_up, ramp_down] = match args.load.quick {
        true => QUICK.map(Some),
        false => [None; 3],
    };
    RunOptions {
        duration,
        ramp_up,
        ramp_down,
        ..RunOptions::default()
    }
}

/// Returns the other options for every run.
pub(super) fn options(args: &SuiteArgs) -> RunOptions {
    let WindowArgs {
        duration,
        ramp_up,
        ramp_down,
        threads,
    } = args.load.window;
    RunOptions {
        duration,
        ramp_up,
        ramp_down,
        threads,
        dialect: args.session.dialect,
        sign: args.session.sign,
        signing_algorithm: args.session.signing_algorithm,
        encrypt: args.session.encrypt,
        cipher: args.session.cipher,
        ..RunOptions::default()
    }
}

/// Returns the fields that an error message may name as options of the command
/// line.
pub(super) fn given_fields(options: &RunOptions) -> Vec<&'static str> {
    let fields = [
        ("duration", options.duration.is_some()),
        ("ramp_up", options.ramp_up.is_some()),
        ("ramp_down", options.ramp_down.is_some()),
        ("threads", options.threads.is_some()),
        ("dialect", options.dialect.is_some()),
        ("sign", options.sign.is_some()),
        ("signing_algorithm", options.signing_algorithm.is_some()),
        ("encrypt", options.encrypt.is_some()),
        ("cipher", options.cipher.is_some()),
    ];
    let given = fields.into_iter().filter(|(_, is_given)| *is_given);
    given.map(|(field, _)| field).collect()
}
