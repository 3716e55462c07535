//! Searches for the number of sessions that a server holds at the same time.

use std::time::Duration;

use smbench_engine::run::{RunError, most_clients};
use smbench_model::load::Ramp;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::spec::WorkSpec;
use smbench_report::find::HeldMost;

use super::loads::{OptionNames, one};
use crate::failure::Failure;

/// The operation that proves that a session is alive.
const PROFILE: &str = "operations = [{ op = \"echo\", weight = 100 }]";

/// Options of such a search, apart from the condition that ends it.
pub struct HeldSearch {
    /// Highest number of sessions, 2 or more.
    pub max: u32,
    /// How long the sessions are held.
    pub hold: Duration,
    /// Interval between two ECHO requests in each session.
    pub keep_alive: Duration,
}

impl HeldSearch {
    /// Returns the profile of its only operation.
    pub fn profile() -> Profile {
        let profile = Profile::parse("sessions", PROFILE);
        profile.unwrap_or_else(|error| unreachable!("constant profile: {error}"))
    }

    /// Refuses options that make no sense together.
    pub fn check(&self, names: OptionNames) -> Result<(), Failure> {
        if self.keep_alive.is_zero() {
            let keep_alive = names.of("keep_alive");
            let message = format!("{keep_alive} is 0: give the interval of the ECHO requests");
            Err(Failure::Usage(message))
        } else {
            Ok(())
        }
    }

    /// Returns the work of its only probe.
    pub fn work(&self) -> WorkSpec {
        WorkSpec {
            // One session is that of the run.
            clients: Some(one(self.max - 1)),
            think_time: Some(self.keep_alive),
            // One after another, so that the requests are spread evenly.
            ramp: Some(Ramp::Linear),
            ramp_up: Some(self.keep_alive),
            duration: Some(self.hold),
            repeat: Some(1),
            ..WorkSpec::default()
        }
    }
}

/// Lowers the number of sessions of a plan to what this machine can hold. Returns what
/// bounds it, and a message if that is this machine.
pub fn within_this_machine(plan: &mut Plan) -> Result<(HeldMost, Option<String>), RunError> {
    match most_clients(plan)? {
        (_, None) => Ok((HeldMost::Asked, None)),
        (0, Some(error)) => Err(error),
        (most, Some(error)) => {
            plan.only_mut().clients = vec![most];
            // One more is that of the run.
            let most = u64::from(most) + 1;
            let note = format!(
                "the search ends at {most} sessions, as many as this machine can hold: {error}"
            );
            Ok((HeldMost::Machine(error.to_string()), Some(note)))
        }
    }
}
