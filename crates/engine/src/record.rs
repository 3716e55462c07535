//! What a run measured, before anyone summarises it.
//!
//! A [`Recorder`] belongs to one worker and has a fixed size; recorders are
//! merged once, at the end of a load point. Merging histograms is exact, so
//! percentiles over workers are percentiles over operations, never means of
//! means.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use smbench_protocol::NtStatus;

use crate::clock::Nanos;
use crate::pattern::Mismatch;
use crate::plan::Plan;

/// Kinds of measured operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    /// SMB2 READ.
    Read,
    /// SMB2 WRITE.
    Write,
    /// SMB2 FLUSH.
    Flush,
}

impl OpKind {
    /// Every kind, in the order tables list them.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Flush];

    /// The key of this kind in result documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
        }
    }

    const fn index(self) -> usize {
        self as usize
    }
}

/// Latencies above this many nanoseconds (one hour) are recorded as this.
pub const HIGHEST_LATENCY_NS: u64 = 3_600_000_000_000;
/// Significant decimal digits every latency histogram keeps.
pub const LATENCY_DIGITS: u8 = 3;

/// An empty latency histogram in nanoseconds, 1 ns to one hour.
#[must_use]
pub fn latency_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_LATENCY_NS, LATENCY_DIGITS)
        .unwrap_or_else(|error| unreachable!("constant histogram bounds are valid: {error}"))
}

/// Operations of one kind, or of all, that completed in the measured window.
#[derive(Clone, Debug)]
pub struct OpRecord {
    /// Completed without error; equals the histogram's count.
    pub count: u64,
    /// Payload bytes they moved.
    pub bytes: u64,
    /// Completed with an error status, or with wrong data under verification.
    pub errors: u64,
    /// Time from sent to done, in nanoseconds, of the operations in `count`.
    pub service: Histogram<u64>,
}

impl Default for OpRecord {
    fn default() -> Self {
        Self {
            count: 0,
            bytes: 0,
            errors: 0,
            service: latency_histogram(),
        }
    }
}

impl OpRecord {
    /// Adds what another worker recorded.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.errors += other.errors;
        // Both histograms have the same bounds, so adding cannot fail.
        let added = self.service.add(&other.service);
        debug_assert!(added.is_ok());
    }
}

/// Operations from the first to the last of a load point, ramps included:
/// what the server's side must have seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpTotals {
    /// Answered without error.
    pub count: u64,
    /// Payload bytes they moved.
    pub bytes: u64,
    /// Answered with an error status, or with wrong data under verification.
    pub errors: u64,
}

/// Why an operation counts as an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// The server answered with this status.
    Status(NtStatus),
    /// The answer carried fewer bytes than asked for.
    Short,
    /// The answer carried more bytes than asked for.
    Long,
    /// Under verification, the data was not what had been written.
    WrongData,
    /// One of further causes, when there were more than are told apart.
    Other,
}

/// Causes of failure that one recorder tells apart; a server could invent
/// thousands of status codes.
const CAUSES_MAX: usize = 64;

/// One worker's results, or several workers' after merging.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    window: [OpRecord; OpKind::ALL.len()],
    whole: [OpTotals; OpKind::ALL.len()],
    failures: BTreeMap<(OpKind, Failure), u64>,
    first_wrong_data: Option<String>,
}

/// Where in a load point an operation completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// In the measured window.
    Window,
    /// In a ramp, or while the last operations drain.
    Outside,
}

impl Recorder {
    /// Counts an operation that succeeded.
    pub fn success(&mut self, kind: OpKind, bytes: u32, service: Nanos, phase: Phase) {
        let whole = &mut self.whole[kind.index()];
        whole.count += 1;
        whole.bytes += u64::from(bytes);
        if phase == Phase::Window {
            let window = &mut self.window[kind.index()];
            window.count += 1;
            window.bytes += u64::from(bytes);
            window.service.saturating_record(service.0.max(1));
        }
    }

    /// Counts an operation that was answered, but not as it should be.
    pub fn failure(&mut self, kind: OpKind, failure: Failure, phase: Phase) {
        self.whole[kind.index()].errors += 1;
        if phase == Phase::Window {
            self.window[kind.index()].errors += 1;
        }
        self.count_failures(kind, failure, 1);
    }

    fn count_failures(&mut self, kind: OpKind, failure: Failure, count: u64) {
        let is_full = self.failures.len() >= CAUSES_MAX;
        let cause = match is_full && !self.failures.contains_key(&(kind, failure)) {
            true => Failure::Other,
            false => failure,
        };
        *self.failures.entry((kind, cause)).or_default() += count;
    }

    /// Counts a read that brought other data than had been written.
    pub fn wrong_data(&mut self, client: u32, file: u32, mismatch: &Mismatch, phase: Phase) {
        self.failure(OpKind::Read, Failure::WrongData, phase);
        self.first_wrong_data
            .get_or_insert_with(|| format!("client {client}, file {file}: {mismatch}"));
    }

    /// Where and how data was first found wrong, under verification.
    #[must_use]
    pub fn first_wrong_data(&self) -> Option<&str> {
        self.first_wrong_data.as_deref()
    }

    /// Adds another worker's results.
    pub fn merge(&mut self, other: &Self) {
        if self.first_wrong_data.is_none() {
            self.first_wrong_data.clone_from(&other.first_wrong_data);
        }
        for kind in OpKind::ALL {
            let at = kind.index();
            self.window[at].merge(&other.window[at]);
            self.whole[at].count += other.whole[at].count;
            self.whole[at].bytes += other.whole[at].bytes;
            self.whole[at].errors += other.whole[at].errors;
        }
        for (&(kind, failure), &count) in &other.failures {
            self.count_failures(kind, failure, count);
        }
    }

