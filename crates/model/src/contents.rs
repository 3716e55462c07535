//! Contents of files: their blocks and their verification.

pub mod after;
pub mod block;
pub mod notes;
pub mod verify;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether data read back is verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verify {
    /// Payloads are discarded without a check.
    #[default]
    Off,
    /// Every byte read is compared with what was written.
    ReadBack,
}
