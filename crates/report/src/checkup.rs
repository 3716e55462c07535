//! A check-up of a server: short load points of different kinds, as one screen.
//!
//! A check-up answers what is slow. Each [`CheckupCell`] is a value of a load point, and each finding
//! has the values that show it. Not here: how the load points are made (`runner::checkup`).

mod cells;
mod compare;
mod findings;
mod steps;
mod text;
mod values;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use compare::compare;
pub use steps::{CheckupStep, MeasuredStep};
pub use text::{blocks, render};
pub use values::{CheckupCell, CheckupFinding};

use crate::doc::{LoadError, SCHEMA_VERSION, ToolDoc, read, to_json};

/// The document of a check-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckupDoc {
    /// Version of the format, as in documents of runs.
    pub schema_version: u32,
    /// The program that wrote it.
    pub tool: ToolDoc,
    /// Start of the check-up, RFC 3339 in UTC.
    pub started: String,
    /// URL of the server, without a password.
    pub url: String,
    /// Dialect, signing and encryption that the server chose by itself.
    pub session: String,
    /// What was measured and found.
    pub checkup: CheckupPart,
}

/// What a check-up measured and found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckupPart {
    /// Whether it was a long check-up.
    pub long: bool,
    /// Seconds that it took.
    pub took_s: f64,
    /// Size of the file that was read and written, in bytes.
    pub file_bytes: u64,
    /// The values, in the order of the screen.
    pub cells: Vec<CheckupCell>,
    /// What is remarkable, the most important first; at most five.
    pub findings: Vec<CheckupFinding>,
}

/// What a check-up says about itself.
#[derive(Clone, Debug)]
pub struct CheckupFacts {
    /// URL of the share, without a password.
    pub url: String,
    /// Whether this is the long check-up.
    pub long: bool,
    /// Begin of the check-up (RFC 3339).
    pub started: String,
    /// Time of the whole check-up in seconds.
    pub took_s: f64,
    /// Size of the file that was read and written.
    pub file_bytes: u64,
}

/// Highest number of findings.
const FINDINGS_MAX: usize = 5;

impl CheckupDoc {
    /// Builds the document from what was measured.
    #[must_use]
    pub fn of(measured: &[MeasuredStep], facts: CheckupFacts) -> Self {
        let CheckupFacts {
            url,
            long,
            started,
            took_s,
            file_bytes,
        } = facts;
        let session = measured.iter().find_map(|of| of.run.as_ref().ok());
        let session = session.map_or_else(String::new, |run| {
            let server = &run.server;
            format!(
                "SMB {}, signing {}, encryption {}",
                server.dialect, server.signing, server.encryption
            )
        });
        let mut findings = findings::all(measured);
        findings.truncate(FINDINGS_MAX);
        Self {
            schema_version: SCHEMA_VERSION,
            tool: ToolDoc::this(),
            started,
            url,
            session,
            checkup: CheckupPart {
                long,
                took_s,
                file_bytes,
                cells: cells::all(measured),
                findings,
            },
        }
    }

    /// Reads a document; `None` if the file is not one of a check-up.
    ///
    /// # Errors
    ///
    /// [`LoadError`] if the file cannot be read.
    pub fn load(path: &Path) -> Result<Option<Self>, LoadError> {
        // What a run, a study or a damaged file is, is told by those that read it.
        if path.is_dir() {
            return Ok(None);
        }
        let text = read(path)?;
        Ok(serde_json::from_slice(&text).ok())
    }

    /// Returns the document as JSON. Ends with a newline.
    #[must_use]
    pub fn to_json(&self) -> String {
        to_json(self)
    }

    /// Returns the value of a cell.
    fn value(&self, name: &str) -> Option<f64> {
        let mut cells = self.checkup.cells.iter();
        cells.find(|cell| cell.name == name)?.value
    }
}
