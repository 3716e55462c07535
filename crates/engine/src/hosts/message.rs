//! What hosts say to each other. Instants are of the clock of the host that is not the first.

use std::fmt;

use serde::{Deserialize, Serialize};
use smbench_model::Nanos;
use smbench_model::contents::block::Salt;
use smbench_model::load::{PointLoad, Rate};
use smbench_model::record::{HostRecord, Recorder, SetupPhase};

use super::clock::ClockRelation;
use crate::smb::session::SessionError;
use crate::worker::assignment::WorkerResult;
use crate::worker::recorder_exchange::HostStage;
use crate::worker::schedule::{Interval, Schedule};

/// A message between two hosts, to be carried as it is.
#[derive(Debug, Serialize, Deserialize)]
pub struct HostMessage(pub(super) MessageBody);

/// Who a host is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostIdentity {
    /// Its name, for messages and documents.
    pub name: String,
    /// Its program: version and commit. All hosts must run the same.
    pub build: String,
    /// The kind of machine, as JSON for the result document.
    pub machine: String,
}

/// The content of a message.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum MessageBody {
    /// The host is there.
    Alive,
    /// The first host asks for a clock.
    Ping(u32),
    /// A clock, as the answer to that ping.
    Pong(u32, Nanos),
    /// The first host begins a run.
    Run(RunOrder),
    /// The first host begins a load point.
    Point(PointOrder),
    /// No more sessions are to be set up.
    Enough,
    /// The load begins, or its window ends earlier.
    Begin(Schedule),
    /// The run is cancelled.
    Cancel,
    /// The load point is called off before its load.
    CallOff,
    /// The run has ended.
    EndRun,
    /// No run follows.
    End,
    /// The other host can carry out the run.
    Hello(HostIdentity),
    /// The other host cannot carry out the run.
    Unable(HostIdentity, Refusal),
    /// Sessions stand.
    Ready { clients: u32, at: Nanos },
    /// Sessions could not be set up; the host continues.
    Refused { clients: u32, failure: HostFailure },
    /// A worker sets up no more sessions.
    AllTried,
    /// Sessions could not be set up; the host has stopped.
    SetupFailed(HostFailure),
    /// An interval has ended.
    Interval(Box<HostInterval>),
    /// The next stage has ended.
    Stage(Box<HostStage>),
    /// The load point has ended.
    Measured(Box<HostMeasurements>),
    /// The load point has ended without measurements; the reason as a lower-case clause.
    Unmeasured(String),
    /// The clocks are related. Only the own pump says so.
    Related(ClockRelation),
}

/// Why a host cannot carry out a run, as a lower-case clause.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Refusal {
    /// The server refuses its log-on.
    NotLetIn(String),
    /// Any other reason.
    Other(String),
}

/// A run that the first host begins.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunOrder {
    /// Digest of its plan.
    pub(crate) digest: String,
    /// Its server, without secrets.
    pub(crate) url: String,
    /// Its populations.
    pub(crate) populations: Vec<PopulationOrder>,
    /// Its passes, which may be fewer than the other hosts know of.
    pub(crate) repeat: u32,
    /// Its seed, which may be drawn by the first host.
    pub(crate) seed: u64,
    /// The level before its first stage, if its load has stages.
    pub(crate) level: Option<f64>,
    /// The password, if the user wants it to travel.
    pub(crate) password: Option<SentPassword>,
    /// Number at which the numbering of load points starts in the data that is written.
    pub(crate) runs_before: u32,
}

/// A population of a run that the first host begins.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PopulationOrder {
    /// Its share of the clients that a search chooses, if it has one.
    pub(crate) share: Option<f64>,
    /// Its clients at each load point. There may be fewer load points than the other hosts know
    /// of.
    pub(crate) load_points: Vec<u32>,
    /// Its rates, of which there may also be fewer.
    pub(crate) rates: Vec<Rate>,
    /// Its directory on the share.
    pub(crate) directory: String,
    /// The directory of its files on the share, which may be that of a tree.
    pub(crate) files_in: String,
    /// Salt of the contents of its files.
    pub(crate) salt: Salt,
}

/// A password in a message. It is shown nowhere.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct SentPassword(pub(crate) String);

impl fmt::Debug for SentPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SentPassword(..)")
    }
}

/// A load point that the first host begins.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct PointOrder {
    /// Number of the load point, from 1.
    pub(crate) number: u32,
    pub(crate) load: PointLoad,
}

/// A failed set-up, as it travels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HostFailure {
    pub(crate) text: String,
    pub(crate) phase: SetupPhase,
    pub(crate) cause: String,
    /// Whether the other host itself is the reason.
    pub(crate) own_limit: bool,
}

impl From<&SessionError> for HostFailure {
    fn from(error: &SessionError) -> Self {
        Self {
            text: error.to_string(),
            phase: error.phase(),
            cause: error.cause(),
            own_limit: error.is_of_this_machine(),
        }
    }
}

/// An interval of another host, merged over its workers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HostInterval {
    pub(crate) interval: Interval,
    /// The operations of each population.
    pub(crate) populations: Vec<Recorder>,
}

/// The measurements of another host, without the operations.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HostMeasurements {
    pub(crate) result: WorkerResult,
    pub(crate) host: HostRecord,
}
