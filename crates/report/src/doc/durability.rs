//! What servers do before they answer a FLUSH or a WRITE, and what follows for the
//! comparison of runs. A difference of flush policies is only said not to show if no
//! request of the runs can wait for stable storage.

use std::fmt;

use itertools::Itertools as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::kind::OpKind;
use smbench_model::setting::SERVER_WRITE;

use super::run::RunDoc;
use super::server::FlushDoc;

/// The server's answer to a WRITE, and the source of this fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WriteDoc {
    /// Whether a WRITE waits for stable storage.
    pub policy: WritePolicyDoc,
    /// How the policy became known.
    pub source: FactSource,
}

/// The server's answer to a WRITE that does not ask for write-through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WritePolicyDoc {
    /// The server answers when the data is on stable storage.
    Waits,
    /// The server answers when the data is in its cache.
    Buffers,
}

/// The source of a fact about a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FactSource {
    /// The user stated it.
    Given,
    /// It follows from the settings of a server that smbench set up.
    Known,
}

/// A run, and the name of its server among those that are compared.
#[derive(Clone)]
pub(crate) struct NamedRun<'a> {
    pub(crate) name: String,
    pub(crate) run: &'a RunDoc,
}

/// A remark on the flush and write policies of compared servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DurabilityRemark {
    /// Flush policies differ, and the runs flush.
    FlushesDiffer { ignoring: String, honouring: String },
    /// Flush policies differ, but nothing in the runs waits for stable storage.
    FlushesHidden,
    /// Flush policies differ, no run flushes, and the write policy of these servers is
    /// unknown.
    WritesUnknown { on: String },
    /// Write policies differ, and the runs write.
    WritesDiffer { waiting: String, buffering: String },
}

impl fmt::Display for DurabilityRemark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FlushesDiffer {
                ignoring,
                honouring,
            } => write!(
                f,
                "flushes are ignored by {ignoring}, which is faster and may lose data in a power \
                 failure, and honoured by {honouring}"
            ),
            Self::FlushesHidden => f.write_str(
                "flush policies differ, but no run waits for stable storage, so the difference \
                 does not show",
            ),
            Self::WritesUnknown { on } => write!(
                f,
                "flush policies differ, but no run sends a flush; it is not known whether writes \
                 wait for stable storage on {on} (see {SERVER_WRITE})"
            ),
            Self::WritesDiffer { waiting, buffering } => write!(
                f,
                "each write waits for stable storage on {waiting}; {buffering} answers before \
                 that, which is faster and may lose data in a power failure"
            ),
        }
    }
}

impl DurabilityRemark {
    /// Compares the policies of servers.
    pub(crate) fn all(runs: &[NamedRun<'_>]) -> Vec<Self> {
        Self::of_flushes(runs)
            .into_iter()
            .chain(Self::of_writes(runs))
            .collect()
    }

    fn of_flushes(runs: &[NamedRun<'_>]) -> Option<Self> {
        let with = |policy| names(runs, |run| run.server.flush == Some(policy));
        let (ignoring, honouring) = (with(FlushDoc::Ignores)?, with(FlushDoc::Honours)?);
        let known = runs.iter().filter(|of| {
            matches!(
                of.run.server.flush,
                Some(FlushDoc::Ignores | FlushDoc::Honours)
            )
        });
        let known = known.cloned().collect_vec();
        if known.iter().any(|of| of.run.flushes() == Some(true)) {
            return Some(Self::FlushesDiffer {
                ignoring,
                honouring,
            });
        }
        if known.iter().any(|of| of.run.flushes().is_none()) {
            return None;
        }
        let unknown = |run: &RunDoc| run.moves_data_in() && run.server.write.is_none();
        match names(&known, unknown) {
            Some(on) => Some(Self::WritesUnknown { on }),
            None => (!known.iter().any(|of| of.run.writes_wait())).then_some(Self::FlushesHidden),
        }
    }

    fn of_writes(runs: &[NamedRun<'_>]) -> Option<Self> {
        let with = |policy| {
            names(runs, |run| {
                run.writes() && run.server.write.is_some_and(|write| write.policy == policy)
            })
        };
        Some(Self::WritesDiffer {
            waiting: with(WritePolicyDoc::Waits)?,
            buffering: with(WritePolicyDoc::Buffers)?,
        })
    }
}

/// Joins the names of the runs that are chosen; `None` if there are none.
fn names(runs: &[NamedRun<'_>], is_chosen: impl Fn(&RunDoc) -> bool) -> Option<String> {
    let chosen = runs.iter().filter(|of| is_chosen(of.run));
    let mut names = chosen.map(|of| &of.name).peekable();
    names.peek().is_some().then(|| names.join(", "))
}

impl RunDoc {
    /// Returns whether the run sends WRITEs.
    pub(crate) fn writes(&self) -> bool {
        self.sends(&[OpKind::Write])
    }

    /// Returns whether the run has the server write data in any way.
    fn moves_data_in(&self) -> bool {
        self.sends(&[OpKind::Write, OpKind::CopyChunk])
    }

    /// Returns whether the run writes to a server that waits for stable storage.
    fn writes_wait(&self) -> bool {
        let waits = |write: WriteDoc| write.policy == WritePolicyDoc::Waits;
        self.moves_data_in() && self.server.write.is_some_and(waits)
    }

    /// Returns whether the run asks to wait for stable storage, by a FLUSH or by a
    /// write-through. `None` if that is not known: a replay may have recorded CREATEs
    /// with write-through.
    fn flushes(&self) -> Option<bool> {
        let mut operations = self.plan.workloads().flat_map(|one| &one.operations);
        let is_through =
            operations.any(|op| op.parameters.get("write_through") == Some(&true.into()));
        if is_through || self.sends(&[OpKind::Flush, OpKind::FinalFlush]) {
            Some(true)
        } else if self.plan.workloads().any(|one| one.replay.is_some()) {
            None
        } else {
            Some(false)
        }
    }

    fn sends(&self, kinds: &[OpKind]) -> bool {
        let mut points = self.load_points.iter();
        points.any(|point| {
            kinds
                .iter()
                .any(|kind| point.whole.contains_key(kind.name()))
        })
    }
}
