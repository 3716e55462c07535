//! The reasons why a run measured nothing at all.

use std::io;
use std::time::{Duration, SystemTime};

use smbench_model::plan::Problem;
use smbench_model::setting::THREADS;
use smbench_model::units::format_duration;
use thiserror::Error;

use crate::hosts::HostsError;
use crate::machine::server_cpu::MetricsError;
use crate::run::CapacityError;
use crate::smb::session::SessionError;

/// The reason why a run measured nothing at all.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// A field of the plan was changed to a value that
    /// [`Plan::resolve`](smbench_model::plan::Plan::resolve) would have refused.
    #[error("failed to run the plan: {0}")]
    Plan(#[source] Problem),
    /// The server, the account or the share did not allow the run.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// This process may not open enough sockets.
    #[error(
        "{clients} clients need {needed} open files, but this process may have {limit}; this machine \
         is the limit: raise the hard limit (`ulimit -Hn`) or run fewer clients"
    )]
    Descriptors {
        /// Clients of the largest load point.
        clients: u32,
        /// Open files that this load point needs.
        needed: u64,
        /// Hard limit of this process.
        limit: u64,
    },
    /// This machine lacks resources for the largest load point.
    #[error(transparent)]
    Capacity(#[from] CapacityError),
    /// The server's CPU time was to be had from an exporter, which does not tell it.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// The load was to begin at a time that is over.
    #[error(
        "failed to begin at {}: the sessions were set up {} after that; give a later time",
        humantime::format_rfc3339_seconds(*.at),
        format_duration(Duration::from_millis(.late.as_millis() as u64))
    )]
    Late {
        /// When the load was to begin.
        at: SystemTime,
        /// How long ago that was.
        late: Duration,
    },
    /// Events of the plan are for a lab server, and this is not one.
    #[error(
        "the event `{event}` is for a Samba that smbench has started on this machine, and {why}: \
         start one with `smbench lab samba`, or use exec"
    )]
    NoLab {
        /// The event.
        event: String,
        /// Why there is no lab server.
        why: String,
    },
    /// Load points were to wait for a quiet server, which cannot be seen.
    #[error("failed to wait for a quiet server: {0}")]
    Quiet(String),
    /// The observer refused the run before its load, with this reason.
    #[error("{0}")]
    Refused(String),
    /// A command around a load point of a search failed.
    #[error("{0}")]
    Hook(String),
    /// The file for notes on answers cannot be written.
    #[error("failed to write the state file: {0}")]
    State(#[source] io::Error),
    /// Another host cannot carry out the run.
    #[error(transparent)]
    Hosts(#[from] HostsError),
    /// Another host was lost under load.
    #[error("{0}")]
    HostLost(String),
    /// The first host of the run is gone, or runs another plan.
    #[error("the first host is lost: no message from it for 5 s; this host has stopped")]
    FirstHostLost,
    /// A replay has operations of its own.
    #[error(
        "failed to run a replay: its operations are those of its loadfile, and need an SMB server: \
         use run::execute"
    )]
    Replay,
    /// The plan is a `fileio` test, which has its own operations.
    #[error(
        "failed to run a fileio test: its operations are sysbench's, on an SMB server: use \
         run::execute"
    )]
    Fileio,
    /// An error, followed by a failure of the clean-up.
    #[error("{error}; {leftover}")]
    Leftover {
        /// The first error.
        #[source]
        error: Box<RunError>,
        /// The files that remain on the share, and the reason.
        leftover: String,
    },
    /// A worker panicked because of a bug in smbench.
    #[error("failed: a worker panicked, which is a bug in smbench; please report it")]
    Panicked,
    /// A driver or a stream of the embedding program panicked.
    #[error("failed: the program's own {part} panicked; this is not a bug in smbench: {said}")]
    EmbeddingPanicked {
        /// "driver" or "stream of operations".
        part: &'static str,
        /// Message of the panic.
        said: String,
    },
    /// The operating system refused a thread or an event loop.
    #[error(
        "failed to start the workers: {0}; this machine is the limit: allow more threads and \
         processes (`ulimit -u`, pids.max of the control group) or give fewer {THREADS}"
    )]
    System(#[from] io::Error),
}

impl RunError {
    /// Returns whether a log-on was refused. The next attempt would fail in the same way, and
    /// repeated attempts lock the account.
    #[must_use]
    pub fn is_of_log_on(&self) -> bool {
        match self {
            Self::Session(error) => error.is_of_log_on(),
            Self::Leftover { error, .. } => error.is_of_log_on(),
            Self::Hosts(error) => matches!(error, HostsError::NotLetIn { .. }),
            _ => false,
        }
    }

    pub(crate) fn with_leftover(self, leftover: Option<String>) -> Self {
        match leftover {
            Some(leftover) => Self::Leftover {
                error: Box::new(self),
                leftover,
            },
            None => self,
        }
    }
}
