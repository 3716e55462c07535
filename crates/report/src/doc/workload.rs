//! The workload of a plan in its document. Key names contain the units.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::access::Access;
use smbench_model::action::WeightedAction;
use smbench_model::files::Scope;
use smbench_model::kind::Direction;
use smbench_model::trace::RecordedTimes;
use smbench_model::tree::Tree;
use smbench_model::workload::{Replay, Requests, Timing, Workload};

use super::fileio::FileioDoc;
use super::named::Named;
use super::pattern::PatternDoc;
use crate::units;

/// The workload of each client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct WorkloadDoc {
    /// Request sizes and their weights.
    pub sizes: Vec<SizeDoc>,
    /// Share of reads among reads and writes, 0 to 100. `null` if there are
    /// `operations`, a `pattern` or `readers_percent` instead.
    pub read_percent: Option<f64>,
    /// Share of clients that only read, 0 to 100; the others only write. Absent if
    /// each client does both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readers_percent: Option<f64>,
    /// Order of offsets. For a `pattern`: random if all its lines are.
    pub access: Access,
    /// Number of writes of a client after which it sends a FLUSH; `null` means
    /// never.
    pub flush_every_writes: Option<u32>,
    /// A mix of any commands and their weights. Absent if clients only read and
    /// write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationDoc>,
    /// The lines of an access pattern. Absent without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pattern: Vec<PatternDoc>,
    /// The replay. Absent if the workload is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayDoc>,
    /// The test of `sysbench fileio`. Absent if the workload is something else.
    /// `seed` chooses the offsets; `files` and `file_bytes` describe the files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fileio: Option<FileioDoc>,
    /// Whether clients have files of their own.
    pub scope: Scope,
    /// Number of files per client, per copy of recorded clients, or of all files if they
    /// are shared.
    pub files: u32,
    /// Bytes in each file; in a tree, in the largest that is possible.
    pub file_bytes: u64,
    /// The tree that the files are in. Absent if they are in one directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeDoc>,
}

/// A tree of directories and files. Its number of files is that of the workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TreeDoc {
    /// Seed of names and sizes.
    pub seed: u64,
    /// Number of directories, with the root.
    pub directories: u32,
    /// Number of levels below the root.
    pub depth: u32,
    /// Largest number of directories in a directory.
    pub fan_out: u32,
    /// Bytes of its files together, if clients copy it to the share. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Sizes of files, as in a profile.
    pub sizes: String,
    /// Lengths of names in characters, as in a profile.
    pub name_length: String,
    /// Percent of the letters in names that are outside ASCII.
    pub name_utf8_percent: u8,
    /// Case of letters in names.
    pub name_case: String,
    /// Which files are used more often than others, as in a profile.
    pub popularity: String,
}

impl From<&Tree> for TreeDoc {
    fn from(tree: &Tree) -> Self {
        let shape = tree.shape();
        Self {
            seed: shape.seed,
            directories: tree.directories(),
            depth: tree.depth(),
            fan_out: tree.fan_out(),
            bytes: None,
            sizes: shape.sizes.to_string(),
            name_length: shape.names.length.to_string(),
            name_utf8_percent: shape.names.utf8,
            name_case: shape.names.case.to_string(),
            popularity: shape.popularity.to_string(),
        }
    }
}

impl Default for WorkloadDoc {
    /// Returns a workload without operations and files.
    fn default() -> Self {
        Self {
            sizes: Vec::new(),
            read_percent: None,
            readers_percent: None,
            access: Access::Random,
            flush_every_writes: None,
            operations: Vec::new(),
            pattern: Vec::new(),
            replay: None,
            fileio: None,
            scope: Scope::Private,
            files: 0,
            file_bytes: 0,
            tree: None,
        }
    }
}

impl WorkloadDoc {
    /// Returns the sizes of the reads or writes that can occur, in ascending order, and of files
    /// that are read or written as a whole. Those of a replay are left out.
    pub(crate) fn sizes_of(&self, direction: Direction) -> BTreeSet<u32> {
        let of_line = |line: &PatternDoc| {
            let (asked, reply) = match direction {
                Direction::Read => (line.read_percent > 0.0, line.read_percent < 100.0),
                Direction::Write => (line.read_percent < 100.0, line.read_percent > 0.0),
            };
            let asked = asked.then_some(line.bytes);
            asked.into_iter().chain(reply.then_some(line.reply_bytes))
        };
        let carries_file = |entry: &OperationDoc| match direction {
            Direction::Read => entry.op == "copy_out",
            Direction::Write => entry.op == "copy_in" || entry.op == "save_office",
        };
        let of_file = self.operations.iter().any(carries_file);
        let of_file = of_file.then(|| u32::try_from(self.file_bytes).unwrap_or(u32::MAX));
        let sizes = self.sizes.iter().map(|entry| entry.bytes);
        let of_lines = self.pattern.iter().flat_map(of_line);
        sizes.chain(of_lines).chain(of_file).collect()
    }
}

