//! Takes filled recorders from workers, and gives them empty ones.
//!
//! A worker comes here once per interval, to push one recorder and pop another. The
//! coordinator merges the recorders. If the coordinator is delayed for long,
//! workers merge them, so that memory stays bounded.
//!
//! Whether the interval is over is one comparison per wake-up. So an operation costs
//! one entry in one histogram. Seconds count from the opening of the window, so the
//! window is cut exactly. Ramps are intervals outside of it.

mod hosts;
mod populations;
mod stages;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smbench_model::Nanos;
use smbench_model::progress::Live;
use smbench_model::record::{Recorder, Series, SeriesDetail, Tally};

use crate::machine::clock;
use crate::worker::schedule::{Interval, Position};
use crate::worker::timeline::{EndedInterval, HandedIn, NextInterval, Timeline};
pub(crate) use hosts::HostStage;
use hosts::StagesOfHost;
use populations::PopulationTimeline;
pub(crate) use stages::StageSums;

/// Recorders per worker that may wait for the coordinator.
const WAITING_MAX: usize = 30;

/// Spare recorders per worker at the start. One is needed while the coordinator has
/// not returned another, and one more if the coordinator is late.
const SPARE: usize = 2;
/// Recorders per worker at the start, including the current one.
pub(crate) const RECORDERS_PER_WORKER: u64 = 1 + SPARE as u64;

/// The recorder queues of a load point, shared by all workers.
pub(crate) struct RecorderExchange {
    /// The empty recorder of each population, from which those of its workers are cloned.
    empty: Vec<Recorder>,
    /// The population of each worker, and of each population of another host.
    population_of: Vec<usize>,
    waiting_max: usize,
    /// Whether the coordinator must see every interval, however late it is.
    keeps_all: bool,
    queues: Mutex<RecorderQueues>,
    /// Locked before `queues` if both are needed, so that recorders are merged in
    /// the order in which they were handed in.
    merging: Mutex<Merging>,
}

struct RecorderQueues {
    waiting: Vec<HandedIn>,
    /// The spare recorders of each population, which fit its operations.
    spare: Vec<Vec<Recorder>>,
}

struct Merging {
    timeline: Timeline,
    /// The intervals of this host alone, where they are kept. Its workers have the first numbers.
    own: Option<Timeline>,
    /// The intervals of each population alone, if there are several.
    populations: Vec<PopulationTimeline>,
    /// What each other host has said of stages, by the number of its first population; nothing
    /// without stages.
    hosts: BTreeMap<usize, StagesOfHost>,
    /// Recorders being merged. It is swapped with [`RecorderQueues::waiting`], so that
    /// workers find room there.
    taken: Vec<HandedIn>,
    /// Complete intervals that the coordinator has not seen.
    unseen: Vec<EndedInterval>,
    /// The sums of the stages that were left when all workers had left.
    left: Vec<StageSums>,
}

impl RecorderExchange {
    /// Makes an exchange. Where `own` is given, it also merges the recorders of the first
    /// `own` workers alone.
    pub(crate) fn new(
        workers: usize,
        empty: Recorder,
        own: Option<usize>,
        detail: SeriesDetail,
    ) -> Self {
        let waiting_max = workers * WAITING_MAX;
        Self {
            waiting_max,
            queues: Mutex::new(RecorderQueues {
                waiting: Vec::with_capacity(waiting_max + 1),
                spare: vec![vec![empty.clone(); SPARE * workers]],
            }),
            empty: vec![empty],
            population_of: vec![0; workers],
            merging: Mutex::new(Merging {
                timeline: Timeline::new(
                    workers,
                    match own {
                        Some(_) => SeriesDetail::Summaries,
                        None => detail,
                    },
                ),
                own: own.map(|own| Timeline::new(own, detail)),
                populations: Vec::new(),
                hosts: BTreeMap::new(),
                taken: Vec::with_capacity(waiting_max + 1),
                unseen: Vec::new(),
                left: Vec::new(),
            }),
            keeps_all: false,
        }
    }

