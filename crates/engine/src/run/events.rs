//! An observer for applications that do not want to be called back.

use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::record::{IntervalSummary, LoadPointRecord, RunRecord};
use crate::run::observe::{MeasuredInterval, Observer, Point, Progress};

/// Something that an [`Observer`] is told, to keep.
#[derive(Clone, Debug)]
pub enum Event {
    /// Where the run is; a few times per second.
    Progress(Progress),
    /// An interval of the measured window is over.
    Interval {
        /// The load point.
        point: Point,
        /// Which pass, from 1.
        repeat: u32,
        /// Its number in the window, from 0.
        index: u32,
        /// When it began.
        start: SystemTime,
        /// How long it was.
        length: Duration,
        /// All operations of the workload that completed in it.
        all: IntervalSummary,
    },
    /// A load point has ended.
    LoadPointEnded(Box<LoadPointRecord>),
}

/// Sends what it is told to a [channel](events), which an async application
/// reads while the run blocks a thread of its own.
///
/// The run never waits for the reader: what finds the channel full is lost, and
/// counted. All of it is in the record at the end anyway. Nor does the run end
/// when the reader goes away; [`Cancel`](crate::Cancel) ends it.
#[derive(Debug)]
pub struct Events {
    sender: mpsc::Sender<Event>,
    lost: u64,
}

/// An observer, and what it is told, of which as many as `capacity` wait to be
/// read. A run tells some three events per second and one for each load point.
///
/// # Panics
/// When `capacity` is 0.
#[must_use]
pub fn events(capacity: usize) -> (Events, mpsc::Receiver<Event>) {
    let (sender, receiver) = mpsc::channel(capacity);
    (Events { sender, lost: 0 }, receiver)
}

impl Events {
    /// Events that found the channel full.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    fn tell(&mut self, event: Event) {
        if let Err(TrySendError::Full(_)) = self.sender.try_send(event) {
            self.lost += 1;
        }
    }
}

impl Observer for Events {
    fn progress(&mut self, progress: &Progress) {
        self.tell(Event::Progress(*progress));
    }

    fn interval_ended(&mut self, interval: &MeasuredInterval<'_>) {
        self.tell(Event::Interval {
            point: interval.point,
            repeat: interval.repeat,
            index: interval.index,
            start: interval.start,
            length: interval.length,
            all: IntervalSummary::from(&interval.ops.all()),
        });
    }

    fn load_point_ended(&mut self, record: &RunRecord) {
        if let Some(last) = record.load_points.last() {
            self.tell(Event::LoadPointEnded(Box::new(last.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_the_reader() {
        let (mut observer, mut told) = events(2);
        for done in 0..5 {
            observer.progress(&Progress::Preparing { done, total: 5 });
        }
        assert_eq!(observer.lost(), 3);
        let done = |event| match event {
            Ok(Event::Progress(Progress::Preparing { done, .. })) => Some(done),
            _ => None,
        };
        assert_eq!(done(told.try_recv()), Some(0));
        assert_eq!(done(told.try_recv()), Some(1));
        drop(told);
        observer.progress(&Progress::CleaningUp);
        assert_eq!(observer.lost(), 3);
    }
}
