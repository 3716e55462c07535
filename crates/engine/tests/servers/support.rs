//! Shared parts of the engine's integration tests.

use std::time::Duration;

use smbench_formats::profile;
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::record::LoadPointRecord;
use smbench_model::secret::Secret;
use smbench_model::spec::{GeneratorSpec, RunOptions, WorkSpec};
use smbench_model::target::Target;

/// Options with windows short enough for a test suite, and long enough to contain
/// operations.
pub(crate) fn short() -> RunOptions {
    RunOptions {
        work: WorkSpec {
            duration: Some(Duration::from_millis(150)),
            ramp_up: Some(Duration::from_millis(30)),
            ramp_down: Some(Duration::from_millis(20)),
            ..WorkSpec::default()
        },
        generator: GeneratorSpec {
            threads: Some(2),
            ..GeneratorSpec::default()
        },
        ..RunOptions::default()
    }
}

pub(crate) fn target(url: &str, password: &str) -> Target {
    let (mut target, _) = Target::parse(url).unwrap();
    target.password = Secret::new(password);
    target
}

pub(crate) fn plan(profile: &str, options: &RunOptions, target: Target) -> Plan {
    let profile = profile::load(profile).unwrap();
    Plan::resolve(&profile, options, target, Limits::default(), 2).unwrap()
}

/// Checks that no client and no operation failed. A busy machine may complete no operation
/// in a short window.
#[track_caller]
pub(crate) fn assert_undisturbed(point: &LoadPointRecord) {
    assert_eq!(point.dropouts, []);
    assert_eq!(point.ops.errors(), 0, "{:?}", point.ops.failures());
    if let Some(reason) = &point.invalid {
        let nothing = "no operation completed in the window";
        assert!(reason.starts_with(nothing), "{reason}");
    }
}