    /// Makes an exchange for the workers of several populations. Each has a number of workers
    /// and an empty recorder. Their numbers are followed by those of `others` other hosts, one
    /// for each population of a host. It also merges the recorders of each population alone.
    pub(crate) fn of_populations(populations: Vec<(usize, Recorder)>, others: usize) -> Self {
        let mut population_of = Vec::new();
        for (index, (workers, _)) in populations.iter().enumerate() {
            population_of.extend(std::iter::repeat_n(index, *workers));
        }
        let own = population_of.len();
        let count = populations.len();
        population_of.extend(std::iter::repeat_n(0..count, others).flatten());
        let apart = (others > 0).then_some(own);
        let workers = population_of.len();
        let mut exchange = Self::new(workers, Recorder::default(), apart, SeriesDetail::Summaries);
        let (mut spare, mut timelines) = (Vec::new(), Vec::new());
        exchange.empty.clear();
        for (index, (_, empty)) in populations.into_iter().enumerate() {
            let numbers = (0..workers).filter(|&worker| population_of[worker] == index);
            let numbers: Vec<_> = numbers.collect();
            spare.push(vec![empty.clone(); SPARE * numbers.len()]);
            timelines.push(PopulationTimeline::new(numbers));
            exchange.empty.push(empty);
        }
        exchange.population_of = population_of;
        lock(&exchange.queues).spare = spare;
        lock(&exchange.merging).populations = timelines;
        exchange
    }

    /// Returns the number of populations, each of which has a number on every other host.
    pub(crate) const fn populations(&self) -> usize {
        self.empty.len()
    }

    /// Keeps every interval until the coordinator has seen it.
    pub(crate) const fn keeping_all(mut self) -> Self {
        self.keeps_all = true;
        self
    }

    /// Merges the recorders that were handed in; called by the coordinator. Returns
    /// live figures of the last complete interval, and all intervals completed
    /// since the last call. Their recorders must be given back.
    pub(crate) fn collect(&self) -> (Live, Vec<EndedInterval>) {
        self.collect_in(&mut lock(&self.merging))
    }

    fn collect_in(&self, merging: &mut Merging) -> (Live, Vec<EndedInterval>) {
        let Merging {
            timeline,
            own,
            populations,
            taken,
            unseen,
            ..
        } = merging;
        std::mem::swap(&mut lock(&self.queues).waiting, taken);
        let mut spare = Vec::new();
        for handed in taken.drain(..) {
            if let Some(own) = own.as_mut().filter(|own| handed.worker < own.workers()) {
                own.add_copy(&handed, handed.worker, drop);
            }
            for population in &mut *populations {
                population.add(&handed);
            }
            if populations.is_empty() {
                spare.extend(timeline.add(handed));
            } else {
                timeline.add(handed.copy());
                if let Some(recorder) = handed.recorder {
                    self.make_spare(self.population_of[handed.worker], [recorder]);
                }
            }
        }
        let mut over = std::mem::take(unseen);
        over.extend(std::iter::from_fn(|| {
            populations::close_next(timeline, populations)
        }));
        let live = timeline.live;
        self.give_back(spare);
        (live, over)
    }

    /// Clears recorders and makes them available again. Of several populations, the recorders
    /// of intervals are copies, which fit none of them, and are dropped.
    pub(crate) fn give_back(&self, recorders: impl IntoIterator<Item = Recorder>) {
        if self.populations() == 1 {
            self.make_spare(0, recorders);
        }
    }

    fn make_spare(&self, population: usize, recorders: impl IntoIterator<Item = Recorder>) {
        let mut spare: Vec<_> = recorders.into_iter().collect();
        for recorder in &mut spare {
            recorder.clear();
        }
        lock(&self.queues).spare[population].append(&mut spare);
    }

