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
    pub(super) recorder: Recorder,
    /// Nothing that completed before this instant is still to come from it.
    pub(super) reached: Nanos,
}

/// An interval that is over, and what it held.
pub(super) struct Over {
    pub(super) interval: Interval,
    pub(super) recorder: Recorder,
}

/// The intervals of a load point.
pub(super) struct Timeline {
    /// By worker.
    reached: Vec<Nanos>,
    /// By the instant they start, those that workers may still add to.
    open: BTreeMap<Nanos, (Interval, Recorder)>,
    tally: Tally,
    series: Series,
    live: Live,
}

impl Timeline {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            reached: vec![Nanos(0); workers],
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
            recorder,
            reached,
        } = handed;
        self.reached[worker] = self.reached[worker].max(reached);
        match self.open.get_mut(&interval.from) {
            Some((open, merged)) => {
                open.to = open.to.max(interval.to);
                merged.merge(&recorder);
                Some(recorder)
            }
            None => {
                self.open.insert(interval.from, (interval, recorder));
                None
            }
        }
    }

    /// Summarises the oldest interval, if it is over for all workers.
    pub(super) fn close_next(&mut self) -> Option<Over> {
        let reached = self.reached.iter().min().copied()?;
        let (_, (interval, _)) = self.open.first_key_value()?;
        if interval.to > reached {
            return None;
        }
        let (_, (interval, recorder)) = self.open.pop_first()?;
        self.tally.add(&recorder, interval.place.phase());
        if let Place::Window(index) = interval.place {
            self.series.set(index as usize, &recorder);
        }
        self.live = live(interval, &recorder);
        Some(Over { interval, recorder })
    }

    /// Figures of the last interval that is over.
    pub(super) const fn live(&self) -> Live {
        self.live
    }

    /// Makes all intervals be over: nothing more will come.
    pub(super) fn end(&mut self) {
        self.reached.fill(Nanos::MAX);
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
