//! The program and the format of a document.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the format that this build writes, and the newest that it reads.
pub const SCHEMA_VERSION: u32 = 1;

/// The program that wrote a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolDoc {
    /// Name of the program: `smbench`.
    pub name: String,
    /// Release of the program.
    pub version: String,
}

impl ToolDoc {
    /// Describes this program.
    #[must_use]
    pub fn this() -> Self {
        Self {
            name: "smbench".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}
