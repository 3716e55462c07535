//! The part of a document that is one kind of operation of a load point.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::kind::OpKind;
use smbench_model::record::{OperationFailure, Tally};

use crate::latency::{Hdr, LatencyDoc};

/// One kind of operation in the window of a load point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct OpDoc {
    /// Number of operations completed without error.
    pub count: u64,
    /// Payload bytes of those operations.
    pub bytes: u64,
    /// Number of operations answered with an error status or with wrong data, ramps
    /// included.
    pub errors: u64,
    /// Number of requests that the `count` operations took. Absent if each took one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Names that those operations listed, without `.` and `..`. Absent if they list none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// Number of operations that had been sent and were not answered when the window closed.
    /// Absent, like the next two keys, if there were none, and in documents of releases that did
    /// not count them. No other number of `ops` contains these operations. A closed loop always
    /// has some in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u64>,
    /// Shortest time from sending until the window closed, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_ns_min: Option<u64>,
    /// Longest time from sending until the window closed, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_ns_max: Option<u64>,
    /// Time from sent to done; `null` if `count` is 0.
    pub service_ns: Option<LatencyDoc>,
    /// Time from due to done; `null` if `count` is 0.
    pub response_ns: Option<LatencyDoc>,
    /// Histogram of service times in nanoseconds: base64 of `HdrHistogram` V2 with
    /// DEFLATE, 1 ns to 1 h, 3 digits.
    pub hdr: Hdr,
    /// Histogram of response times. Absent if they equal service times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_hdr: Option<Hdr>,
}

/// Failed operations of one kind and cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureDoc {
    /// The kind of operation: `read`, `create` and so on.
    pub op: String,
    /// The NTSTATUS by name, or by number if smbench has no name for it. `short`
    /// for an answer with too few bytes, `wrong-data` under verification,
    /// `lost-connection` if no answer came because the connection was lost and replaced.
    pub status: String,
    /// The NTSTATUS as `0xC0000022`; `null` if the cause was not a status.
    pub code: Option<String>,
    /// Number of failures.
    pub count: u64,
}

impl FailureDoc {
    /// Returns failures by operation and cause.
    pub(crate) fn all(counts: &BTreeMap<(OpKind, OperationFailure), u64>) -> Vec<Self> {
        let doc = |(&(kind, failure), &count): (&(OpKind, OperationFailure), &u64)| Self {
            op: kind.name().to_owned(),
            status: failure.name(),
            code: match failure {
                OperationFailure::Status(status) => Some(format!("0x{:08X}", status.0)),
                _ => None,
            },
            count,
        };
        counts.iter().map(doc).collect()
    }

    /// Returns its place among the failures of a document.
    pub(crate) fn rank(&self) -> (Option<OpKind>, Option<OperationFailure>) {
        let cause = self.code.as_deref().unwrap_or(&self.status);
        (OpKind::named(&self.op), OperationFailure::from_name(cause))
    }

    /// Returns whether both are failures of the same kind by the same cause.
    pub(crate) fn is_same_cause(&self, other: &Self) -> bool {
        (&self.op, &self.status, &self.code) == (&other.op, &other.status, &other.code)
    }
}

/// A directory that a walk left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct RefusedDirectoryDoc {
    /// Its path below the share, with `\` between the names.
    pub path: String,
    /// The NTSTATUS, as in `failures`.
    pub status: String,
}

impl RefusedDirectoryDoc {
    /// Returns the directories that a load point has named.
    pub(crate) fn all(ops: &Tally) -> Vec<Self> {
        let refused = ops.refused().all();
        refused
            .map(|(path, status)| Self {
                path: path.to_owned(),
                status: status.to_string(),
            })
            .collect()
    }
}

/// Operations of one kind that differed from the recording in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DifferenceDoc {
    /// The kind of operation.
    pub op: String,
    /// The recorded NTSTATUS, as in `failures`. `other` if there were more kinds of
    /// differences than the run keeps separately.
    pub recorded: String,
    /// The result in the replay: an NTSTATUS, or `short` or `long` if the number of
    /// bytes differed.
    pub seen: String,
    /// Number of differences.
    pub count: u64,
}

/// The operations of a replay, ramps included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ReplayedDoc {
    /// Number of all operations, however they ended.
    pub operations: u64,
    /// Number of operations that did not go as recorded: the sum of `differences`. If they are
    /// more than 1 % of `operations`, the load point is not valid.
    pub differing: u64,
}

impl OpDoc {
    /// Returns the histogram of service times.
    pub(crate) const fn service(&self) -> &Hdr {
        &self.hdr
    }

    /// Returns the histogram of response times.
    #[must_use]
    pub fn response(&self) -> &Hdr {
        self.response_hdr.as_ref().unwrap_or(&self.hdr)
    }
}

/// Returns whether the workload, not the server, asked for operations of this name.
pub(crate) fn is_asked_for(name: &str) -> bool {
    OpKind::named(name).is_none_or(OpKind::is_asked_for)
}

/// Returns whether operations of this name belong to the window. Those after the
/// load do not, so a rate over the window's length has no meaning for them.
pub(crate) fn is_of_window(name: &str) -> bool {
    OpKind::named(name) != Some(OpKind::FinalFlush)
}
