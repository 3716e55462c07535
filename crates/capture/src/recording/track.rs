//! A track: the operations of a recorded session.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use smbench_model::kind::OpKind;
use smbench_model::trace::{Awaited, Builder, CreateDetail, Handle, PreparedName, Step, Trace};
use smbench_protocol::NtStatus;
use smbench_protocol::command::create::{OplockLevel, access, attributes, share};

use super::effect::is_open_shown;
use super::fold;
use super::order::{PlacedRecord, RequestTime, releases};
use super::packed::PackedLines;
use super::step::{self, CLOSED_BY_END, StepNames};
use super::tree::{COPY, RecordedTree};
use crate::names::{NameTreatment, WILDCARDS};
use crate::trace::TraceLine;

/// Names that are shown by an operation that is not replayed.
const NO_ANSWER: &str = "without an answer";
/// FILE_DIRECTORY_FILE (MS-SMB2 2.2.13).
const DIRECTORY_FILE: u32 = 1;

/// A track while it is built.
pub(super) struct Track {
    session: u32,
    builder: Builder,
    /// The time of each record.
    times: Vec<RequestTime>,
    /// Records of a compound that wait for the record before.
    chained: Vec<u32>,
    /// The compound of the last record.
    group: Option<u64>,
    /// The compound and the handle of the last record that is alone.
    last: Option<(u64, u64)>,
    /// The lines of the session.
    lines: Range<u32>,
    /// The lines of each record, from 0; empty for an operation that is not in the capture.
    of_lines: Vec<Range<u32>>,
    /// Records that close a file because the session ended.
    closes: Vec<u32>,
    /// The last compound whose CREATE failed.
    failed: Option<u64>,
    /// The handles of CREATEs that are left out.
    unopened: HashSet<u64>,
    pub(super) skipped: BTreeMap<String, u64>,
}

impl Track {
    pub(super) fn new(session: u32, lines: Range<u32>, lasts: Duration) -> Self {
        Self {
            session,
            builder: Builder::of_capture_track(lasts),
            times: Vec::new(),
            chained: Vec::new(),
            group: None,
            last: None,
            lines,
            of_lines: Vec::new(),
            closes: Vec::new(),
            failed: None,
            unopened: HashSet::new(),
            skipped: BTreeMap::new(),
        }
    }

    /// Makes names exist before the replay. None can be refused: each is a part of a path.
    pub(super) fn prepare(&mut self, tree: &RecordedTree, names: &[(String, PreparedName)]) {
        let shares = tree.shares().into_iter();
        let mut directories = vec![(COPY.to_owned(), PreparedName::Directory)];
        directories.extend(shares.map(|share| (share, PreparedName::Directory)));
        for (name, made) in directories.iter().chain(names) {
            if self.builder.prepare(name, *made).is_err() {
                self.skip("names that no replay can use");
            }
        }
    }

    /// Names the recorded user.
    pub(super) fn of_user(&mut self, user: Option<String>) {
        self.builder.user(user);
    }

    fn skip(&mut self, what: &str) {
        *self.skipped.entry(what.to_owned()).or_default() += 1;
        self.builder.skip(what);
    }

    /// Adds all lines of the session, in the order of sending.
    pub(super) fn add(&mut self, lines: &PackedLines, tree: &RecordedTree) {
        self.open_unseen(lines, tree);
        // Each line makes a record at most.
        let most = self.lines.len();
        self.builder.reserve(most);
        self.times.reserve_exact(most);
        self.of_lines.reserve_exact(most);
        let Range { start, end } = self.lines;
        let (mut own, mut several) = (TraceLine::default(), Vec::new());
        let mut next = start;
        while next < end {
            lines.read(next, &mut own);
            let (at, line) = (next - start, &own);
            if fold::is_begin(line) {
                lines.read_all(next..end.min(next + fold::LINES_SEEN), &mut several);
                if let Some(compound) = fold::compound(&several)
                    && self.push_compound(compound, tree)
                {
                    let count = compound.len() as u32;
                    self.of_lines.push(at..at + count);
                    next += count;
                    continue;
                }
            }
            next += 1;
            if line.command == CLOSED_BY_END {
                self.close(at, line);
                continue;
            }
            let Some(status) = step::status(line) else {
                self.skip(&format!("{} {NO_ANSWER}", line.command));
                continue;
            };
            if let Some(why) = not_replayed(line, tree, status) {
                if line.create.is_some() {
                    self.failed = line.group;
                    self.unopened.extend(line.handle);
                }
                self.skip(why);
                continue;
            }
            if line.handle.is_some_and(|of| self.unopened.contains(&of)) {
                self.skip("requests of opens that are left out");
                continue;
            }
            // They are refused with the CREATE. Alone, they would be refused otherwise.
            if line.group.is_some() && line.group == self.failed && line.handle.is_none() {
                self.skip(&format!("{} after a create that failed", line.command));
                continue;
            }
            if line.create.is_some() && status != NtStatus::SUCCESS {
                self.failed = line.group;
            }
            let names = names_of(line, tree, status);
            let step = match step::step(line, &names, status) {
                Ok(step) => step,
                Err(what) => {
                    self.skip(&what);
                    continue;
                }
            };
            if self.push(line, &step, status) {
                self.of_lines.push(at..at + 1);
            }
        }
        // Other tracks follow, each with names of its own.
        self.builder.forget_names();
        self.unopened = HashSet::new();
    }

