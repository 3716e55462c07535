//! The summary of a capture, as `summary.json` has it.

mod diff;
mod tree;
mod unreadable;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

pub use self::diff::{
    CaptureDiff, CommandDiff, CommandSide, CountDiff, JUDGED_ANSWERS_MIN, JUDGED_RATIO, Trend,
};
pub use self::tree::TreeSummary;
use self::tree::tree;
use self::unreadable::unreadable;
pub use self::unreadable::{EncryptedSummary, UnreadableSummary};
use crate::command::CommandKey;
use crate::ledger::CaptureLedger;
use crate::names::NameTreatment;
use crate::recording::{RecordingError, of_summary};
use crate::sessions::SessionRecord;
use crate::slice::CaptureSpan;
use crate::status::status_text;
use crate::tally::{CommandTally, TallyInterval};

/// Keys are added, never renamed.
const SCHEMA_VERSION: u32 = 1;

/// The counts of a capture.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CaptureSummary {
    /// Version of the keys.
    pub schema_version: u32,
    /// How names are written.
    #[serde(default)]
    pub names: NameTreatment,
    /// What was read.
    pub source: SourceSummary,
    /// The time of the slice, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<CaptureSpan>,
    /// TCP connections with SMB.
    pub connections: u64,
    /// Sessions that were set up or used.
    pub sessions: u64,
    /// Addresses of clients.
    pub clients: BTreeSet<IpAddr>,
    /// Connections by dialect.
    pub dialects: BTreeMap<String, u64>,
    /// Sessions by user.
    pub users: BTreeMap<String, u64>,
    /// Sessions by mechanism of the log-on.
    pub logons: BTreeMap<String, u64>,
    /// Refused log-ons by status.
    pub refused_logons: BTreeMap<String, u64>,
    /// Requests by share.
    pub shares: BTreeMap<String, u64>,
    /// Counts by command.
    pub commands: BTreeMap<String, CommandSummary>,
    /// Answers by status.
    pub statuses: BTreeMap<String, u64>,
    /// Bytes that READs moved.
    pub bytes_read: u64,
    /// Bytes that WRITEs moved.
    pub bytes_written: u64,
    /// Requests in flight.
    pub concurrency: ConcurrencySummary,
    /// Names of files and directories that occur.
    pub tree: TreeSummary,
    /// What could not be read.
    pub unreadable: UnreadableSummary,
    /// Frames that are no SMB, by protocol.
    pub foreign_frames: BTreeMap<String, u64>,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSummary {
    /// Number of files.
    pub files: u64,
    /// Files that end inside of a packet.
    pub cut_files: u64,
    /// The last frame before the packet inside of which the first of them ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_frame: Option<u64>,
    /// Files that are damaged behind a frame.
    #[serde(default)]
    pub damaged_files: u64,
    /// The last frame before the first damage, and the damage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
    /// Number of frames.
    pub frames: u64,
    /// Bytes of the frames on the wire.
    pub bytes: u64,
    /// Frames that the capturing program lost, as far as the files say it.
    pub dropped_frames: u64,
    /// Nanoseconds from 1970 to the first frame.
    pub begin_ns: u64,
    /// Nanoseconds from 1970 to the last frame.
    pub end_ns: u64,
}

impl SourceSummary {
    const fn span(&self) -> CaptureSpan {
        CaptureSpan {
            begin_ns: self.begin_ns,
            end_ns: self.end_ns,
        }
    }

    pub(crate) fn add(&mut self, time_ns: u64, len: u64) {
        if self.frames == 0 {
            self.begin_ns = time_ns;
        }
        self.frames += 1;
        self.bytes += len;
        self.begin_ns = self.begin_ns.min(time_ns);
        self.end_ns = self.end_ns.max(time_ns);
    }
}