    /// Returns the remaining intervals and the sums of the whole load point. Call
    /// this when all workers have left.
    pub(crate) fn finish(&self) -> (Vec<EndedInterval>, Tally, Series) {
        let (_, mut over) = self.collect();
        let mut merging = lock(&self.merging);
        let mut timeline = std::mem::replace(
            &mut merging.timeline,
            Timeline::new(0, SeriesDetail::Summaries),
        );
        timeline.end();
        over.extend(std::iter::from_fn(|| {
            populations::close_next(&mut timeline, &mut merging.populations)
        }));
        drop(merging);
        let left = std::iter::from_fn(|| timeline.take_stage());
        let left = left.map(StageSums::of_all);
        lock(&self.merging).left = left.collect();
        let Timeline { tally, series, .. } = timeline;
        (over, tally, series)
    }

    fn hand_in(&self, handed: HandedIn) {
        let is_full = {
            let mut queues = lock(&self.queues);
            queues.waiting.push(handed);
            queues.waiting.len() > self.waiting_max
        };
        if is_full {
            let mut merging = lock(&self.merging);
            let (_, over) = self.collect_in(&mut merging);
            if self.keeps_all {
                // The first host learns of them only from the coordinator.
                merging.unseen = over;
                return;
            }
            drop(merging);
            self.give_back(over.into_iter().map(|over| over.recorder));
        }
    }

    /// Returns an empty recorder for a worker.
    fn empty(&self, worker: usize) -> Recorder {
        let population = self.population_of[worker];
        let spare = lock(&self.queues).spare[population].pop();
        spare.unwrap_or_else(|| self.empty[population].clone())
    }
}

/// Locks a mutex, even if a worker panicked while holding it. The data is still
/// consistent, because no operation on it panics halfway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A worker's access to the exchange, with the recorder of the current interval. The
/// recorder is handed in at the latest when this is dropped, even if the worker
/// panics.
pub(crate) struct IntervalRecorder {
    exchange: Arc<RecorderExchange>,
    worker: usize,
    pub(crate) recorder: Recorder,
    pub(crate) interval: Interval,
    stage: RecordingStage,
}

/// Whether the worker will hand in further recorders.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordingStage {
    Recording,
    Left,
}

impl IntervalRecorder {
    /// Starts an interval at `now` that is outside the window and lasts until the
    /// first turn.
    pub(crate) fn new(exchange: Arc<RecorderExchange>, worker: usize, now: Nanos) -> Self {
        Self {
            recorder: exchange.empty(worker),
            exchange,
            worker,
            interval: Interval {
                from: now,
                to: Nanos::MAX,
                place: Position::Outside,
            },
            stage: RecordingStage::Recording,
        }
    }

    /// Returns whether an instant is after the current interval.
    pub(super) fn is_over(&self, now: Nanos) -> bool {
        now >= self.interval.to
    }

    /// Hands in the recorder with everything up to `now`, and starts the interval
    /// `next` with an empty recorder.
    pub(super) fn turn(&mut self, now: Nanos, next: Interval) {
        let empty = self.exchange.empty(self.worker);
        self.hand_in(now, NextInterval::from(next), empty);
        self.interval = next;
    }

    /// Ends the window early at `end`, if the current interval is in it. Everything
    /// from `end` on is outside the window, without a limit in time.
    pub(super) fn leave_window(&mut self, end: Nanos) {
        if !matches!(self.interval.place, Position::Window(_)) {
            return;
        }
        let rest = Interval {
            from: end.max(self.interval.from),
            to: Nanos::MAX,
            place: Position::Outside,
        };
        self.turn(end, rest);
    }

    /// Hands in the last recorder, with everything up to `now`. Later calls do
    /// nothing.
    pub(super) fn leave(&mut self, now: Nanos) {
        if self.stage == RecordingStage::Recording {
            self.stage = RecordingStage::Left;
            self.hand_in(now, NextInterval::Nothing, Recorder::default());
        }
    }

    fn hand_in(&mut self, now: Nanos, next: NextInterval, empty: Recorder) {
        let Interval { from, to, .. } = self.interval;
        self.exchange.hand_in(HandedIn {
            worker: self.worker,
            interval: self.interval,
            end: now.clamp(from, to),
            recorder: Some(std::mem::replace(&mut self.recorder, empty)),
            next,
        });
    }
}

impl Drop for IntervalRecorder {
    fn drop(&mut self) {
        self.leave(clock::now());
    }
}

#[cfg(test)]
mod tests;
