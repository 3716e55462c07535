//! Where workers hand in what they recorded, and get empty recorders for it.
//!
//! A worker comes here once per interval, for as long as it takes to push one
//! recorder and pop another; merging is the coordinator's work. Should that be
//! held up for long, workers merge themselves, so that memory stays bounded.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock::{self, Nanos};
use crate::record::{Recorder, Series, Tally};
use crate::run::observe::Live;
use crate::run::schedule::{Interval, Place};
use crate::run::timeline::{HandedIn, Next, Over, Timeline};

/// Recorders per worker that may wait for the coordinator.
const WAITING_MAX: usize = 30;

/// Recorders per worker that are there from the start: one to go on with while
/// the coordinator has not given another back, and one for its being late.
const SPARE: usize = 2;
/// The same with the one it records into.
pub(super) const RECORDERS_PER_WORKER: u64 = 1 + SPARE as u64;

/// The workers' common place of a load point.
pub(super) struct Board {
    /// What recorders are copies of.
    empty: Recorder,
    waiting_max: usize,
    exchange: Mutex<Exchange>,
    /// Taken before `exchange` where both are, so that what was handed in is
    /// merged in the order in which it was.
    merging: Mutex<Merging>,
}

struct Exchange {
    waiting: Vec<HandedIn>,
    spare: Vec<Recorder>,
}

struct Merging {
    timeline: Timeline,
    /// What is being merged. It takes turns with [`Exchange::waiting`], so that
    /// workers find room there.
    taken: Vec<HandedIn>,
}

impl Board {
    pub(super) fn new(workers: usize, empty: Recorder) -> Self {
        let waiting_max = workers * WAITING_MAX;
        Self {
            waiting_max,
            exchange: Mutex::new(Exchange {
                waiting: Vec::with_capacity(waiting_max + 1),
                spare: vec![empty.clone(); SPARE * workers],
            }),
            empty,
            merging: Mutex::new(Merging {
                timeline: Timeline::new(workers),
                taken: Vec::with_capacity(waiting_max + 1),
            }),
        }
    }

    /// The coordinator's turn: merges what came in. The figures of the last
    /// interval that is over, and all that have become so, to be looked at and
    /// given back.
    pub(super) fn collect(&self) -> (Live, Vec<Over>) {
        let mut merging = lock(&self.merging);
        let Merging { timeline, taken } = &mut *merging;
        std::mem::swap(&mut lock(&self.exchange).waiting, taken);
        let mut spare = Vec::new();
        for handed in taken.drain(..) {
            spare.extend(timeline.add(handed));
        }
        let over: Vec<_> = std::iter::from_fn(|| timeline.close_next()).collect();
        let live = timeline.live();
        drop(merging);
        self.give_back(spare);
        (live, over)
    }

    /// Has recorders used again.
    pub(super) fn give_back(&self, recorders: impl IntoIterator<Item = Recorder>) {
        let mut spare: Vec<_> = recorders.into_iter().collect();
        for recorder in &mut spare {
            recorder.clear();
        }
        lock(&self.exchange).spare.append(&mut spare);
    }

    /// The intervals that were not over yet, and everything that was recorded,
    /// when all workers have left.
    pub(super) fn finish(&self) -> (Vec<Over>, Tally, Series) {
        let (_, mut over) = self.collect();
        let mut merging = lock(&self.merging);
        let mut timeline = std::mem::replace(&mut merging.timeline, Timeline::new(0));
        drop(merging);
        timeline.end();
        over.extend(std::iter::from_fn(|| timeline.close_next()));
        let (tally, series) = timeline.into_parts();
        (over, tally, series)
    }

    fn hand_in(&self, handed: HandedIn) {
        let is_full = {
            let mut exchange = lock(&self.exchange);
            exchange.waiting.push(handed);
            exchange.waiting.len() > self.waiting_max
        };
        if is_full {
            let (_, over) = self.collect();
            self.give_back(over.into_iter().map(|over| over.recorder));
        }
    }

    fn empty(&self) -> Recorder {
        let spare = lock(&self.exchange).spare.pop();
        spare.unwrap_or_else(|| self.empty.clone())
    }
}

/// What a worker that panicked left behind is whole: nothing here panics half-way
/// through.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A worker's place at the board, with the recorder of the current interval.
/// What that holds is handed in at the latest when the place is given up, also
/// when the worker panics.
pub(super) struct Desk {
    board: Arc<Board>,
    worker: usize,
    pub(super) recorder: Recorder,
    interval: Interval,
    stage: Stage,
}

/// Whether more is to come from a worker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Recording,
    Left,
}

impl Desk {
    /// From now on until the first turn everything is outside the window.
    pub(super) fn new(board: Arc<Board>, worker: usize, now: Nanos) -> Self {
        Self {
            recorder: board.empty(),
            board,
            worker,
            interval: Interval {
                from: now,
                to: Nanos::MAX,
                place: Place::Outside,
            },
            stage: Stage::Recording,
        }
    }

    pub(super) const fn interval(&self) -> Interval {
        self.interval
    }

    /// Whether an instant is past the current interval.
    pub(super) fn is_over(&self, now: Nanos) -> bool {
        now >= self.interval.to
    }

    /// Hands in what was recorded up to `now`, and goes on with an empty
    /// recorder for `next`.
    pub(super) fn turn(&mut self, now: Nanos, next: Interval) {
        let empty = self.board.empty();
        self.hand_in(now, Next::from(next), empty);
        self.interval = next;
    }

    /// The same where the window, if this is in it, has ended before its time:
    /// what comes from `end` on is in none, however long that might have been.
    pub(super) fn leave_window(&mut self, end: Nanos) {
        if self.interval.place == Place::Outside {
            return;
        }
        let rest = Interval {
            from: end.max(self.interval.from),
            to: Nanos::MAX,
            place: Place::Outside,
        };
        self.turn(end, rest);
    }

    /// Hands in the rest, which was recorded up to `now`; there is nothing more
    /// to come.
    pub(super) fn leave(&mut self, now: Nanos) {
        if self.stage == Stage::Recording {
            self.stage = Stage::Left;
            self.hand_in(now, Next::Nothing, Recorder::default());
        }
    }

    fn hand_in(&mut self, now: Nanos, next: Next, empty: Recorder) {
        let Interval { from, to, .. } = self.interval;
        self.board.hand_in(HandedIn {
            worker: self.worker,
            interval: self.interval,
            end: now.clamp(from, to),
            recorder: std::mem::replace(&mut self.recorder, empty),
            next,
        });
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.leave(clock::now());
    }
}

#[cfg(test)]
mod tests;
