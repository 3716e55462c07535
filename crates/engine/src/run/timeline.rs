//! A load point as it comes together: what workers recorded, merged interval by
//! interval.
//!
//! Invariant: whatever was handed in is in the tally once, in whatever order
//! workers hand in; an interval is summarised when no worker can add to it any
//! more. What is held is bounded by how far workers are apart.

use std::collections::BTreeMap;

use crate::clock::Nanos;
use crate::record::{OpKind, OpRecord, Recorder, Series, Tally};
use crate::run::observe::Live;
use crate::run::schedule::{Interval, Place};

/// What a worker recorded in an interval.
pub(super) struct HandedIn {
    /// The worker's number.
    pub(super) worker: usize,
    pub(super) interval: Interval,
    /// Until when it recorded: before the interval's end where its load, or the
    /// window, ended before that.
    pub(super) end: Nanos,
    pub(super) recorder: Recorder,
    pub(super) next: Next,
}

/// What a worker hands in next: nothing any more for intervals before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Next {
    /// The interval that begins at this instant.
    Interval(Nanos, Place),
    /// It has left.
    Nothing,
}

impl From<Interval> for Next {
    fn from(interval: Interval) -> Self {
        Self::Interval(interval.from, interval.place)
    }
}

/// An interval that is over, and what it held. It ends where the last worker did
/// that recorded in it.
pub(super) struct Over {
    pub(super) interval: Interval,
    pub(super) recorder: Recorder,
}

/// The intervals of a load point.
pub(super) struct Timeline {
    /// What is still to come from each worker.
    next: Vec<Next>,
    /// Those that workers may still add to, in order.
    open: BTreeMap<Next, Over>,
    tally: Tally,
    series: Series,
    live: Live,
}

impl Timeline {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            next: vec![Next::Interval(Nanos(0), Place::Window(0)); workers],
            open: BTreeMap::new(),
            tally: Tally::default(),
            series: Series::default(),
            live: Live::default(),
        }
    }

    /// Takes what a worker recorded; a recorder that is not needed any more.
    pub(super) fn add(&mut self, handed: HandedIn) -> Option<Recorder> {
        let HandedIn {
            worker,
            interval,
            end,
            recorder,
            next,
        } = handed;
        self.next[worker] = next;
        let key = Next::from(interval);
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
                self.open.insert(key, Over { interval, recorder });
                None
            }
        }
    }

    /// Summarises the oldest interval, if it is over for all workers.
    pub(super) fn close_next(&mut self) -> Option<Over> {
        let next = self.next.iter().min()?;
        // Where it ended for one tells nothing of the others, who may go on in it.
        if self.open.first_key_value()?.0 >= next {
            return None;
        }
        let (_, over) = self.open.pop_first()?;
        let Over { interval, recorder } = &over;
        self.tally.add(recorder, interval.place.phase());
        if let Place::Window(index) = interval.place {
            self.series.set(index as usize, recorder);
        }
        self.live = live(*interval, recorder);
        Some(over)
    }

    /// Figures of the last interval that is over.
    pub(super) const fn live(&self) -> Live {
        self.live
    }

    /// Makes all intervals be over: nothing more will come.
    pub(super) fn end(&mut self) {
        self.next.fill(Next::Nothing);
    }

    /// Everything that was recorded in intervals that are over.
    pub(super) fn into_parts(self) -> (Tally, Series) {
        (self.tally, self.series)
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
