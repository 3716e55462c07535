//! Searches for the highest rate of complete log-ons.

use std::time::Duration;

use smbench_formats::profile::{self, ProfileError};
use smbench_model::load::Spacing;
use smbench_model::profile::Profile;
use smbench_model::search::SearchSpec;
use smbench_model::spec::WorkSpec;
use smbench_report::doc::FindKind;
use smbench_report::find::HeldLimit;
use smbench_report::{Find, Threshold};

use super::loads::{one, work};

/// The built-in profile whose only operation is a complete log-on.
const PROFILE: &str = "logons";

/// Options of such a search, apart from its range.
pub struct LogonSearch {
    /// Share of failed log-ons that breaks the limit.
    pub until: HeldLimit,
    /// Further conditions that must hold.
    pub slo: Vec<Threshold>,
    /// Measured time of each rate.
    pub hold: Duration,
    /// Clients, each with one log-on at a time.
    pub clients: u32,
    /// Intervals between log-ons.
    pub arrivals: Option<Spacing>,
}

impl LogonSearch {
    /// Returns the profile of its only operation.
    pub fn profile() -> Result<Profile, ProfileError> {
        profile::load(PROFILE)
    }

    /// Returns the work of its probes.
    pub fn work(&self, spec: &SearchSpec) -> WorkSpec {
        WorkSpec {
            arrivals: self.arrivals,
            duration: Some(self.hold),
            ..work(FindKind::Logons, spec, Some(one(self.clients)))
        }
    }

    /// Returns the search, before its first probe.
    pub fn find(&self, spec: SearchSpec) -> Find {
        let failures = self.until.on_operations();
        let limits = [vec![failures], self.slo.clone()].concat();
        Find::new(FindKind::Logons, spec, limits)
    }
}
