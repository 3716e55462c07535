//! The measurements of a run.

use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contents::block::Salt;
use crate::kind::OpKind;
use crate::plan::Plan;
use crate::record::{HostFacts, LoadPointRecord, NotedRecord, RecycleBin};
use crate::tree::TreeUsed;

/// The properties that the server negotiated. They are the same for every session of a
/// population. Those of a run are of the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFacts {
    /// The target without secrets.
    pub url: String,
    /// Whether the server is on this machine and shares its CPUs, as far as the
    /// address of its name shows.
    pub is_here: bool,
    /// The kind of log-on that the server accepted; `None` for a server without
    /// SMB.
    pub logon: Option<smbench_protocol::Logon>,
    /// Negotiated dialect; `None` for a server without SMB.
    pub dialect: Option<smbench_protocol::Dialect>,
    /// Name of the signing algorithm in use, `None` when messages are not signed.
    pub signing: Option<&'static str>,
    /// Cipher in use, `None` when messages are not encrypted. Encrypted messages
    /// are not signed in addition.
    pub encryption: Option<smbench_protocol::Cipher>,
    /// Largest READ in bytes; 0 for a server without such limits.
    pub max_read: u32,
    /// Largest WRITE in bytes; see `max_read`.
    pub max_write: u32,
    /// Largest transaction in bytes; see `max_read`.
    pub max_transact: u32,
    /// Whether the server ends all sessions of a connection at the LOGOFF of one. Found out
    /// only for workloads that log on.
    pub logoff_ends_all: bool,
    /// The requests of larger operations; `None` if every operation fits one request.
    pub split: Option<SplitSizes>,
    /// The tree that the run works on; `None` if its files are in none. If one population has a
    /// tree that the run makes, this is that one.
    pub tree: Option<TreeUsed>,
    /// The same of each population, in the order of the plan; empty if there is only one.
    pub populations: Vec<Self>,
}

/// The bytes of the requests into which larger operations are split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SplitSizes {
    /// Bytes of a READ; the last one of an operation may be shorter. `null` if no operation
    /// reads, or if none is split.
    #[serde(rename = "read_bytes")]
    pub read: Option<u32>,
    /// Bytes of a WRITE, in the same way.
    #[serde(rename = "write_bytes")]
    pub write: Option<u32>,
}

impl SplitSizes {
    /// Returns the largest request of this kind in bytes; `u32::MAX` if none is split.
    #[must_use]
    #[inline]
    pub const fn request_max(&self, kind: OpKind) -> u32 {
        let max = match kind {
            OpKind::Read | OpKind::CopyOutRead => self.read,
            OpKind::Write | OpKind::CopyInWrite | OpKind::SaveWrite => self.write,
            _ => None,
        };
        match max {
            Some(max) => max,
            None => u32::MAX,
        }
    }
}

impl ServerFacts {
    /// Makes the facts of a server that does not speak SMB. `url` must not contain
    /// a secret.
    #[must_use]
    pub fn other(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            is_here: false,
            logon: None,
            dialect: None,
            signing: None,
            encryption: None,
            max_read: 0,
            max_write: 0,
            max_transact: 0,
            logoff_ends_all: false,
            split: None,
            tree: None,
            populations: Vec::new(),
        }
    }

    /// Returns in a clause why the run does not use the tree that is prepared on the share.
    /// `None` if it does, or needs none, or none is prepared.
    #[must_use]
    pub fn unused_tree(&self) -> Option<&str> {
        match &self.tree {
            Some(TreeUsed::Own { unused }) => unused.as_deref(),
            Some(TreeUsed::Prepared) | None => None,
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every planned load point was run.
    Complete,
    /// The user interrupted the run.
    Interrupted,
    /// Aborted because of the server or the network, with the reason as a
    /// lower-case clause.
    Aborted(String),
}

/// The source of a part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The plan.
    #[default]
    Plan,
    /// The program that embeds the engine. What the plan says of this part did not
    /// run.
    Own,
}

/// All measurements of a run so far.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// The plan of the run.
    pub plan: Plan,
    /// The source of the driver.
    pub driver: Origin,
    /// The source of the operations.
    pub operations: Origin,
    /// The properties that the server negotiated.
    pub server: ServerFacts,
    /// The salt of the contents of files, drawn anew for each run. It serves to
    /// examine files on the server.
    pub salt: Salt,
    /// The hosts of the run, the first one first; empty if there is only one.
    pub hosts: Vec<HostFacts>,
    /// A number that runs on the same prepared files, and so with the same salt, differ in.
    pub run_number: u32,
    /// Wall-clock time of the start.
    pub started: SystemTime,
    /// Finished load points, and at most one that was cut short.
    pub load_points: Vec<LoadPointRecord>,
    /// The own part of the first host in each load point, where the parts of hosts are kept
    /// for themselves.
    pub own_part: Vec<LoadPointRecord>,
    /// How the run ended; [`Outcome::Complete`] only after every load point has
    /// run.
    pub outcome: Outcome,
    /// The notes for a check after a crash, if the run made such.
    pub noted: Option<NotedRecord>,
    /// The files that could not be removed from the share, as a lower-case clause.
    pub leftover: Option<String>,
    /// Recycle bins to which the server moved deleted files of the run.
    pub recycle_bins: Vec<RecycleBin>,
    /// What was measured if the space of the deleted files did not come back.
    pub space_kept: Option<String>,
    /// Why smbench could not check whether that space came back.
    pub space_unchecked: Option<String>,
}

/// Adds a clause to those of a record that are about the share, such as
/// [`RunRecord::leftover`], unless it is among them.
pub fn add_clause(all: &mut Option<String>, further: Option<String>) {
    match (all, further) {
        (all @ None, further) => *all = further,
        (Some(all), Some(further)) if !all.contains(&further) => *all += &format!("; {further}"),
        _ => {}
    }
}

impl RunRecord {
    /// Makes the record of a run that has just begun.
    pub fn new(plan: &Plan, server: ServerFacts, started: SystemTime) -> Self {
        Self {
            plan: plan.clone(),
            driver: Origin::Plan,
            operations: Origin::Plan,
            server,
            salt: Salt::default(),
            hosts: Vec::new(),
            run_number: 0,
            started,
            load_points: Vec::new(),
            own_part: Vec::new(),
            outcome: Outcome::Interrupted,
            noted: None,
            leftover: None,
            recycle_bins: Vec::new(),
            space_kept: None,
            space_unchecked: None,
        }
    }
}