    /// Returns whether the session has operations that are replayed.
    pub(super) fn has_records(&self) -> bool {
        self.of_lines.iter().any(|lines| !lines.is_empty())
    }

    /// Returns the number of its records.
    pub(super) fn record_count(&self) -> usize {
        self.times.len()
    }

    /// Returns its records, if it is the track with this number.
    pub(super) fn placed(&self, track: u32) -> impl Iterator<Item = PlacedRecord> {
        let records = (0..).zip(&self.of_lines).zip(&self.times);
        let records = records.filter(|((_, lines), _)| !lines.is_empty());
        records.map(move |((record, lines), time)| PlacedRecord {
            track,
            record,
            sent: time.sent,
            done: time.done,
            lines: self.lines.start + lines.start..self.lines.start + lines.end,
        })
    }

    /// Makes records wait for those of other tracks.
    pub(super) fn wait_for(&mut self, awaited: Vec<Awaited>) {
        self.builder.wait_for(awaited);
    }

    /// Adds a compound, if it is one operation by name.
    fn push_compound(&mut self, lines: &[TraceLine], tree: &RecordedTree) -> bool {
        let [first, .., last] = lines else {
            return false;
        };
        let status = fold::status_of(lines);
        if not_replayed(first, tree, status).is_some() {
            return false;
        }
        let mut names = names_of(first, tree, status);
        if let [_, middle, _] = lines {
            let of_middle = names_of(middle, tree, status);
            names.to = of_middle.to;
            names.pattern = format!("{}\\{}", names.path, of_middle.pattern);
        }
        let Some(step) = fold::step(lines, &names) else {
            return false;
        };
        let at = Duration::from_nanos(first.at_ns);
        if self.builder.push(&step, status, Some(at)).is_err() {
            return false;
        }
        self.times.push(RequestTime::between(first, last));
        self.group = None;
        true
    }

    /// Adds the CREATEs of files that were opened before the trace begins.
    fn open_unseen(&mut self, lines: &PackedLines, tree: &RecordedTree) {
        let mut opened: HashMap<u64, ()> = HashMap::new();
        let mut first_ns = None;
        let mut own = TraceLine::default();
        for at in self.lines.clone() {
            lines.read(at, &mut own);
            let line = &own;
            let first = *first_ns.get_or_insert(line.at_ns);
            let Some(handle) = line.handle else { continue };
            if !line.status.as_deref().is_some_and(is_open_shown) {
                continue;
            }
            if opened.insert(handle, ()).is_some() || line.create.is_some() {
                continue;
            }
            let path = line.path.and_then(|path| tree.path(path));
            let Some(path) = path else { continue };
            let is_list = matches!(line.command.as_str(), "query_directory" | "change_notify");
            let step = Step::Create {
                path: &path,
                options: if is_list { DIRECTORY_FILE } else { 0 },
                disposition: 1,
                handle: handle as Handle,
            };
            let at = Duration::from_nanos(first);
            if self
                .builder
                .push(&step, NtStatus::SUCCESS, Some(at))
                .is_err()
            {
                continue;
            }
            self.builder
                .skip("opens before the trace: a create was added");
            let rights = if is_list {
                access::FILE_READ_DATA | access::FILE_READ_ATTRIBUTES
            } else {
                access::MAXIMUM_ALLOWED
            };
            self.builder.detail(CreateDetail {
                desired_access: rights | access::SYNCHRONIZE,
                attributes: attributes::FILE_ATTRIBUTE_NORMAL,
                share_access: share::ALL,
                contexts: Box::default(),
                oplock: Some(OplockLevel::None),
            });
            self.times.push(RequestTime {
                sent: first,
                done: first,
            });
            self.of_lines.push(0..0);
        }
    }

