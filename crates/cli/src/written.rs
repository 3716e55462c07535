//! A run as JSON, as programs in other languages write it. A password is not part of it.

use serde::Deserialize;
use smbench_model::{RunOptions, Spec};

use crate::error::Error;

/// A run as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenRun {
    /// URL of the server.
    pub(crate) server: String,
    /// Name or path of a profile.
    #[serde(default)]
    pub(crate) profile: Option<String>,
    /// A workload with the keys of a profile file, in place of `profile`.
    #[serde(default)]
    pub(crate) workload: Option<Spec>,
    /// Options with the keys of the table `[run]` of a profile file.
    #[serde(default)]
    pub(crate) run: RunOptions,
    /// Name for the result.
    #[serde(default)]
    pub(crate) label: Option<String>,
    /// Remark about the result.
    #[serde(default)]
    pub(crate) note: Option<String>,
}

impl WrittenRun {
    pub(crate) fn parse(json: &str) -> Result<Self, Error> {
        let written: Self = serde_json::from_str(json).map_err(Error::Json)?;
        if written.profile.is_some() == written.workload.is_some() {
            return Err(Error::Workload);
        }
        Ok(written)
    }
}
