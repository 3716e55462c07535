//! A recording: the traces of the clients that were recorded, each a track.

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};

use super::{Record, RecordOrder, Summary, Trace};
use crate::digest::hex;
use crate::kind::{Direction, OpKind};

/// The tracks of a recording. Client c replays track c modulo their number.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// At least one, each with records.
    tracks: Box<[Arc<Trace>]>,
    summary: Summary,
    /// Whether the clients of all tracks work on the same names: together they are a
    /// copy of what was recorded.
    is_joint: bool,
}

/// Service times of operations in a recording, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedTimes {
    /// Operations.
    pub count: u64,
    /// Their mean.
    pub mean_ns: u64,
    /// Half of them took at most this long.
    pub p50_ns: u64,
    /// 99 % of them took at most this long.
    pub p99_ns: u64,
}

impl RecordedTimes {
    /// Summarises these times; `None` if there are none.
    #[must_use]
    pub fn of(mut times: Vec<u64>) -> Option<Self> {
        times.sort_unstable();
        let count = times.len() as u64;
        let sum: u128 = times.iter().copied().map(u128::from).sum();
        let at = |percent: u64| {
            let place = (count * percent).div_ceil(100).max(1);
            times.get(place as usize - 1).copied()
        };
        Some(Self {
            count,
            mean_ns: sum.checked_div(count.into())? as u64,
            p50_ns: at(50)?,
            p99_ns: at(99)?,
        })
    }
}

impl From<Trace> for Recording {
    fn from(trace: Trace) -> Self {
        Self {
            summary: trace.summary.clone(),
            tracks: Box::new([Arc::new(trace)]),
            is_joint: false,
        }
    }
}

impl Recording {
    /// Makes a recording of these tracks. Those without records are left out. Returns
    /// `None` if none is left.
    #[must_use]
    pub fn new(tracks: Vec<Trace>) -> Option<Self> {
        let mut tracks = tracks.into_iter().filter(|track| !track.is_empty());
        let mut recording = Self::from(tracks.next()?);
        let mut all = recording.tracks.into_vec();
        for track in tracks {
            recording.summary.add(&track.summary);
            all.push(Arc::new(track));
        }
        recording.tracks = all.into_boxed_slice();
        Some(recording)
    }

    /// Makes a recording of all tracks of a capture, which work on the same names. The
    /// names to prepare are those of the first track. `left_out` counts what no track has, and `recorded`
    /// has the service times.
    /// Returns `None` if no track has
    /// records.
    #[must_use]
    pub fn of_capture(
        tracks: Vec<Trace>,
        left_out: &BTreeMap<String, u64>,
        recorded: BTreeMap<OpKind, RecordedTimes>,
    ) -> Option<Self> {
        let mut recording = Self::new(tracks)?;
        recording.is_joint = true;
        recording.summary.recorded = recorded;
        for (what, count) in left_out {
            *recording.summary.skipped.entry(what.clone()).or_default() += count;
        }
        Some(recording)
    }

    /// Whether it was read from a capture.
    #[must_use]
    pub const fn is_of_capture(&self) -> bool {
        self.is_joint
    }

    /// Returns the number of clients that replay each recorded client once, if they work
    /// on the same names; otherwise 1.
    #[must_use]
    pub fn clients_per_copy(&self) -> u32 {
        if self.is_joint {
            self.tracks.len() as u32
        } else {
            1
        }
    }

