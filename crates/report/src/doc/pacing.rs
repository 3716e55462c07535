//! The event that starts an operation, as a document names it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::load::LoadModel;

/// The event that starts an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LoopDoc {
    /// The answer to an earlier operation. No operation is due before it is sent,
    /// so response times equal service times. The exception are clients with a
    /// think time: their response times count from the end of the think time.
    Closed,
    /// The clock. Response times count from the instant at which an operation was
    /// due. Service times count from the instant at which it was sent.
    Rate,
    /// The clock, at the recorded instants of a replay, but one operation after the
    /// other. Response times count as at a rate.
    Recorded,
}

impl From<LoadModel> for LoopDoc {
    fn from(load: LoadModel) -> Self {
        match load {
            LoadModel::Closed { .. } => Self::Closed,
            LoadModel::Rate { .. } | LoadModel::Stream(_) => Self::Rate,
            LoadModel::Recorded => Self::Recorded,
        }
    }
}
