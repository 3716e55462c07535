//! Reads the files of a folder: compressed lines, and the summary.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _};
use std::path::Path;

use aws_lc_rs::digest::Context;
use flate2::bufread::MultiGzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{LINES_MAX, RecordingError, SUMMARY_FILE, TREE_FILE};
use crate::names::NameTreatment;

/// The largest line. One of a trace is far shorter.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Checks that a path is a folder with a trace.
pub(super) fn check(folder: &str) -> Result<(), RecordingError> {
    let path = Path::new(folder);
    let found = if path.is_file() {
        "is a file"
    } else {
        match path.join(TREE_FILE).try_exists() {
            Ok(false) if path.is_dir() => "has no tree.jsonl.gz",
            Ok(false) => "does not exist",
            // Opening it tells the system's reason.
            Ok(true) | Err(_) => return Ok(()),
        }
    };
    Err(RecordingError::NoFolder {
        path: folder.to_owned(),
        found,
    })
}

/// The lines of a file.
pub(super) struct Lines {
    path: String,
    source: BufReader<MultiGzDecoder<BufReader<File>>>,
}

impl Lines {
    pub(super) fn open(folder: &str, name: &str) -> Result<Self, RecordingError> {
        let path = Path::new(folder).join(name);
        let shown = path.display().to_string();
        match File::open(&path) {
            Ok(file) => Ok(Self {
                path: shown,
                source: BufReader::new(MultiGzDecoder::new(BufReader::new(file))),
            }),
            Err(reason) => Err(RecordingError::Unreadable {
                path: shown,
                reason,
            }),
        }
    }

    /// Reads all lines, and adds them to a hash.
    pub(super) fn read<T: DeserializeOwned>(
        self,
        hash: &mut Context,
    ) -> Result<Vec<T>, RecordingError> {
        let mut lines = Vec::new();
        self.each(hash, |line| lines.push(line))?;
        Ok(lines)
    }

    /// Hands out one line after the other, and adds them to a hash.
    pub(super) fn each<T: DeserializeOwned>(
        mut self,
        hash: &mut Context,
        mut take: impl FnMut(T),
    ) -> Result<(), RecordingError> {
        let mut bytes = Vec::new();
        for before in 0.. {
            bytes.clear();
            let limited = &mut (&mut self.source).take(LINE_BYTES_MAX);
            let read = limited.read_until(b'\n', &mut bytes);
            match read {
                Ok(0) => break,
                Ok(_) => {}
                Err(reason) => {
                    let path = self.path;
                    return Err(RecordingError::Unreadable { path, reason });
                }
            }
            let malformed = |reason: String| RecordingError::Malformed {
                path: self.path.clone(),
                line: before as u64 + 1,
                reason,
            };
            if before == LINES_MAX {
                return Err(malformed(format!("there are more than {LINES_MAX} lines")));
            }
            hash.update(&bytes);
            let line = serde_json::from_slice(&bytes);
            take(line.map_err(|error| malformed(error.to_string()))?);
        }
        Ok(())
    }
}

/// Reads the summary of a folder, or a part of it.
pub(crate) fn of_summary<T: DeserializeOwned>(folder: &Path) -> Result<T, RecordingError> {
    let file = folder.join(SUMMARY_FILE);
    let path = file.display().to_string();
    match fs::read_to_string(file) {
        Err(reason) => Err(RecordingError::Unreadable { path, reason }),
        Ok(text) => serde_json::from_str(&text).map_err(|error| RecordingError::Malformed {
            path,
            line: error.line() as u64,
            reason: error.to_string(),
        }),
    }
}

/// What a summary says of names. Those of older imports do not.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SummaryNames {
    names: NameTreatment,
}

/// Returns how the names of a folder are written: as hashes, if nothing says so. Adds it to a
/// hash, because a replay depends on it.
pub(super) fn names(folder: &str, hash: &mut Context) -> Result<NameTreatment, RecordingError> {
    let names = match of_summary::<SummaryNames>(Path::new(folder)) {
        Err(RecordingError::Unreadable { reason, .. }) if reason.kind() == ErrorKind::NotFound => {
            NameTreatment::Hash
        }
        read => read?.names,
    };
    if names == NameTreatment::Keep {
        hash.update(b"keep");
    }
    Ok(names)
}

/// Returns the number of messages that remained encrypted, as far as the summary says it.
pub(super) fn encrypted(folder: &str) -> u64 {
    let summary = of_summary::<Value>(Path::new(folder)).unwrap_or_default();
    let count = &summary["unreadable"]["encrypted_messages"];
    count.as_u64().unwrap_or(0)
}