    /// Returns the largest number of requests that a recorded client had in flight; 1 if
    /// the recording does not show it.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        let most = self.tracks().map(|track| track.in_flight.max(1));
        most.max().unwrap_or(1)
    }

    /// Whether clients wait for others of their copy.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.clients_per_copy() > 1
    }

    /// Returns the number of the copy that a client belongs to, from 0. It stands for the
    /// client in names.
    #[must_use]
    pub fn copy_of(&self, client: u32) -> u32 {
        client / self.clients_per_copy()
    }

    /// Returns the track of the client with this number, from 0.
    #[must_use]
    pub fn track(&self, client: u32) -> &Arc<Trace> {
        &self.tracks[client as usize % self.tracks.len()]
    }

    /// Returns all tracks.
    pub fn tracks(&self) -> impl Iterator<Item = &Trace> {
        self.tracks.iter().map(|track| &**track)
    }

    /// Returns the recorded user of each track, by name or hash, as far as it is known.
    pub fn users(&self) -> impl ExactSizeIterator<Item = Option<&str>> {
        self.tracks.iter().map(|track| track.user())
    }

    /// Returns the summary of all tracks together.
    #[must_use]
    pub const fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Returns the digest of the track; of several tracks, the SHA-256 of their
    /// digests.
    #[must_use]
    pub fn digest(&self) -> String {
        match &*self.tracks {
            [track] => track.digest(),
            tracks => {
                let digests: Vec<_> = tracks.iter().flat_map(|track| track.digest).collect();
                hex(digest(&SHA256, &digests).as_ref())
            }
        }
    }

    /// Returns the bytes of the largest READ or WRITE.
    pub(crate) fn largest_of(&self, direction: Direction) -> u32 {
        let largest = self.tracks().map(|track| track.largest_of(direction));
        largest.max().unwrap_or(0)
    }

    /// Returns the kinds of operations that occur, each once.
    #[must_use]
    pub fn kinds(&self) -> Vec<OpKind> {
        let mut kinds: Vec<_> = self.tracks().flat_map(Trace::kinds).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Whether it has operations that CIFS has not.
    #[must_use]
    pub(crate) fn needs_smb2(&self) -> bool {
        let mut records = self.tracks().flat_map(|track| &track.records);
        records.any(|record| {
            matches!(
                record,
                Record::Query { .. }
                    | Record::List { .. }
                    | Record::RenameOpen { .. }
                    | Record::MarkDeleted { .. }
                    | Record::SetSecurity(_)
                    | Record::Echo
            )
        })
    }

    /// Whether clients pause.
    #[must_use]
    pub fn has_pauses(&self) -> bool {
        self.tracks().any(Trace::has_pauses)
    }

    /// Whether each operation of a client waits for the one before. Pauses are between
    /// two operations, so a recording with pauses is strict.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        let mut tracks = self.tracks();
        self.has_pauses() || tracks.any(|track| track.order == RecordOrder::Strict)
    }

    /// Whether the time of each operation is known.
    #[must_use]
    pub fn has_times(&self) -> bool {
        self.tracks().all(Trace::has_times)
    }

    /// Returns the bytes of the files that the replays of the first `clients` clients
    /// need to exist.
    #[must_use]
    pub fn bytes_of(&self, clients: u32) -> u64 {
        let (tracks, clients) = (self.tracks.len() as u64, u64::from(clients));
        let sums = (0..).zip(self.tracks()).map(|(at, track)| {
            let replays = (clients + tracks - 1 - at) / tracks;
            track.bytes_per_client().saturating_mul(replays)
        });
        sums.fold(0, u64::saturating_add)
    }

    /// Returns the largest number of files that a client's replay needs to exist.
    #[must_use]
    pub fn files_per_client(&self) -> u32 {
        let files = self.tracks().map(Trace::files_per_client);
        files.max().unwrap_or(0)
    }
}