/// The replay that each client runs separately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayDoc {
    /// The loadfile, or the name of a generated replay.
    pub source: String,
    /// SHA-256 of the loadfile and of whether lines were left out. For a generated
    /// replay: SHA-256 of its parameters.
    pub sha256: String,
    /// Lines of the file, comments included.
    pub lines: u64,
    /// Number of operations in it, by verb of the loadfile.
    pub operations: BTreeMap<String, u64>,
    /// Number of lines left out, by their first word. Absent without such lines.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, u64>,
    /// Number of handles that the file leaves open; the replay closes them all the
    /// same.
    #[serde(default)]
    pub closed: u64,
    /// Bytes that its READs ask for.
    pub bytes_read: u64,
    /// Bytes that its WRITEs carry.
    pub bytes_written: u64,
    /// When operations began: `fast`, or `recorded` as in the file.
    pub timing: Named<Timing>,
    /// How many times as fast as recorded; absent if that is once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// Number of times that each client ran through it. Absent if it repeated until
    /// the window closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loops: Option<u32>,
    /// Seconds from the first operation to the last. Absent if the file has no
    /// times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_s: Option<f64>,
    /// Clients of a copy: one for each recorded session. Absent if a client is alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients_per_copy: Option<u32>,
    /// Number of different users in a capture. Absent if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_users: Option<u32>,
    /// Service times in the capture by operation. Absent without a capture.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub recorded: BTreeMap<String, RecordedTimesDoc>,
}

/// Service times of operations in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedTimesDoc {
    /// Operations.
    pub count: u64,
    /// Mean in nanoseconds.
    pub mean_ns: u64,
    /// Median in nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile in nanoseconds.
    pub p99_ns: u64,
}

impl From<&RecordedTimes> for RecordedTimesDoc {
    fn from(times: &RecordedTimes) -> Self {
        Self {
            count: times.count,
            mean_ns: times.mean_ns,
            p50_ns: times.p50_ns,
            p99_ns: times.p99_ns,
        }
    }
}

/// One request size of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SizeDoc {
    /// Bytes per request.
    pub bytes: u32,
    /// Percent of requests that have this size.
    pub weight_percent: f64,
}

/// One operation of a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationDoc {
    /// The operation: `read`, `create`, `query_info` and so on, as in a profile.
    pub op: String,
    /// Percent of the operations that are this one.
    pub weight_percent: f64,
    /// Its parameters as in a profile, including defaults. A `create` also has its
    /// `subject`: the kind of file that it opens.
    #[serde(flatten)]
    pub parameters: BTreeMap<String, serde_json::Value>,
}

impl From<&Workload> for WorkloadDoc {
    fn from(workload: &Workload) -> Self {
        let sizes = workload.sizes.iter().map(|entry| SizeDoc {
            bytes: entry.size,
            weight_percent: entry.weight,
        });
        let (read_percent, operations) = match &workload.requests {
            Requests::Data { read_percent, .. } => (Some(*read_percent), Vec::new()),
            Requests::Mix(mix) => (None, mix.iter().map(OperationDoc::from).collect()),
            Requests::Divided { .. }
            | Requests::Pattern(_)
            | Requests::Replay(_)
            | Requests::Fileio(_) => (None, Vec::new()),
        };
        Self {
            sizes: sizes.collect(),
            read_percent,
            readers_percent: match workload.requests {
                Requests::Divided { readers_percent } => Some(readers_percent),
                _ => None,
            },
            operations,
            pattern: workload
                .pattern()
                .unwrap_or_default()
                .iter()
                .map(PatternDoc::from)
                .collect(),
            replay: workload.replay().map(ReplayDoc::from),
            fileio: workload.fileio().map(FileioDoc::from),
            access: workload.access,
            flush_every_writes: workload.flush_every_writes(),
            scope: workload.files.scope,
            files: workload.files.count,
            file_bytes: workload.files.size,
            tree: workload.files.tree().map(|tree| TreeDoc {
                bytes: workload.copied_tree().map(|copied| copied.bytes()),
                ..TreeDoc::from(tree.as_ref())
            }),
        }
    }
}

impl From<&Replay> for ReplayDoc {
    fn from(replay: &Replay) -> Self {
        let summary = replay.recording.summary();
        let operations = summary.operations.iter();
        let recorded = summary.recorded.iter();
        let users: HashSet<_> = replay.recording.users().flatten().collect();
        Self {
            source: summary.source.clone(),
            sha256: replay.recording.digest(),
            lines: summary.lines,
            operations: operations
                .map(|(verb, &count)| (verb.name().to_owned(), count))
                .collect(),
            skipped: summary.skipped.clone(),
            closed: summary.closed,
            bytes_read: summary.bytes_read,
            bytes_written: summary.bytes_written,
            timing: Named::Known(replay.timing),
            speed: replay.changed_speed(),
            loops: replay.loops,
            length_s: summary.length.map(|length| length.as_secs_f64()),
            clients_per_copy: Some(replay.recording.clients_per_copy()).filter(|&count| count > 1),
            recorded_users: Some(users.len() as u32).filter(|&count| count > 0),
            recorded: recorded
                .map(|(kind, times)| (kind.name().to_owned(), times.into()))
                .collect(),
        }
    }
}

impl OperationDoc {
    /// Returns a parameter in words: `class names`, `buffer 64 KiB`, or `no aapl` where it is
    /// absent.
    #[must_use]
    pub fn parameter(&self, key: &str) -> String {
        use serde_json::Value;
        match self.parameters.get(key) {
            None | Some(Value::Bool(false)) => format!("no {key}"),
            Some(Value::Bool(true)) => key.to_owned(),
            Some(Value::String(text)) => format!("{key} {text}"),
            Some(value) => match value.as_u64() {
                Some(size) if key == "buffer" => format!("{key} {}", units::bytes(size)),
                _ => format!("{key} {value}"),
            },
        }
    }
}

impl From<&WeightedAction> for OperationDoc {
    fn from(entry: &WeightedAction) -> Self {
        Self {
            op: entry.action.name().to_owned(),
            weight_percent: entry.weight,
            parameters: entry.action.parameters(),
        }
    }
}
