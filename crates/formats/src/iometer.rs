//! Reads Iometer's configuration files (`.icf`): the access specifications, and the
//! parts of the test setup that have a meaning for smbench.
//!
//! ```text
//! Version 1.1.0
//! 'TEST SETUP ====
//! 'Run Time
//! '    hours      minutes    seconds
//!     0          10         0
//! 'END test setup
//! 'ACCESS SPECIFICATIONS ====
//! 'Access specification name,default assignment
//!     File server,NONE
//! 'size,% of size,% reads,% random,delay,burst,align,reply
//!     512,10,80,100,0,1,0,0
//!     4096,90,80,100,0,1,0,0
//! 'END access specifications
//! 'MANAGER LIST ====
//! ```
//!
//! The grammar is that of Iometer 1.1.0 (`ICF_ifstream.cpp`, `AccessSpecList.cpp`,
//! `PageSetup.cpp`, `Worker.cpp`), which reads files from version 1998.05.21. A
//! line that begins with `'` names the content of the lines below. Not here: where
//! profiles are written.

mod lines;
mod profile;
mod setup;
mod specification;
mod workers;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use smbench_model::spec::PatternSpec;
use smbench_model::units::Size;

use lines::{IcfLines, LineProblem};
pub use profile::{Imported, quoted};

/// The largest configuration file in bytes. A larger file is refused without being
/// parsed.
const CONFIG_BYTES_MAX: u64 = 16 << 20;
/// The largest number of access specifications, and of profiles made from them. No
/// real test has as many.
const PROFILES_MAX: usize = 10_000;
/// Bytes of a file if the configuration has no size of the disk.
const FILE_BYTES: u64 = 1 << 20;

/// The content of a configuration file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IometerConfig {
    /// The access specifications, in the order of the file.
    pub specs: Vec<AccessSpec>,
    /// How the access specifications are run.
    pub setup: IometerSetup,
    /// The parts that were not imported.
    pub notes: Vec<Note>,
}

/// An access specification.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessSpec {
    /// The name in Iometer.
    pub name: String,
    /// The number of its first line in the file, from 1.
    pub line: usize,
    /// Its lines; the weights sum to 100.
    pub lines: Vec<PatternSpec>,
}

/// How access specifications are run. Values that the file does not contain are
/// missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IometerSetup {
    /// The description of the test.
    pub description: Option<String>,
    /// Measured time.
    pub run_time: Option<Duration>,
    /// Time under load before the measured time.
    pub ramp_up: Option<Duration>,
    /// Workers at each load point; empty if the file does not contain their number.
    pub workers: Vec<u32>,
    /// Outstanding requests, one value after the other.
    pub outstanding: Vec<u32>,
    /// Bytes of each worker's file.
    pub file_size: Option<Size>,
    /// Seed of the random choices.
    pub seed: Option<u64>,
    /// Names of the access specifications assigned to workers, in their order.
    pub assigned: Vec<String>,
}

/// A part of the file that was not imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its line, from 1.
    pub line: usize,
    /// A description, and what smbench does instead.
    pub text: String,
}

/// The reason why a file cannot be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file cannot be read.
    #[error("{}", crate::named::unreadable(.path, .reason))]
    Unreadable {
        /// The path as given.
        path: String,
        /// The system's reason.
        #[source]
        reason: io::Error,
    },
    /// A line is not valid or not supported.
    #[error("{path}:{line}: {reason}")]
    Malformed {
        /// The path as given.
        path: String,
        /// Number of the line, from 1.
        line: usize,
        /// The error, and how to correct it.
        reason: String,
    },
}

/// Reads the configuration file at `path`.
///
/// # Errors
/// When the file cannot be read or is larger than 16 MiB. Otherwise the first line
/// that is not valid or not supported.
pub fn read(path: &str) -> Result<IometerConfig, ImportError> {
    let unreadable = |reason| ImportError::Unreadable {
        path: path.to_owned(),
        reason,
    };
    let mut bytes = Vec::new();
    File::open(Path::new(path))
        .and_then(|file| file.take(CONFIG_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() as u64 > CONFIG_BYTES_MAX {
        return Err(unreadable(io::Error::other("larger than 16 MiB")));
    }
    parse(path, &bytes)
}

/// Parses a configuration. Messages call it `path`.
///
/// # Errors
/// As [`read`].
pub fn parse(path: &str, bytes: &[u8]) -> Result<IometerConfig, ImportError> {
    sections(&mut IcfLines::new(bytes)).map_err(|LineProblem { line, reason }| {
        ImportError::Malformed {
            path: path.to_owned(),
            line,
            reason,
        }
    })
}

fn sections(lines: &mut IcfLines) -> Result<IometerConfig, LineProblem> {
    lines.check_version()?;
    let mut config = IometerConfig::default();
    let mut is_listed = false;
    let mut setup = setup::SetupReader::default();
    while let Some((at, text)) = lines.next() {
        if lines::begins(&text, "'TEST SETUP") {
            setup.test_setup(lines, &mut config)?;
        } else if lines::begins(&text, "'RESULTS DISPLAY") {
            lines.skip_to("'END results display");
        } else if lines::begins(&text, "'ACCESS SPECIFICATIONS") {
            is_listed = true;
            specification::section(lines, &mut config)?;
        } else if lines::begins(&text, "'MANAGER LIST") {
            setup.managers.read(lines, &mut config.notes)?;
        } else if !text.starts_with('\'') && !lines::begins(&text, "Version") {
            let expected = "expected one such as 'ACCESS SPECIFICATIONS";
            let reason = format!("`{text}` is in no section: {expected}");
            return Err(LineProblem::at(at, reason));
        }
    }
    if !is_listed || config.specs.is_empty() {
        return Err(LineProblem::at(
            lines.count(),
            "the file ends without an access specification: save it in Iometer with its access \
             specifications",
        ));
    }
    setup.conclude(&mut config)?;
    let profiles = config.specs.len() * config.setup.outstanding.len().max(1);
    if profiles > PROFILES_MAX {
        let reason = format!(
            "the file makes {profiles} profiles, one for each access specification and number of \
             outstanding I/Os: at most {PROFILES_MAX} are possible"
        );
        return Err(LineProblem::at(lines.count(), reason));
    }
    Ok(config)
}

#[cfg(test)]
mod tests;
