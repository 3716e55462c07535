//! The notes of a run, for a check after a crash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run noted of its writes and flushes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotedRecord {
    /// The file with the notes.
    pub file: String,
    /// Number of notes in it: answered writes and flushes.
    pub notes: u64,
    /// Number of notes that could not be written in time, and are missing.
    pub lost: u64,
    /// Why the file ends early, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The directories with the files of the run, which stay on the share.
    pub directories: Vec<String>,
}
