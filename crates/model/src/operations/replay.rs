//! Players: each client's position in a trace, through any number of passes.

use std::sync::Arc;

use crate::kind::OpKind;
use crate::operations::Operation;
use crate::random::{GOLDEN_GAMMA, draw, finalise};
use crate::trace::{HandleNumber, Record, RecordOrder, Recording, Trace};
use crate::workload::{Replay, Timing};

/// The operations of all clients of a replay.
#[derive(Clone, Debug)]
pub struct Replays {
    replay: Replay,
    seed: u64,
}

impl Replays {
    /// Makes the operations of a plan's replay and seed.
    #[must_use]
    pub const fn new(replay: Replay, seed: u64) -> Self {
        Self { replay, seed }
    }

    /// Returns the player of `client` (from 0) at its first operation.
    pub fn player(&self, client: u32) -> TracePosition {
        let trace = Arc::clone(self.replay.recording.track(client));
        let key = finalise(finalise(self.seed.wrapping_add(GOLDEN_GAMMA)) ^ u64::from(client));
        let mut player = TracePosition {
            trace,
            key,
            turn: 0,
            at: 0,
            end: 0,
            left: self.replay.loops.map(u64::from),
        };
        player.left = player.left.map(|loops| loops * player.episodes());
        player
    }

    /// Returns the operations of `client`, from the first. They are endless unless
    /// the replay ends after a number of loops.
    pub fn of_client(&self, client: u32) -> impl Iterator<Item = Operation> + use<> {
        self.player(client)
    }
}

/// The position of a client in a trace.
#[derive(Clone, Debug)]
pub struct TracePosition {
    trace: Arc<Trace>,
    key: u64,
    /// Number of episodes begun.
    turn: u64,
    at: u32,
    /// Index after the last record of the episode.
    end: u32,
    /// Number of episodes left; `None` for endless.
    left: Option<u64>,
}

impl Iterator for TracePosition {
    type Item = Operation;

    /// Returns the next operation; `None` at the end.
    #[inline]
    fn next(&mut self) -> Option<Operation> {
        if self.at == self.end {
            self.begin_episode()?;
        }
        let operation = operation(&self.trace, self.at);
        self.at += 1;
        operation
    }
}

impl TracePosition {
    /// Returns the trace that it plays.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns the record of an operation.
    pub fn record(&self, operation: &Operation) -> &Record {
        self.trace.record(operation.action)
    }

    fn episodes(&self) -> u64 {
        self.trace.episodes.len() as u64
    }

    /// Moves to the next episode. Each turn contains every episode once, in an
    /// order of the client's own.
    fn begin_episode(&mut self) -> Option<()> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        let episodes = &self.trace.episodes;
        let at = self.pick() as usize;
        self.at = episodes[at];
        let records = self.trace.records.len() as u32;
        self.end = episodes.get(at + 1).copied().unwrap_or(records);
        if self.left == Some(0) {
            self.end -= self.trace.closed_by_log_off();
        }
        self.turn += 1;
        Some(())
    }

    /// Returns the next episode. Each turn through all episodes has its own
    /// permutation, an affine map modulo their number. It is a permutation because
    /// the factor is coprime to that number.
    fn pick(&self) -> u64 {
        let count = self.episodes();
        if count == 1 {
            return 0;
        }
        let (turn, at) = (self.turn / count, self.turn % count);
        let start = draw(self.key, 2 * turn) % count;
        let mut step = draw(self.key, 2 * turn + 1) % count;
        while gcd(step, count) != 1 {
            step = (step + 1) % count;
        }
        // Each factor is below 2^24, so the product cannot overflow.
        (start + at * step) % count
    }
}

const fn gcd(one: u64, other: u64) -> u64 {
    match other {
        0 => one,
        _ => gcd(other, one % other),
    }
}

/// Returns record number `at` as an operation.
fn operation(trace: &Trace, at: u32) -> Option<Operation> {
    let record = trace.record(at);
    let (offset, length) = record.range();
    let handle = record.handle().map(HandleNumber::number);
    Some(Operation {
        kind: record.verb().kind()?,
        action: at,
        // Operations without a handle share the place after the last one.
        file: handle.unwrap_or(trace.handles),
        offset,
        length,
    })
}

/// Returns whether an operation of a client waits for an earlier one in flight.
#[must_use]
pub fn waits_for(trace: &Trace, later: &Operation, earlier: &Operation) -> bool {
    if trace.order == RecordOrder::Recorded {
        let opens = |kind| matches!(kind, OpKind::Create | OpKind::Close);
        let is_same = later.file == earlier.file && (opens(later.kind) || opens(earlier.kind));
        // A frame is sent as a whole, or its requests one by one.
        let is_one_frame =
            later.action > earlier.action && trace.frame(earlier.action).contains(&later.action);
        return is_same || is_one_frame || trace.is_after(later.action, earlier.action);
    }
    let uses_name = |operation: &Operation| {
        let has_handle = matches!(
            operation.kind,
            OpKind::Read
                | OpKind::Write
                | OpKind::Flush
                | OpKind::Lock
                | OpKind::Unlock
                | OpKind::QueryFile
                | OpKind::SetFile
        );
        !has_handle
    };
    let moves_alike =
        later.kind == earlier.kind && matches!(later.kind, OpKind::Read | OpKind::Write);
    // Operations without a handle have the same place.
    (later.file == earlier.file && !moves_alike) || (uses_name(later) && uses_name(earlier))
}

/// Returns the pause before record number `at` in nanoseconds. The number after the
/// last record gives the pause at the end.
#[inline]
pub fn pause_before(trace: &Trace, at: u32) -> u64 {
    let pauses = &trace.pauses;
    match pauses.binary_search_by_key(&at, |(before, _)| *before) {
        Ok(found) => pauses[found].1,
        Err(_) => 0,
    }
}

impl Replay {
    /// Returns how many times as fast as recorded it is, unless that is once.
    #[must_use]
    pub fn changed_speed(&self) -> Option<f64> {
        (self.speed != 1.0).then_some(self.speed)
    }

    /// Makes an endless replay, as fast as possible.
    #[must_use]
    pub const fn new(recording: Arc<Recording>) -> Self {
        Self {
            recording,
            timing: Timing::Fast,
            speed: 1.0,
            loops: None,
        }
    }
}
