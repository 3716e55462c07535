//! Merges the recorders of all workers, interval by interval.
//!
//! Invariant: each recorder is counted once in the tally, in any order of workers.
//! An interval is summarised when no worker can add to it any more. Memory is
//! bounded by how far apart the workers are.

use std::collections::{BTreeMap, VecDeque};

use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::progress::Live;
use smbench_model::record::{OpRecord, Recorder, Series, SeriesDetail, Tally};

use crate::worker::schedule::{Interval, Position};

/// The recorder of one worker for one interval.
pub(super) struct HandedIn {
    /// The worker's number.
    pub(super) worker: usize,
    pub(crate) interval: Interval,
    /// End of the recording. It is before the interval's end if the load or the
    /// window ended early.
    pub(super) end: Nanos,
    /// The recorder; `None` if the worker only leaves.
    pub(crate) recorder: Option<Recorder>,
    pub(super) next: NextInterval,
}

impl HandedIn {
    /// Returns a copy that shares nothing with the worker.
    pub(super) fn copy(&self) -> Self {
        Self {
            recorder: self.recorder.clone(),
            ..*self
        }
    }
}

/// The next hand-in of a worker. It hands in nothing more for earlier intervals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NextInterval {
    /// The interval that begins at this instant.
    Interval(Nanos, Position),
    /// The worker has left.
    Nothing,
}

impl From<Interval> for NextInterval {
    fn from(interval: Interval) -> Self {
        Self::Interval(interval.from, interval.place)
    }
}

/// A complete interval and its recorder. It ends with the last worker that recorded
/// in it.
pub(crate) struct EndedInterval {
    pub(crate) interval: Interval,
    pub(crate) recorder: Recorder,
    /// The recorder of each population, if there are several.
    pub(crate) populations: Vec<Recorder>,
}

/// The intervals of a load point.
pub(super) struct Timeline {
    /// Next hand-in of each worker.
    next: Vec<NextInterval>,
    /// Intervals to which workers may still add, in order.
    open: BTreeMap<NextInterval, EndedInterval>,
    pub(super) tally: Tally,
    pub(super) series: Series,
    pub(super) live: Live,
    /// The sums of each stage that was not taken, if the load has stages.
    stages: VecDeque<StageTally>,
    /// Index of the first interval of the window that may not be complete.
    closed: u32,
}

/// The sums of one stage.
struct StageTally {
    /// Index of the first interval of the window after it.
    end: u32,
    /// `None` before the first operation.
    tally: Option<Tally>,
}

impl Timeline {
    /// Begins the intervals of this many workers.
    pub(crate) fn new(workers: usize, detail: SeriesDetail) -> Self {
        Self {
            next: vec![NextInterval::Interval(Nanos(0), Position::Window(0)); workers],
            open: BTreeMap::new(),
            tally: Tally::default(),
            series: Series {
                detail,
                ..Series::default()
            },
            live: Live::default(),
            stages: VecDeque::new(),
            closed: 0,
        }
    }

    /// Returns the number of workers.
    pub(super) const fn workers(&self) -> usize {
        self.next.len()
    }

    /// Also sums up each stage; `ends` has the index of the first interval after each.
    pub(super) fn divide(&mut self, ends: &[u32]) {
        let stages = ends.iter().map(|&end| StageTally { end, tally: None });
        self.stages = stages.collect();
    }

    /// Returns whether the next stage is complete, and is not the last one. What was done before
    /// the window belongs to the first one, and what was done after it to the last one.
    pub(super) fn has_ended_stage(&self) -> bool {
        let next = self.stages.front();
        self.stages.len() > 1 && next.is_some_and(|stage| stage.end <= self.closed)
    }

    /// Takes the sums of the next stage, in little memory; `None` if none is left.
    pub(super) fn take_stage(&mut self) -> Option<Tally> {
        let stage = self.stages.pop_front()?;
        Some(stage.tally.unwrap_or_default().packed())
    }

    /// Returns the stage of an interval.
    fn stage_of(&mut self, place: Position) -> Option<&mut StageTally> {
        let at = match place {
            Position::Window(index) => self.stages.partition_point(|stage| stage.end <= index),
            Position::Before => 0,
            Position::Outside => self.stages.len().checked_sub(1)?,
        };
        self.stages.get_mut(at)
    }

    /// Adds the recorder of a worker. Returns the recorder if it is no longer
    /// needed.
    pub(super) fn add(&mut self, handed: HandedIn) -> Option<Recorder> {
        let HandedIn {
            worker,
            interval,
            end,
            recorder,
            next,
        } = handed;
        self.next[worker] = next;
        let recorder = recorder?;
        let key = NextInterval::from(interval);
        match self.open.get_mut(&key) {
            Some(open) => {
                open.interval.to = open.interval.to.max(end);
                open.recorder.merge(&recorder);
                Some(recorder)
            }
            None => {
                let interval = Interval {
                    to: end,
                    ..interval
                };
                let populations = Vec::new();
                let begun = EndedInterval {
                    interval,
                    recorder,
                    populations,
                };
                self.open.insert(key, begun);
                None
            }
        }
    }

    /// Adds a copy of a recorder, as that of the worker with this number here. Passes on each
    /// interval that is complete with it.
    pub(super) fn add_copy(
        &mut self,
        handed: &HandedIn,
        worker: usize,
        ended: impl FnMut(EndedInterval),
    ) {
        self.add(HandedIn {
            worker,
            ..handed.copy()
        });
        std::iter::from_fn(|| self.close_next()).for_each(ended);
    }

    /// Summarises the oldest interval if it is complete for all workers.
    pub(super) fn close_next(&mut self) -> Option<EndedInterval> {
        let next = self.next.iter().min()?;
        // One worker may end an interval early while others still record in it, so
        // the end does not count here.
        if self.open.first_key_value()?.0 >= next {
            return None;
        }
        let (_, over) = self.open.pop_first()?;
        let EndedInterval {
            interval, recorder, ..
        } = &over;
        self.tally.add(recorder, interval.place.phase());
        if let Some(stage) = self.stage_of(interval.place) {
            let tally = stage.tally.get_or_insert_default();
            tally.add(recorder, interval.place.phase());
        }
        if let Position::Window(index) = interval.place {
            self.closed = index + 1;
            self.series.set(index as usize, recorder);
        }
        self.live = live(*interval, recorder);
        Some(over)
    }

    /// Completes all intervals, and returns the sums.
    pub(super) fn finish(mut self) -> (Tally, Series) {
        self.end();
        while self.close_next().is_some() {}
        (self.tally, self.series)
    }

    /// Completes all intervals; call this when no worker will add anything.
    pub(super) fn end(&mut self) {
        self.next.fill(NextInterval::Nothing);
    }
}

fn live(interval: Interval, recorder: &Recorder) -> Live {
    let seconds = interval.to.since(interval.from).as_secs_f64();
    let per_second = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
    let carries = |(kind, _): &(OpKind, &OpRecord)| kind.direction().is_some();
    let bytes: u64 = recorder.ops().filter(carries).map(|(_, op)| op.bytes).sum();
    let all = recorder.all();
    Live {
        throughput_mbps: per_second(bytes as f64 * 8.0 / 1e6),
        ops_per_s: per_second(all.count() as f64),
        p99: Nanos(all.latency().value_at_quantile(0.99)).into(),
    }
}