impl Summary {
    /// Adds the summary of a further track.
    fn add(&mut self, other: &Self) {
        for (verb, count) in &other.operations {
            *self.operations.entry(*verb).or_default() += count;
        }
        for (text, count) in &other.skipped {
            *self.skipped.entry(text.clone()).or_default() += count;
        }
        self.lines += other.lines;
        self.closed += other.closed;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.largest = self.largest.max(other.largest);
        let lengths = self.length.zip(other.length);
        self.length = lengths.map(|(one, other)| one.max(other));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use smbench_protocol::NtStatus;
    use smbench_protocol::command::create_context::CreateContext;

    use super::*;
    use crate::operations::replay::Replays;
    use crate::trace::{Builder, CreateDetail, PreparedName, Step, Verb};
    use crate::workload::Replay;

    /// Makes a track of these steps, with a file of `bytes` before them.
    fn track(name: u8, steps: &[Step<'_>], bytes: u64) -> Trace {
        let mut builder = Builder::default();
        builder.expect_file("a", bytes);
        for (at, step) in (0..).zip(steps) {
            let at = Duration::from_secs(at);
            builder.push(step, NtStatus::SUCCESS, Some(at)).unwrap();
        }
        builder.finish(format!("{name}.txt"), 3, [name; 32])
    }

    fn two() -> [Trace; 2] {
        [
            track(1, &[Step::Unlink("a"), Step::Mkdir("b")], 10),
            track(2, &[Step::Rmdir("b")], 100),
        ]
    }

    #[test]
    fn a_create_may_have_a_detail_beside_its_record() {
        let mut builder = Builder::default();
        let create = |handle| Step::Create {
            path: "a",
            options: 0,
            disposition: 2,
            handle,
        };
        let detail = |desired_access| CreateDetail {
            desired_access,
            attributes: 0x80,
            share_access: 7,
            contexts: Box::new([CreateContext::QueryOnDiskId]),
            oplock: None,
        };
        for handle in 0..3 {
            let status = NtStatus::SUCCESS;
            builder.push(&create(handle), status, None).unwrap();
            if handle > 0 {
                builder.detail(detail(handle as u32));
            }
        }
        let trace = builder.finish("x".to_owned(), 3, [0; 32]);
        let details = trace.records.iter().map(|record| trace.detail(record));
        let expected = [None, Some(&detail(1)), Some(&detail(2)), None, None, None];
        assert_eq!(details.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_track_may_forget_how_names_are_found_once_it_has_all_operations() {
        let made = |forget: fn(&mut Builder)| {
            let mut builder = Builder::of_capture_track(Duration::from_secs(1));
            builder
                .prepare("client1\\a", PreparedName::File(7))
                .unwrap();
            let create = Step::Create {
                path: "client1\\b",
                options: 0,
                disposition: 2,
                handle: 1,
            };
            let at = Some(Duration::ZERO);
            builder.push(&create, NtStatus::SUCCESS, at).unwrap();
            forget(&mut builder);
            builder.finish("x".to_owned(), 1, [0; 32])
        };
        let (kept, forgotten) = (made(|_| {}), made(Builder::forget_names));
        assert_eq!(kept.records.len(), 2);
        assert_eq!(kept.records, forgotten.records);
        assert_eq!(kept.prepared, forgotten.prepared);
        assert!(kept.paths().eq(forgotten.paths()));
    }

    #[test]
    fn one_track_is_a_recording_like_itself() {
        let [track, _] = two();
        let recording = Recording::from(track.clone());
        assert_eq!(recording.digest(), track.digest());
        assert_eq!(recording.summary(), track.summary());
        assert_eq!(recording.bytes_of(7), 70);
        assert_eq!(Recording::new(vec![track]), Some(recording));
    }

    #[test]
    fn clients_take_the_tracks_in_turns() {
        let [one, other] = two();
        let empty = track(3, &[], 0);
        assert_eq!(Recording::new(vec![empty.clone()]), None);
        let recording = Recording::new(vec![one, empty, other]).unwrap();
        let summary = recording.summary();
        assert_eq!((summary.source.as_str(), summary.lines), ("1.txt", 6));
        let expected = [Verb::Unlink, Verb::Mkdir, Verb::Rmdir].map(|verb| (verb, 1));
        assert_eq!(summary.operations, expected.into());
        assert_eq!(summary.length, Some(Duration::from_secs(1)));
        let bytes = [0, 1, 2, 3].map(|clients| recording.bytes_of(clients));
        assert_eq!(bytes, [0, 10, 110, 120]);
        let digests = recording.tracks().map(Trace::digest);
        let digests: BTreeSet<_> = digests.chain([recording.digest()]).collect();
        assert_eq!(digests.len(), 3);
        let replays = Replays::new(Replay::new(Arc::new(recording)), 1);
        for client in 0..4 {
            let kinds: Vec<_> = replays
                .of_client(client)
                .map(|op| op.kind)
                .take(2)
                .collect();
            let expected = match client % 2 {
                0 => [OpKind::Unlink, OpKind::Mkdir],
                _ => [OpKind::Rmdir; 2],
            };
            assert_eq!(kinds, expected, "{client}");
        }
    }
}
