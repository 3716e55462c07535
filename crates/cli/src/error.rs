//! The reasons why a run of an embedding program measured nothing.

use smbench_engine::RunError;
use smbench_formats::profile::ProfileError;
use smbench_model::lists::ListError;
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
