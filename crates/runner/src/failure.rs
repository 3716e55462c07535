//! Reasons why a run, a search or a suite fails, each with its one-line message, and how
//! a command ends because of them. Not here: the numbers of exit codes, which belong to the
//! command.

use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use smbench_capture::CaptureError;
use smbench_engine::probe::AfterError;
use smbench_engine::run::RunError;
use smbench_engine::run::{SessionError, TicketError};
use smbench_formats::iometer::ImportError;
use smbench_formats::profile::ProfileError;
use smbench_lab::LabError;
use smbench_model::plan::PlanError;
use smbench_model::target::TargetError;
use smbench_publish::WriteError;
use smbench_report::compare::CompareError;
use smbench_report::merge::MergeError;
use smbench_report::{LoadError, SaveError};

/// How a command has ended. A greater one is a worse result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// The command succeeded.
    Done,
    /// A condition of a run or of a comparison failed.
    Failed,
    /// A gate can neither pass nor fail.
    CannotTell,
    /// The command line, or a file that the user gave, is wrong, or the command
    /// would overwrite a file.
    Usage,
    /// The set-up failed: server, account, share, space on the share, this machine,
    /// or an output that cannot be written. Or the run's directory remains on the
    /// share.
    Setup,
    /// The run was aborted, or a load point must not be quoted.
    Invalid,
    /// A signal stopped the command.
    Interrupted,
}

/// Reason why a command failed. Each is one line. Large ones are in a box.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
    /// A profile cannot be read.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A file of another program cannot be read.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A network capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The options and the profile make no valid plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The URL of a server is wrong.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A document cannot be read.
    #[error("failed to {0}")]
    Load(#[from] LoadError),
    /// Results cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// Results are not the parts of one run.
    #[error(transparent)]
    Merge(Box<MergeError>),
    /// A document cannot be written.
    #[error("failed to {0}")]
    Save(#[from] SaveError),
    /// A report cannot be written.
    #[error("failed to {0}")]
    Report(#[from] WriteError),
    /// The user stopped the run before its first load point.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// The run failed.
    #[error(transparent)]
    Run(Box<RunError>),
    /// Work on a server outside of a run failed.
    #[error(transparent)]
    Session(Box<SessionError>),
    /// A share cannot be checked after a crash.
    #[error(transparent)]
    After(Box<AfterError>),
    /// A server did not start.
    #[error("failed to start the server: {}", chain(.0))]
    Lab(#[from] LabError),
    /// The process of the embedded server did not start correctly.
    #[error("failed to start the embedded server: {0}")]
    Embedded(String),
    /// The operating system refused an operation.
    #[error("failed to {action}: {source}")]
    Io {
        /// What was to be done.
        action: String,
        /// The answer of the operating system.
        source: io::Error,
    },
}

impl Failure {
    /// Returns the failure for an action that the operating system refused.
    pub fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }

    /// Returns the failure for a file that cannot be written. A folder that is missing is named.
    pub fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let failed = Self::io(format!("write {}", path.display()));
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = folder.filter(|folder| !folder.is_dir());
        let lacking = folder.map(|folder| format!("there is no folder {}", folder.display()));
        move |error| match (error.kind(), lacking) {
            (io::ErrorKind::NotFound, Some(lacking)) => failed(io::Error::other(lacking)),
            _ => failed(error),
        }
    }

    /// Returns the failure for a folder of results that cannot be written to.
    pub fn write_results(folder: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::io(format!("write results to {}", folder.display()))
    }

    /// Returns whether another profile may still run. That is the case if the
    /// profile itself is the reason, and not the server, the account or this
    /// machine.
    pub fn is_of_profile(&self) -> bool {
        let Self::Run(error) = self else { return false };
        match run_fails_for(error) {
            Some(error) => matches!(
                error,
                SessionError::NoSpace { .. }
                    | SessionError::TooLarge { .. }
                    | SessionError::NotInDialect { .. }
                    | SessionError::Fileio(_)
                    | SessionError::Tree(_)
            ),
            None => matches!(
                **error,
                RunError::Descriptors { .. } | RunError::Capacity(_)
            ),
        }
    }

    /// Returns whether the log-on was refused. The next attempt would fail in the
    /// same way, and repeated attempts lock the account.
    pub fn is_of_log_on(&self) -> bool {
        match self {
            Self::Run(error) => error.is_of_log_on(),
            Self::Session(error) => error.is_of_log_on(),
            _ => false,
        }
    }

    /// Returns the exit code. A cause has the same code in all commands; see
    /// [`Exit`].
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage(_)
            | Self::Profile(_)
            | Self::Import(_)
            | Self::Capture(_)
            | Self::Plan(_)
            | Self::Target(_)
            | Self::Load(_)
            | Self::Compare(_)
            | Self::Merge(_)
            | Self::Report(WriteError::Foreign { .. })
            | Self::Lab(LabError::Configuration { .. } | LabError::NoSmbd { .. }) => Exit::Usage,
            Self::After(error) => match &**error {
                AfterError::State { .. }
                | AfterError::OtherShare { .. }
                | AfterError::Nothing { .. } => Exit::Usage,
                AfterError::Session(error) if is_asked_wrongly(error) => Exit::Usage,
                AfterError::Session(_) => Exit::Setup,
            },
            Self::Interrupted => Exit::Interrupted,
            // Interrupted, with files left on the share.
            Self::Run(error) if matches!(run_fails_for(error), Some(SessionError::Interrupted)) => {
                Exit::Interrupted
            }
            Self::Run(error) if matches!(**error, RunError::Plan(_) | RunError::Refused(_)) => {
                Exit::Usage
            }
            Self::Run(error) if matches!(**error, RunError::HostLost(_)) => Exit::Invalid,
            Self::Run(error) if run_fails_for(error).is_some_and(is_asked_wrongly) => Exit::Usage,
            Self::Session(error) if is_asked_wrongly(error) => Exit::Usage,
            Self::Run(_)
            | Self::Session(_)
            | Self::Save(_)
            | Self::Report(_)
            | Self::Lab(_)
            | Self::Embedded(_)
            | Self::Io { .. } => Exit::Setup,
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Session(SessionError::Interrupted) => Self::Interrupted,
            error => Self::Run(Box::new(error)),
        }
    }
}

