//! Reads loadfiles of dbench and NBENCH: recorded operations of clients of a file
//! server, one per line.
//!
//! ```text
//! [seconds] OP args... STATUS
//! ```
//!
//! The grammar is that of dbench 4 (`child.c`) and of smbtorture's bench.nbench
//! (`source4/torture/nbench`). Older files without times, statuses or levels are read
//! too, and so are those of dbench's `smb` backend. An operation without a status counts as successful. A file is read
//! once, line by line. The result is a [`Trace`], a fraction of its size.

mod backend;
mod line;
mod words;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use aws_lc_rs::digest::{Context, SHA256};
use smbench_model::setting::SKIP_UNKNOWN;
use smbench_model::trace::{Builder, Handle, Step, Trace};
use smbench_protocol::NtStatus;
use thiserror::Error;

use backend::OpenFiles;
use line::LineError;

/// Limits for the bytes of a line and the lines of a file. A file above them is not
/// a loadfile.
const LINE_BYTES_MAX: u64 = 64 * 1024;
const LINES_MAX: u64 = 1 << 26;

/// The treatment of lines that are not understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unknown {
    /// Refuse the file.
    #[default]
    Refuse,
    /// Leave them out and count them.
    Skip,
}

/// The reason why a loadfile cannot be replayed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadfileError {
    /// The file cannot be read.
    #[error("{}", crate::named::unreadable(.path, .reason))]
    Unreadable {
        /// The path as given.
        path: String,
        /// The system's reason.
        #[source]
        reason: io::Error,
    },
    /// A line is not valid.
    #[error("loadfile {path}, line {line}: {reason}")]
    Malformed {
        /// The path as given.
        path: String,
        /// Number of the line, from 1.
        line: u64,
        /// The error, and how to correct it.
        reason: String,
    },
    /// The file contains no operation.
    #[error("loadfile {path} holds no operation")]
    Empty {
        /// The path as given.
        path: String,
    },
}

/// Reads the loadfile at `path`.
///
/// # Errors
/// When the file cannot be read. Otherwise the first line that is not valid.
pub fn read(path: &str, unknown: Unknown) -> Result<Trace, LoadfileError> {
    let unreadable = |reason| LoadfileError::Unreadable {
        path: path.to_owned(),
        reason,
    };
    let file = File::open(Path::new(path)).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(unreadable(io::ErrorKind::IsADirectory.into()));
    }
    parse(path, BufReader::with_capacity(1 << 18, file), unknown)
}

/// Parses a loadfile. Messages and results call it `path`.
///
/// # Errors
/// As [`read`].
pub fn parse(
    path: &str,
    mut input: impl BufRead,
    unknown: Unknown,
) -> Result<Trace, LoadfileError> {
    let mut builder = Builder::default();
    let mut open_files = OpenFiles::default();
    let mut hash = Context::new(&SHA256);
    let mut bytes = Vec::new();
    let mut number = 0;
    loop {
        bytes.clear();
        let read = (&mut input)
            .take(LINE_BYTES_MAX + 1)
            .read_until(b'\n', &mut bytes);
        let malformed = |reason: String| LoadfileError::Malformed {
            path: path.to_owned(),
            line: number + 1,
            reason,
        };
        match read {
            Ok(0) => break,
            Ok(read) if read as u64 > LINE_BYTES_MAX => {
                let words =
                    format!("it is longer than {LINE_BYTES_MAX} bytes: this is no loadfile");
                return Err(malformed(words));
            }
            Ok(_) if number == LINES_MAX => {
                return Err(malformed(format!("there are more than {LINES_MAX} lines")));
            }
            Ok(_) => {}
            Err(reason) => {
                let path = path.to_owned();
                return Err(LoadfileError::Unreadable { path, reason });
            }
        }
        hash.update(&bytes);
        let line = text(&bytes);
        // Editors of Windows put a byte order mark before the first line.
        let line = line
            .strip_prefix('\u{feff}')
            .filter(|_| number == 0)
            .unwrap_or(&line);
        if let Err(error) = add(&mut builder, &mut open_files, line) {
            match (error.left_out_as(), unknown) {
                (Some(what), Unknown::Skip) => builder.skip(what),
                (Some(_), Unknown::Refuse) => {
                    let reason = format!("{error}; {SKIP_UNKNOWN} leaves such lines out");
                    return Err(malformed(reason));
                }
                (None, _) => return Err(malformed(error.to_string())),
            }
        }
        number += 1;
    }
    // Skipping leaves out other lines, which makes another trace.
    hash.update(match unknown {
        Unknown::Refuse => b"",
        Unknown::Skip => b"skip unknown",
    });
    let mut digest = [0; 32];
    digest.copy_from_slice(hash.finish().as_ref());
    let trace = builder.finish(path.to_owned(), number, digest);
    if trace.is_empty() {
        Err(LoadfileError::Empty {
            path: path.to_owned(),
        })
    } else {
        Ok(trace)
    }
}

/// Decodes a line: UTF-8, or otherwise Latin-1, the encoding of old files.
fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => bytes.iter().copied().map(char::from).collect(),
    }
}

fn add(builder: &mut Builder, open_files: &mut OpenFiles, text: &str) -> Result<(), LineError> {
    for _ in 0..open_files.times_of(text)? {
        let translated = open_files.translated(text)?;
        add_once(builder, translated.as_deref().unwrap_or(text))?;
    }
    Ok(())
}

/// The handle of an open that fails, in files of 2002.
const NO_HANDLE: Handle = -1;

fn add_once(builder: &mut Builder, text: &str) -> Result<(), LineError> {
    let mut words = words::Words::default();
    let Some(line) = line::parse(text, &mut words)? else {
        return Ok(());
    };
    let status = line.status.unwrap_or(match line.step {
        Step::Create {
            handle: NO_HANDLE, ..
        } => NtStatus::OBJECT_NAME_NOT_FOUND,
        _ => NtStatus::SUCCESS,
    });
    let added = builder.push(&line.step, status, line.at);
    let added = match line.status {
        None => added.and_then(|()| builder.accept_any_status()),
        Some(_) => added,
    };
    added.map_err(|error| LineError::of(line.verb, error))
}

#[cfg(test)]
mod tests;
