//! Observers that get events as owned values: through a channel, or in a function.

use std::time::{Duration, SystemTime};

use smbench_model::progress::{MeasuredInterval, PointNumber, Progress};
use smbench_model::record::{IntervalSummary, LoadPointRecord, RunRecord};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::run::Observer;

/// An event that an [`Observer`] receives, as an owned value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RunEvent {
    /// Progress of the run, a few times per second.
    Progress(Progress),
    /// An interval of the measured window is over.
    Interval {
        /// The load point.
        point: PointNumber,
        /// Number of the interval in the window, from 0.
        index: u32,
        /// Start of the interval.
        start: SystemTime,
        /// Length of the interval.
        length: Duration,
        /// All operations of the workload that completed in the interval.
        all: IntervalSummary,
    },
    /// A load point has ended.
    LoadPointEnded(Box<LoadPointRecord>),
}

/// Sends each event to a [channel](events). An async application reads the channel
/// while the run blocks a thread of its own.
///
/// The run never waits for the reader: an event that finds the channel full is lost
/// and counted. The final record has all results in any case. Dropping the receiver
/// does not end the run; [`Cancel`](crate::machine::cancel::Cancel) does.
#[derive(Debug)]
pub struct Events {
    sender: mpsc::Sender<RunEvent>,
    lost: u64,
}

/// Makes an observer and the receiver of its events. At most `capacity` events wait
/// to be read. A run sends about three events per second, and one for each load
/// point.
///
/// # Panics
/// If `capacity` is 0.
#[must_use]
pub fn events(capacity: usize) -> (Events, mpsc::Receiver<RunEvent>) {
    let (sender, receiver) = mpsc::channel(capacity);
    (Events { sender, lost: 0 }, receiver)
}

impl Events {
    /// Returns the number of events lost because the channel was full.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    fn send(&mut self, event: RunEvent) {
        if let Err(TrySendError::Full(_)) = self.sender.try_send(event) {
            self.lost += 1;
        }
    }
}

impl Observer for Events {
    fn progress(&mut self, progress: &Progress) {
        self.send(RunEvent::Progress(*progress));
    }

    fn interval_ended(&mut self, interval: &MeasuredInterval<'_>) {
        self.send(RunEvent::from(interval));
    }

    fn load_point_ended(&mut self, record: &RunRecord) {
        RunEvent::of_last(record)
            .into_iter()
            .for_each(|event| self.send(event));
    }
}

impl From<&MeasuredInterval<'_>> for RunEvent {
    fn from(interval: &MeasuredInterval<'_>) -> Self {
        Self::Interval {
            point: interval.point,
            index: interval.index,
            start: interval.start,
            length: interval.length,
            all: IntervalSummary::from(&interval.ops.all()),
        }
    }
}

impl RunEvent {
    fn of_last(record: &RunRecord) -> Option<Self> {
        let last = record.load_points.last()?;
        Some(Self::LoadPointEnded(Box::new(last.clone())))
    }
}

/// Makes an observer that calls `watch` with each event, in the thread of the run. What is
/// slow in it delays the next load point.
pub fn each_event<F: FnMut(RunEvent)>(watch: F) -> EachEvent<F> {
    EachEvent(watch)
}

/// Calls a function with each event; [`each_event`] makes one.
#[derive(Debug)]
pub struct EachEvent<F>(F);

impl<F: FnMut(RunEvent)> Observer for EachEvent<F> {
    fn progress(&mut self, progress: &Progress) {
        (self.0)(RunEvent::Progress(*progress));
    }

    fn interval_ended(&mut self, interval: &MeasuredInterval<'_>) {
        (self.0)(RunEvent::from(interval));
    }

    fn load_point_ended(&mut self, record: &RunRecord) {
        RunEvent::of_last(record).into_iter().for_each(&mut self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_the_reader() {
        let (mut observer, mut receiver) = events(2);
        for done in 0..5 {
            observer.progress(&Progress::Preparing { done, total: 5 });
        }
        assert_eq!(observer.lost(), 3);
        let done = |event| match event {
            Ok(RunEvent::Progress(Progress::Preparing { done, .. })) => Some(done),
            _ => None,
        };
        assert_eq!(done(receiver.try_recv()), Some(0));
        assert_eq!(done(receiver.try_recv()), Some(1));
        drop(receiver);
        observer.progress(&Progress::CleaningUp);
        assert_eq!(observer.lost(), 3);
    }
}