impl From<AfterError> for Failure {
    fn from(error: AfterError) -> Self {
        Self::After(Box::new(error))
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        Self::Session(Box::new(error))
    }
}

impl From<MergeError> for Failure {
    fn from(error: MergeError) -> Self {
        Self::Merge(Box::new(error))
    }
}

/// Returns the session error because of which a run failed, if there is one.
fn run_fails_for(error: &RunError) -> Option<&SessionError> {
    match error {
        RunError::Session(error) => Some(error),
        RunError::Leftover { error, .. } => run_fails_for(error),
        _ => None,
    }
}

/// Returns whether the user's request is wrong: a file that the user gave is
/// missing or invalid, or other options would work.
const fn is_asked_wrongly(error: &SessionError) -> bool {
    match error {
        SessionError::Ticket(error) => matches!(
            error,
            TicketError::Unreadable { .. }
                | TicketError::Malformed { .. }
                | TicketError::EmptyKeytab { .. }
        ),
        SessionError::Fileio(error) => error.is_asked_wrongly(),
        SessionError::Tree(error) => error.is_asked_wrongly(),
        _ => false,
    }
}

/// Formats an error and its causes; the lab's errors have theirs only in `source`.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing to a String cannot fail.
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use smbench_engine::run::MetricsError;
    use smbench_model::fileio::FileioError;
    use smbench_model::work::WorkProblem;

    use super::*;

    #[test]
    fn a_run_stopped_before_its_first_load_point_was_interrupted() {
        let failure = Failure::from(RunError::Session(SessionError::Interrupted));
        assert_eq!(failure.exit(), Exit::Interrupted);
        let failure = Failure::from(RunError::Leftover {
            error: Box::new(SessionError::Interrupted.into()),
            leftover: "directory 'x' remains".to_owned(),
        });
        assert_eq!(failure.exit(), Exit::Interrupted);
        let failure = Failure::from(RunError::System(io::Error::other("no threads")));
        assert_eq!(failure.exit(), Exit::Setup);
    }

    #[test]
    fn a_cause_has_one_exit_code_in_all_commands() {
        let at = || "files.example:445".to_owned();
        let size = || "64 MiB".to_owned();
        let path = || "x".into();
        let missing = || io::ErrorKind::NotFound.into();
        let in_a_run = |error| Failure::from(RunError::Session(error));
        let space = SessionError::NoSpace {
            at: at(),
            needed: size(),
            free: size(),
        };
        let space_for_files = FileioError::NoSpace {
            at: at(),
            needed: size(),
            free: size(),
        };
        let request = SessionError::TooLarge {
            kind: "read",
            wanted: size(),
            at: at(),
            limit: size(),
            why: "",
        };
        let keytab = TicketError::Unreadable {
            what: "the keytab",
            path: path(),
            source: missing(),
        };
        let result = LoadError::NotFound { path: path() };
        for (cause, failures, exit) in [
            (
                "the share has too little space",
                vec![in_a_run(space), SessionError::from(space_for_files).into()],
                Exit::Setup,
            ),
            (
                "the server takes no requests as large",
                vec![in_a_run(request)],
                Exit::Setup,
            ),
            (
                "a file that the user gave is not there",
                vec![in_a_run(keytab.into()), result.into()],
                Exit::Usage,
            ),
        ] {
            for failure in failures {
                assert_eq!(failure.exit(), exit, "{cause}: {failure}");
            }
        }
    }

    /// Neither the profile nor the account is the cause, so a suite continues with
    /// its other servers.
    #[test]
    fn an_exporter_that_does_not_answer_fails_the_set_up_of_its_server() {
        let failure = Failure::from(RunError::Metrics(MetricsError {
            url: "http://files.example:9100/metrics".to_owned(),
            reason: "no answer".to_owned(),
        }));
        assert_eq!(failure.exit(), Exit::Setup);
        assert!(!failure.is_of_profile() && !failure.is_of_log_on());
    }

    #[test]
    fn a_plan_that_cannot_run_was_asked_for_wrongly() {
        let failure = Failure::from(RunError::Plan(WorkProblem::RepeatZero.into()));
        assert_eq!(failure.exit(), Exit::Usage);
        assert_eq!(
            failure.to_string(),
            "failed to run the plan: repeat is 0: it must be at least 1"
        );
    }

    #[test]
    fn the_causes_of_a_lab_error_are_reported() {
        let failure = Failure::from(LabError::Listen {
            addr: ([127, 0, 0, 1], 445).into(),
            source: io::Error::other("in use"),
        });
        assert_eq!(
            failure.to_string(),
            "failed to start the server: cannot listen on 127.0.0.1:445: in use"
        );
    }
}
