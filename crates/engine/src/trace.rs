//! Traces: [`smbench_model::trace`] and the operations of a replay.

pub use smbench_model::operations::replay::Replays;
pub use smbench_model::trace::*;