    /// Adds an operation. Returns whether it can be replayed.
    fn push(&mut self, line: &TraceLine, step: &Step<'_>, status: NtStatus) -> bool {
        let at = Duration::from_nanos(line.at_ns);
        if let Err(error) = self.builder.push(step, status, Some(at)) {
            self.skip(&format!("{}: {error}", line.command));
            return false;
        }
        if let Some(create) = &line.create {
            let (detail, unsent) = step::detail(create);
            self.builder.detail(detail);
            for context in unsent {
                self.builder.skip(&format!("create context {context}"));
            }
        }
        self.builder.flags(step::flags(line));
        let of_compound = line.group.zip(line.handle);
        let is_related = line.create.is_none() && !line.command.starts_with("cifs_");
        if is_related && of_compound.is_some() && of_compound == self.last {
            // In one frame with the record before.
            self.builder.join();
        } else if line.group.is_some() && line.group == self.group {
            self.chained.push(self.times.len() as u32);
        }
        self.times.push(RequestTime::between(line, line));
        self.group = line.group;
        self.last = of_compound;
        true
    }

    /// Adds the CLOSE of a file that the end of the session closed, if it is open.
    fn close(&mut self, at: u32, line: &TraceLine) {
        let Some(handle) = line.handle else { return };
        let sent = Duration::from_nanos(line.at_ns);
        if self.builder.close_left(handle as Handle, sent) {
            self.closes.push(self.times.len() as u32);
            self.times.push(RequestTime::between(line, line));
            self.group = None;
            self.of_lines.push(at..at + 1);
        }
    }

    /// Leaves the CLOSEs at the end of the track to the log-off, unless another track waits
    /// for one. `awaited` is the last record that others wait for.
    pub(super) fn leave_closes(&mut self, awaited: Option<u32>) {
        let records = self.times.len() as u32;
        let closes = self.closes.iter().rev().zip((0..records).rev());
        let closes = closes.take_while(|(close, record)| **close == *record);
        let closes = closes.count() as u32;
        if awaited.is_none_or(|record| record < records - closes) {
            self.builder.leave(closes);
        }
    }

    /// Builds the track.
    pub(super) fn finish(
        mut self,
        source: &str,
        of_capture: &[u8; 32],
        took: &mut BTreeMap<OpKind, Vec<u64>>,
    ) -> Trace {
        self.builder.released(releases(&self.times, &self.chained));
        let mut seed = of_capture.to_vec();
        seed.extend(self.session.to_le_bytes());
        let mut own = [0; 32];
        own.copy_from_slice(digest(&SHA256, &seed).as_ref());
        let lines = self.lines.len() as u64;
        let trace = self.builder.finish(source.to_owned(), lines, own);
        let mut closes = self.closes.into_iter().peekable();
        let records = (0..).zip(self.times.iter().zip(&self.of_lines));
        for (record, (time, lines)) in records {
            let is_request = closes.next_if_eq(&record).is_none() && !lines.is_empty();
            if let Some(kind) = trace.record(record).verb().kind()
                && is_request
            {
                took.entry(kind)
                    .or_default()
                    .push(time.done.saturating_sub(time.sent));
            }
        }
        trace
    }
}

/// Returns why a request with this status is not replayed.
fn not_replayed(line: &TraceLine, tree: &RecordedTree, status: NtStatus) -> Option<&'static str> {
    let of_read_only = || {
        let is_refused = tree.read_only.has_refused(line);
        is_refused.then_some("opens of read-only files: a replay makes none")
    };
    step::not_replayed(line, status).or_else(of_read_only)
}

/// Returns the names of a line that its operation uses.
fn names_of(line: &TraceLine, tree: &RecordedTree, status: NtStatus) -> StepNames {
    let path = |number: Option<u32>| number.and_then(|number| tree.path(number));
    let is_of_cifs = line.command.starts_with("cifs_");
    // Others of SMB2 have a handle.
    let is_by_name = line.create.is_some() || is_of_cifs;
    let directory = path(line.path.filter(|_| is_by_name)).unwrap_or_default();
    let pattern = line.pattern.clone().unwrap_or_default();
    // Nobody can say what a pattern with a hash in it matched.
    let is_hidden = tree.names == NameTreatment::Hash && pattern.contains(WILDCARDS);
    let pattern = match status {
        NtStatus::SUCCESS if is_hidden || pattern.is_empty() => "*".to_owned(),
        _ => pattern,
    };
    StepNames {
        to: path(line.to).unwrap_or_default(),
        // A listing of CIFS has no open directory.
        pattern: if is_of_cifs {
            format!("{directory}\\{pattern}")
        } else {
            pattern
        },
        path: directory,
    }
}

#[cfg(test)]
mod tests;
