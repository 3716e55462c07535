//! The spec of a run as written: a profile file and the options of a command line.
//!
//! Everything is optional here, and any value may be wrong. Only
//! [`Plan::resolve`](crate::plan::Plan::resolve) validates it. A profile is TOML:
//!
//! ```toml
//! name = "file-server"
//! description = "what it is for"
//! read_percent = 80
//! split = "requests"           # or "clients": each only reads or only writes
//! access = "random"            # or "sequential"
//! flush_every_writes = 100     # never when absent
//! [files]
//! scope = "private"            # or "shared"
//! count = 1                    # per client; in total when shared
//! size = "1MiB"
//! [[sizes]]                    # weights sum to 100
//! size = "4KiB"
//! weight = 100
//! [run]                        # defaults that command-line options override
//! clients = "1,4..60:4"
//! outstanding = 1
//! duration = "30s"
//! ```
//!
//! A mix of any commands replaces `read_percent`:
//!
//! ```toml
//! [[operations]]               # weights sum to 100
//! op = "query_info"
//! class = "basic"
//! weight = 100
//! ```
//!
//! An access pattern as in Iometer ([`crate::access`]) replaces it too:
//!
//! ```toml
//! [[pattern]]                  # weights sum to 100
//! size = "4KiB"
//! weight = 60                  # percent of the bursts
//! reads = 80                   # percent of its requests
//! random = 100                 # percent of its requests
//! delay = "10ms"               # before each burst; none when absent
//! burst = 5                    # requests; 1 when absent
//! align = "4KiB"               # of offsets; 512 bytes when absent or 0
//! reply = 0                    # bytes in the other direction; none when absent
//! ```
//!
//! Populations replace every description of requests. Each has a profile of its own:
//!
//! ```toml
//! [[population]]
//! name = "office"
//! profile = "office-save"      # a built-in one, or a path relative to this file
//! share = 80                   # percent of the clients, or clients = 4
//! think_time = "2s"            # also outstanding, rate, oplock and others
//! ```
//!
//! Frames with deadlines ([`crate::load::stream`]) replace all of them:
//!
//! ```toml
//! stream = { format = "4k", depth = "10 bit", fps = 24 }
//! ```
//!
//! Not here: built-in profiles ([`crate::profile`]) and reading files.

mod pattern;
mod population;
mod run;
mod stream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::access::{Access, Split};
use crate::action::WeightedAction;
use crate::files::Scope;
pub use crate::generator::GeneratorSpec;
pub use crate::sessions::SessionsSpec;
use crate::tree::TreeShape;
use crate::unit::UnitLimits;
use crate::units::Size;
pub use crate::work::WorkSpec;
use crate::workload::NetbenchCapture;
pub use pattern::PatternSpec;
pub use population::PopulationSpec;
pub use run::RunOptions;
pub use stream::StreamSpec;

/// A profile as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// The name that results use; the file's name when absent.
    pub name: Option<String>,
    /// The purpose of the profile, in one line.
    pub description: Option<String>,
    /// Share of reads among reads and writes, 0 to 100. Required unless there are
    /// operations.
    pub read_percent: Option<f64>,
    /// How reads and writes are divided; `requests` when absent. With `requests`
    /// each client does both. With `clients`, `read_percent` of the clients read
    /// and the others write.
    pub split: Option<Split>,
    /// Order of offsets; random when absent.
    pub access: Option<Access>,
    /// Number of a client's writes after which it sends a FLUSH; never when absent.
    pub flush_every_writes: Option<u32>,
    /// The files worked on.
    pub files: FilesSpec,
    /// A tree of directories and files, which replaces `[files]`. All clients share it.
    pub tree: Option<TreeShape>,
    /// The mix of request sizes. Required where requests have a size.
    pub sizes: Vec<SizeSpec>,
    /// A mix of any commands. It replaces plain reads and writes.
    pub operations: Vec<WeightedAction>,
    /// The lines of an access pattern. They replace `read_percent` and
    /// `operations`.
    pub pattern: Vec<PatternSpec>,
    /// An office workload, `without-cache` or `oplocks`. It replaces every other
    /// description of requests.
    pub netbench: Option<NetbenchCapture>,
    /// The populations of clients, which are under load at the same time. They replace every
    /// description of requests and files.
    pub population: Vec<PopulationSpec>,
    /// The name of what load points count in place of clients, such as `JOB`. Each has `per_unit`
    /// clients of every population, all of which have a rate per client.
    pub unit: Option<String>,
    /// What the clients of a load point of units must reach to be valid.
    pub unit_limits: Option<UnitLimits>,
    /// Frames that each client reads or writes by their instants. It replaces `sizes` and
    /// every other description of requests but `read_percent`, which is then the share of
    /// clients that read; 100 when absent.
    pub stream: Option<StreamSpec>,
    /// Defaults for options that are missing on the command line.
    pub run: RunOptions,
}

/// The `[files]` table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FilesSpec {
    /// Who works on a file; `private` when absent.
    pub scope: Option<Scope>,
    /// Files per client, or in total when shared; 1 when absent.
    pub count: Option<u32>,
    /// Bytes in each file; 1 MiB when absent.
    pub size: Option<Size>,
}

/// One `[[sizes]]` table.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeSpec {
    /// Bytes per request.
    pub size: Size,
    /// Percent of the requests.
    pub weight: f64,
}

impl Spec {
    /// Parses the TOML of a profile.
    ///
    /// # Errors
    /// When the text is not TOML, or contains a key or a type of value that no
    /// profile has.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        parse(text)
    }
}

/// Parses TOML, of a profile or of another file of the same style.
///
/// # Errors
/// When the text is not TOML, or does not fit `T`.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, SyntaxError> {
    toml::from_str(text).map_err(|error| SyntaxError::new(text, &error))
}

/// The place and the reason of a syntax error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct SyntaxError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// One line of text, without the place.
    pub message: String,
}

impl SyntaxError {
    fn new(text: &str, error: &toml::de::Error) -> Self {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let before = String::from_utf8_lossy(&text.as_bytes()[..at]);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: in_words(&error.message().trim().replace('\n', "; ")),
        }
    }
}

/// Replaces the types of Rust at the end of a message.
fn in_words(message: &str) -> String {
    let Some((begin, expected)) = message.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let expected = match expected {
        "u16" | "u32" | "u64" => {
            "a whole number of 0 or more without quotes and unit, such as 5000"
        }
        "f64" => "a number without quotes and unit, such as 50",
        other => other,
    };
    format!("{begin}, expected {expected}")
}

#[cfg(test)]
mod tests;
