//! The options for a load that changes or lasts long.

use std::time::Duration;

use clap::Args;
use smbench_model::spec::WorkSpec;
use smbench_model::stages::Stages;
use smbench_model::units::parse_duration;

/// How one load changes, or how long it lasts.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Stages")]
pub(crate) struct StageArgs {
    /// Change the load along lines, for example 2m:50,10m:500,2m:0 for clients or 10m:5000/s for a
    /// rate. Each stage is a load point; --clients or --rate is the level at the start [default: the
    /// profile's, else none]
    #[arg(long, value_name = "LENGTH:LEVEL,...", hide_short_help = true)]
    pub(crate) stages: Option<Stages>,
    /// Run one load this long, with a row per minute, and tell whether anything drifts [default: the
    /// profile's, else not]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) soak: Option<Duration>,
}

impl StageArgs {
    pub(super) fn options(&self) -> WorkSpec {
        WorkSpec {
            stages: self.stages.clone(),
            soak: self.soak,
            ..WorkSpec::default()
        }
    }
}