/// Counts of a command.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CommandSummary {
    /// Request messages.
    pub requests: u64,
    /// Answer messages: final ones, interim ones and notifications.
    pub responses: u64,
    /// Interim answers.
    pub pending: u64,
    /// Messages of the server that no request asked for.
    pub notifications: u64,
    /// Requests whose final answer is in the capture.
    pub answered: u64,
    /// Requests without an answer in the capture.
    pub unanswered: u64,
    /// Answers whose request is not in the capture.
    pub unasked: u64,
    /// Bytes that were moved.
    pub bytes: u64,
    /// Answers by status.
    pub statuses: BTreeMap<String, u64>,
    /// Requests by the bytes that they ask for.
    pub sizes: BTreeMap<u64, u64>,
    /// Requests of further sizes, which are too many to be counted on their own.
    pub other_sizes: u64,
    /// Time from the last packet of a request to the last of its final answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_ns: Option<ServiceSummary>,
}

/// Service times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceSummary {
    /// The mean.
    pub mean: f64,
    /// The shortest.
    pub min: u64,
    /// The longest.
    pub max: u64,
    /// The median.
    pub p50: u64,
    /// 90 % are at most this.
    pub p90: u64,
    /// 95 % are at most this.
    pub p95: u64,
    /// 99 % are at most this.
    pub p99: u64,
    /// 99.9 % are at most this.
    pub p999: u64,
}

impl ServiceSummary {
    fn of(times: &Histogram<u64>) -> Option<Self> {
        (!times.is_empty()).then(|| Self {
            mean: times.mean(),
            min: times.min(),
            max: times.max(),
            p50: times.value_at_quantile(0.5),
            p90: times.value_at_quantile(0.9),
            p95: times.value_at_quantile(0.95),
            p99: times.value_at_quantile(0.99),
            p999: times.value_at_quantile(0.999),
        })
    }
}

/// Requests in flight. CHANGE_NOTIFY is left out, because it waits for others.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ConcurrencySummary {
    /// The largest number.
    pub max: u64,
    /// The mean over the time of the slice, else over that of the capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Length of an interval in seconds.
    pub interval_s: u64,
    /// Requests, bytes moved, and the largest number in flight of each interval.
    pub intervals: Vec<ConcurrencyInterval>,
}

/// What happened in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConcurrencyInterval {
    /// Requests that were sent.
    pub requests: u64,
    /// Bytes that were moved.
    pub bytes: u64,
    /// The largest number of requests in flight.
    pub in_flight: u64,
}

impl CaptureSummary {
    pub(crate) fn new(
        ledger: &CaptureLedger,
        source: SourceSummary,
        foreign_frames: BTreeMap<String, u64>,
    ) -> Self {
        let tally = &ledger.tally;
        let slice = ledger.slice.span(source.span());
        let length_ns = slice.unwrap_or(source.span()).length_ns();
        let mut commands = BTreeMap::new();
        let mut statuses = BTreeMap::new();
        for (key, counts) in &tally.commands {
            let unanswered = tally.unanswered.get(key).copied().unwrap_or(0);
            let summary = CommandSummary::new(counts, unanswered);
            for (status, count) in &summary.statuses {
                *statuses.entry(status.clone()).or_default() += count;
            }
            commands.insert(key.name(), summary);
        }
        let bytes_of = |keys: [CommandKey; 2]| {
            let found = keys.iter().filter_map(|key| tally.commands.get(key));
            found.map(|counts| counts.bytes).sum()
        };
        let mut summary = Self {
            schema_version: SCHEMA_VERSION,
            names: ledger.names.treatment(),
            source,
            slice,
            connections: ledger.connections.into(),
            sessions: sessions(ledger).count() as u64 + ledger.sessions.unkept.count(),
            clients: ledger.clients.clone(),
            dialects: ledger.dialects.clone(),
            users: BTreeMap::new(),
            logons: BTreeMap::new(),
            refused_logons: by_status(&ledger.sessions.refused),
            shares: BTreeMap::new(),
            commands,
            statuses,
            bytes_read: bytes_of([CommandKey::Smb2(8), CommandKey::Cifs(0x2e)]),
            bytes_written: bytes_of([CommandKey::Smb2(9), CommandKey::Cifs(0x2f)]),
            concurrency: ConcurrencySummary {
                max: tally.concurrency.in_flight_max,
                mean: tally.concurrency.mean(length_ns),
                interval_s: tally.concurrency.interval_s,
                intervals: tally.concurrency.intervals.iter().map(interval).collect(),
            },
            tree: tree(ledger),
            unreadable: unreadable(ledger),
            foreign_frames,
        };
        for session in sessions(ledger) {
            let user = session.user.clone().unwrap_or_else(|| "unknown".to_owned());
            *summary.users.entry(user).or_default() += 1;
            let logon = session.logon.unwrap_or("unknown");
            *summary.logons.entry(logon.to_owned()).or_default() += 1;
        }
        for (&node, &requests) in &ledger.shares {
            if let Some(node) = ledger.paths.nodes.get(node as usize - 1) {
                *summary.shares.entry(node.name.to_string()).or_default() += requests;
            }
        }
        summary
    }