    /// What completed in the window.
    #[must_use]
    pub fn window(&self, kind: OpKind) -> &OpRecord {
        &self.window[kind.index()]
    }

    /// What was answered from the first operation to the last.
    #[must_use]
    pub fn whole(&self, kind: OpKind) -> OpTotals {
        self.whole[kind.index()]
    }

    /// Failures of the whole load point by operation and cause.
    #[must_use]
    pub fn failures(&self) -> &BTreeMap<(OpKind, Failure), u64> {
        &self.failures
    }

    /// All kinds of the window as one.
    #[must_use]
    pub fn window_all(&self) -> OpRecord {
        let mut all = OpRecord::default();
        for record in &self.window {
            all.merge(record);
        }
        all
    }

    /// Errors from the first operation to the last, ramps included.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.whole.iter().map(|totals| totals.errors).sum()
    }
}

/// A client that did not finish its load point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropout {
    /// The client's number, from 0.
    pub client: u32,
    /// What happened, as a lower-case clause.
    pub reason: String,
}

/// What the generator's own process used during the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientUsage {
    /// CPU time in user mode.
    pub cpu_user: Duration,
    /// CPU time in the kernel.
    pub cpu_system: Duration,
    /// Largest resident set of the process so far, in bytes.
    pub max_rss_bytes: u64,
}

/// Setting up the sessions of one load point.
#[derive(Clone, Debug)]
pub struct SetupRecord {
    /// Nanoseconds from connect to tree connected, one value per session.
    pub session: Histogram<u64>,
    /// From the first connect to the last session ready.
    pub elapsed: Duration,
}

/// One load point of one pass.
#[derive(Clone, Debug)]
pub struct LoadPointRecord {
    /// Clients asked for.
    pub clients: u32,
    /// Which pass, from 1.
    pub repeat: u32,
    /// Length of the window that was really measured.
    pub window: Duration,
    /// Operations.
    pub ops: Recorder,
    /// Clients that did not run the whole window.
    pub dropouts: Vec<Dropout>,
    /// Why the point must not be quoted; `None` when it is valid.
    pub invalid: Option<String>,
    /// The generator's own use of CPU and memory.
    pub client: ClientUsage,
    /// Session set-up.
    pub setup: SetupRecord,
    /// Time within the window, summed over clients, in which a request was due
    /// but no credit was at hand.
    pub credit_starved: Duration,
    /// Time within the window, summed over clients, in which a request was due
    /// but earlier ones still waited for the socket to take them.
    pub held_back: Duration,
}

/// What the server agreed to; the same for every session of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFacts {
    /// The target without secrets.
    pub url: String,
    /// Negotiated dialect.
    pub dialect: smbench_protocol::Dialect,
    /// Signing algorithm in use, `None` when messages are not signed.
    pub signing: Option<smbench_protocol::SigningAlgorithm>,
    /// Cipher in use, `None` when messages are not encrypted. What is
    /// encrypted is not signed besides.
    pub encryption: Option<smbench_protocol::Cipher>,
    /// Largest READ, WRITE and transaction in bytes.
    pub max_read: u32,
    /// See `max_read`.
    pub max_write: u32,
    /// See `max_read`.
    pub max_transact: u32,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every planned load point was run.
    Complete,
    /// Interrupted by the user.
    Interrupted,
    /// Given up because of the server or the network, as a lower-case clause.
    Aborted(String),
}

/// Everything a run measured so far.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// What was asked for.
    pub plan: Plan,
    /// What the server agreed to.
    pub server: ServerFacts,
    /// Wall-clock time of the start.
    pub started: SystemTime,
    /// Finished load points, and at most one that was cut short.
    pub load_points: Vec<LoadPointRecord>,
    /// How it ended; [`Outcome::Complete`] only once everything has run.
    pub outcome: Outcome,
    /// What could not be removed from the share, as a lower-case clause.
    pub leftover: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn causes_of_failure_are_bounded_and_none_is_lost() {
        let mut recorder = Recorder::default();
        for code in 0..1000 {
            let failure = Failure::Status(NtStatus(0xC000_0000 + code));
            recorder.failure(OpKind::Read, failure, Phase::Window);
        }
        let mut merged = recorder.clone();
        merged.merge(&recorder);
        assert!(merged.failures().len() <= CAUSES_MAX + OpKind::ALL.len());
        assert_eq!(merged.failures().values().sum::<u64>(), 2000);
        assert_eq!(merged.errors(), 2000);
    }

    proptest! {
        /// However operations are spread over recorders, merging gives what one
        /// recorder alone would have.
        #[test]
        fn merged_recorders_equal_one(
            operations in proptest::collection::vec(
                (0usize..3, 0u32..100_000, 1u64..10_000_000_000, any::<bool>(), 0usize..4),
                0..200,
            ),
        ) {
            let mut alone = Recorder::default();
            let mut parts = vec![Recorder::default(); 4];
            for (kind, bytes, service, in_window, part) in operations {
                let phase = if in_window { Phase::Window } else { Phase::Outside };
                for recorder in [&mut alone, &mut parts[part]] {
                    recorder.success(OpKind::ALL[kind], bytes, Nanos(service), phase);
                }
            }
            let mut merged = Recorder::default();
            for part in &parts {
                merged.merge(part);
            }
            for kind in OpKind::ALL {
                prop_assert_eq!(merged.whole(kind), alone.whole(kind));
                let (one, other) = (merged.window(kind), alone.window(kind));
                prop_assert_eq!((one.count, one.bytes), (other.count, other.bytes));
                prop_assert_eq!(&one.service, &other.service);
                prop_assert_eq!(one.service.len(), one.count);
            }
        }
    }
}
