//! What other hosts measure: their intervals, their parts of stages, and the intervals of this
//! host apart from them.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use smbench_model::Nanos;
use smbench_model::record::{HostRecord, Recorder, Series, Tally};

use super::{Merging, RecorderExchange, lock};
use crate::worker::schedule::{Interval, Position};
use crate::worker::timeline::{HandedIn, NextInterval};

/// The part of another host in a stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HostStage {
    pub(crate) host: HostRecord,
    /// Bytes of memory of its process at the end of the stage; `None` where they are not known.
    pub(crate) own_memory: Option<u64>,
}

/// The parts of another host in the stages that were not taken, in their order.
#[derive(Default)]
pub(super) struct StagesOfHost {
    parts: VecDeque<HostStage>,
    /// Whether there will be no more of them.
    has_left: bool,
}

impl StagesOfHost {
    /// Returns whether nothing lacks of the next stage.
    pub(super) fn is_ready(&self) -> bool {
        self.has_left || !self.parts.is_empty()
    }

    /// Takes the part in the next stage; `None` if the host was lost before its end.
    pub(super) fn take(&mut self) -> Option<HostStage> {
        self.parts.pop_front()
    }
}

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

    /// Hands in the part of another host in the next stage. `worker` is the number of its first
    /// population.
    pub(crate) fn hand_in_stage(&self, worker: usize, part: HostStage) {
        if let Some(host) = lock(&self.merging).hosts.get_mut(&worker) {
            host.parts.push_back(part);
        }
    }

    /// Notes that another host hands in no more. `worker` is the number of its first population.
    pub(crate) fn leave_host(&self, worker: usize) {
        let populations = worker..worker + self.populations();
        populations.for_each(|worker| self.leave(worker));
        if let Some(host) = lock(&self.merging).hosts.get_mut(&worker) {
            host.has_left = true;
        }
    }

    /// Notes that another host hands in no more of a population.
    pub(super) fn leave(&self, worker: usize) {
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
        let mut merging = lock(&self.merging);
        let Merging { own, left, .. } = &mut *merging;
        let mut own = own.take()?;
        own.end();
        while own.close_next().is_some() {}
        for stage in left {
            stage.own = own.take_stage();
        }
        Some(own.finish())
    }
}
