//! The reasons why a run of an embedding program measured nothing.

use smbench_engine::RunError;
use smbench_formats::profile::ProfileError;
use smbench_model::lists::ListError;
use smbench_model::load::RateError;
use smbench_model::plan::PlanError;
use smbench_model::target::TargetError;

/// The reason why a [`Run`](crate::Run) measured nothing. Each message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not a plan as JSON.
    #[error("failed to read the plan")]
    Json(#[source] serde_json::Error),
    /// The plan as JSON has both a profile and a workload, or neither.
    #[error("failed to read the plan: give either `profile` or `workload`")]
    Workload,
    /// The URL of the server is wrong.
    #[error("failed to read the URL of the server")]
    Target(#[source] TargetError),
    /// There is no such profile, or it cannot be read.
    #[error("failed to load the profile")]
    Profile(#[source] ProfileError),
    /// The numbers of clients are wrong.
    #[error("failed to read the numbers of clients")]
    Clients(#[source] ListError),
    /// The rate is wrong.
    #[error("failed to read the rate")]
    Rate(#[source] RateError),
    /// Workload and options make no valid plan.
    #[error("failed to make the plan")]
    Plan(#[source] PlanError),
    /// The run failed before its first load point had ended.
    #[error("failed to run the plan")]
    Run(#[source] Box<RunError>),
    /// The system has no thread for the run.
    #[error("failed to start a thread for the run")]
    Thread(#[source] std::io::Error),
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::Duration;

    use super::*;
    use crate::Run;

    /// Returns the texts of the reasons behind an error.
    fn reasons(error: &dyn std::error::Error) -> Vec<String> {
        let mut texts = Vec::new();
        let mut cause = error.source();
        while let Some(error) = cause {
            texts.push(error.to_string());
            cause = error.source();
        }
        texts
    }

    #[test]
    fn the_sources_lead_to_the_first_reason() {
        let run = Run::on("smb://ann@nas/bench");
        let plan = reasons(&run.duration(Duration::ZERO).plan().unwrap_err());
        let [placed, problem] = &plan[..] else {
            panic!("{plan:?}");
        };
        assert!(problem.starts_with("duration is 0s"), "{problem}");
        assert!(placed.ends_with(&format!(": {problem}")), "{placed}");

        let run = Run::on("smb://ann@nas/bench").profile("missing.toml");
        let profile = reasons(&run.plan().unwrap_err());
        let missing = io::Error::from_raw_os_error(2).to_string();
        assert_eq!(profile.last(), Some(&missing), "{profile:?}");

        let full = RunError::State(io::Error::other("the disk is full"));
        let left = RunError::Leftover {
            error: Box::new(full),
            leftover: "files remain".to_owned(),
        };
        assert_eq!(
            reasons(&Error::Run(Box::new(left))),
            [
                "failed to write the state file: the disk is full; files remain",
                "failed to write the state file: the disk is full",
                "the disk is full",
            ]
        );
    }
}
