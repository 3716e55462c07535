//! The intervals of other hosts, and those of this host apart from them.

use smbench_model::Nanos;
use smbench_model::record::{Recorder, Series, Tally};

use super::{RecorderExchange, lock};
use crate::worker::schedule::{Interval, Position};
use crate::worker::timeline::{HandedIn, NextInterval};

impl RecorderExchange {
    /// Hands in a complete interval of another host, whose workers hand in intervals in
    /// their order.
    pub(crate) fn hand_in_interval(&self, worker: usize, interval: Interval, recorder: &Recorder) {
        let later = interval.from + Nanos(1);
        // Only recorders of this exchange may become spare ones: others lack the kinds that
        // did not occur, and with them their response times.
        let mut own = self.empty(worker);
        own.merge(recorder);
        self.hand_in(HandedIn {
            worker,
            interval,
            end: interval.to,
            recorder: Some(own),
            next: NextInterval::Interval(later, Position::Window(0)),
        });
    }

    /// Notes that another host hands in no more.
    pub(crate) fn leave(&self, worker: usize) {
        self.hand_in(HandedIn {
            worker,
            interval: Interval {
                from: Nanos::MAX,
                to: Nanos::MAX,
                place: Position::Outside,
            },
            end: Nanos::MAX,
            recorder: None,
            next: NextInterval::Nothing,
        });
    }

    /// Returns the sums of this host alone, where they are kept. Call this after
    /// [`Self::finish`].
    pub(crate) fn finish_own(&self) -> Option<(Tally, Series)> {
        let own = lock(&self.merging).own.take()?;
        Some(own.finish())
    }
}