    /// Returns the time that rates are over: that of the slice, else that of the capture.
    #[must_use]
    pub fn span(&self) -> CaptureSpan {
        self.slice.unwrap_or(self.source.span())
    }

    /// Returns the summary as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

/// Reads the summary in the folder that an import wrote.
///
/// # Errors
/// If the file cannot be read, or is no summary.
pub fn read_summary(folder: &Path) -> Result<CaptureSummary, RecordingError> {
    of_summary(folder)
}

fn to_json(value: &impl Serialize) -> String {
    let json = serde_json::to_string_pretty(value);
    // Maps with texts and numbers as keys cannot fail.
    json.unwrap_or_else(|error| unreachable!("a summary has only plain values: {error}"))
}

impl CommandSummary {
    fn new(counts: &CommandTally, unanswered: u64) -> Self {
        Self {
            requests: counts.requests,
            responses: counts.responses,
            pending: counts.pending,
            notifications: counts.notifications,
            answered: counts.matched,
            unanswered,
            unasked: counts.unasked,
            bytes: counts.bytes,
            statuses: by_status(&counts.statuses),
            sizes: counts.sizes.clone(),
            other_sizes: counts.other_sizes,
            service_ns: ServiceSummary::of(&counts.service),
        }
    }

    /// Returns the number of requests that have a size.
    #[must_use]
    pub fn sized(&self) -> u64 {
        self.sizes.values().sum::<u64>() + self.other_sizes
    }

    /// Returns the number of answers whose status is an error.
    #[must_use]
    pub fn errors(&self) -> u64 {
        let fine = [
            "STATUS_SUCCESS",
            "STATUS_PENDING",
            "STATUS_MORE_PROCESSING_REQUIRED",
        ];
        let failed = self
            .statuses
            .iter()
            .filter(|(status, _)| !fine.contains(&status.as_str()));
        failed.map(|(_, count)| count).sum()
    }
}

fn by_status(counts: &BTreeMap<u32, u64>) -> BTreeMap<String, u64> {
    let named = counts
        .iter()
        .map(|(&status, &count)| (status_text(status), count));
    named.collect()
}

/// Returns the sessions of the slice: those of the whole capture may have no requests.
fn sessions(ledger: &CaptureLedger) -> impl Iterator<Item = &SessionRecord> {
    let is_whole = !ledger.slice.is_part();
    let all = ledger.sessions.all.iter();
    all.filter(move |session| is_whole || session.requests + session.encrypted > 0)
}

const fn interval(counts: &TallyInterval) -> ConcurrencyInterval {
    ConcurrencyInterval {
        requests: counts.requests,
        bytes: counts.bytes,
        in_flight: counts.in_flight_max,
    }
}
