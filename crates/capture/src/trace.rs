//! The lines of a trace: one request each, in the order of their answers.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

/// Bytes of lines that are compressed at once.
const COMPRESSED_BYTES: usize = 64 * 1024;

/// The command of a line that stands for no request: a session ended without a log-off.
pub(crate) const SESSION_END: &str = "session_end";

/// A line of `trace.jsonl.gz`. What a request does not have is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceLine {
    /// Number of the request in the capture, from 1, in the order of sending.
    pub number: u64,
    /// Nanoseconds from the first frame to the last packet of the request.
    pub at_ns: u64,
    /// Nanoseconds from there to the last packet of the final answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ns: Option<u64>,
    /// Number of the TCP connection, from 1.
    pub connection: u32,
    /// Number of the session, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<u32>,
    /// Name of the command; `session_end` where a session ended without a log-off.
    pub command: String,
    /// Number of the path in `tree.jsonl.gz`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<u32>,
    /// Number of the path that a rename makes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u32>,
    /// Pattern of a listing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Number of the open, from 1: that a CREATE makes, or another command uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<u64>,
    /// Offset of a READ, a WRITE, the first range of a LOCK.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Bytes that are asked for or carried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// Bytes that were moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<u64>,
    /// Type and class of information, control code, or filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u32>,
    /// Of a SET_INFO the size or the attributes that it sets, or whether it deletes or replaces;
    /// MinimumCount of a READ; ranges of a LOCK.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<u64>,
    /// Flags of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<u32>,
    /// What a CREATE asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create: Option<Box<TraceCreate>>,
    /// Number of the compound; the same in all its requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u64>,
    /// Status of the final answer; missing if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Whether the answer came after an interim answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pending: bool,
}

impl TraceLine {
    /// Returns the time of the final answer, or of the request if it has none.
    pub(crate) fn done_ns(&self) -> u64 {
        self.at_ns.saturating_add(self.took_ns.unwrap_or(0))
    }
}

/// What a CREATE asked for, and what it got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceCreate {
    /// DesiredAccess.
    pub access: u32,
    /// FileAttributes.
    pub attributes: u32,
    /// ShareAccess.
    pub share: u32,
    /// CreateDisposition.
    pub disposition: u32,
    /// CreateOptions.
    pub options: u32,
    /// The oplock level that was asked for.
    pub oplock: u8,
    /// Names of the contexts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<String>,
    /// The state of the lease that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<u32>,
    /// The size that a new file will have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation: Option<u64>,
    /// The durable handle of SMB 3 that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durable: Option<TraceDurable>,
    /// The oplock level that was granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granted: Option<u8>,
    /// Whether a durable handle was granted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
    /// CreateAction of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<u32>,
    /// Size of the file when it was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// What a CREATE asked for with `DH2Q`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceDurable {
    /// How long the server should keep the handle.
    pub timeout_ms: u32,
    /// 2 asks for a persistent handle.
    pub flags: u32,
}

/// A line of `tree.jsonl.gz`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TreeLine<'a> {
    /// Number of the path, from 1.
    pub path: u32,
    /// Number of the directory; missing for a share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// The name, or what stands for it.
    pub name: &'a str,
    /// Size when it was first opened or listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Whether it is a directory, if that was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<bool>,
    /// Whether the name was not recorded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub made_up: bool,
    /// Whether the name was in a listing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub listed: bool,
}

/// A line of `sessions.jsonl.gz`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionLine {
    /// Number of the session, from 1.
    pub session: u32,
    /// The address of the client: as recorded, or a hash; missing in folders of older imports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The user that logged on: name or hash; missing if that is not in the capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// Writes lines of JSON, compressed by gzip.
pub(crate) struct LineWriter {
    out: GzEncoder<Box<dyn Write>>,
    /// Lines that are not compressed yet: many at once are quicker.
    lines: Vec<u8>,
    /// The first error. Later lines are not written.
    failed: Option<io::Error>,
}

impl LineWriter {
    pub(crate) fn new(out: Box<dyn Write>) -> Self {
        Self {
            out: GzEncoder::new(out, Compression::fast()),
            lines: Vec::new(),
            failed: None,
        }
    }

    pub(crate) fn write(&mut self, line: &impl Serialize) {
        if self.failed.is_some() {
            return;
        }
        let written = serde_json::to_writer(&mut self.lines, line).map_err(io::Error::from);
        self.lines.push(b'\n');
        self.failed = written.err();
        if self.lines.len() >= COMPRESSED_BYTES {
            self.compress();
        }
    }

    fn compress(&mut self) {
        let written = self.out.write_all(&self.lines);
        self.failed = self.failed.take().or(written.err());
        self.lines.clear();
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.compress();
        match self.failed {
            Some(error) => Err(error),
            None => self.out.finish()?.flush(),
        }
    }
}
