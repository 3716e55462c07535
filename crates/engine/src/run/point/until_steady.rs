//! Ends a window early, once its load is steady.
//!
//! The window is judged when an interval has ended, and then ends with the next one. So
//! all workers know the end before it comes.

use smbench_model::Nanos;
use smbench_model::plan::Plan;
use smbench_model::record::Series;
use smbench_model::steadiness::Steadiness;

use crate::worker::schedule::{Position, Schedule};
use crate::worker::timeline::EndedInterval;

/// Time until every worker, on any host, has learned that the window ends earlier.
const NOTICE: Nanos = Nanos(300_000_000);

/// The intervals of a window that ends once its load is steady.
pub(super) struct UntilSteady {
    /// Length of the shortest window.
    shortest: Nanos,
    series: Series,
}

impl UntilSteady {
    /// Returns `None` for a plan with windows of a fixed length.
    pub(super) fn of(plan: &Plan) -> Option<Self> {
        plan.work.until_steady?;
        Some(Self {
            shortest: plan.work.duration.into(),
            series: Series::default(),
        })
    }

    /// Adds an interval that has ended for all workers.
    pub(super) fn add(&mut self, over: &EndedInterval) {
        if let Position::Window(index) = over.interval.place {
            self.series.set(index as usize, &over.recorder);
        }
    }

    /// Returns the schedule that ends with the next interval after `now`, if the load is
    /// steady and that is earlier.
    pub(super) fn ended(&self, schedule: Schedule, now: Nanos) -> Option<Schedule> {
        let amounts = self.series.amounts(self.series.all.len());
        if !Steadiness::of(&amounts).is_ok_and(Steadiness::is_steady) {
            return None;
        }
        let earliest = (now + NOTICE).max(schedule.open + self.shortest);
        let intervals = (earliest - schedule.open).0.div_ceil(schedule.interval.0);
        let close = schedule.open + Nanos(intervals.saturating_mul(schedule.interval.0));
        (close < schedule.close).then(|| schedule.closing_at(close))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use smbench_model::kind::OpKind;
    use smbench_model::record::Recorder;

    use super::*;
    use crate::worker::schedule::Interval;

    const SECOND: u64 = 1_000_000_000;

    fn second(seconds: u64) -> Nanos {
        Nanos(seconds * SECOND)
    }

    fn schedule() -> Schedule {
        Schedule {
            begin: second(1),
            open: second(2),
            close: second(62),
            stop: second(63),
            interval: second(1),
            clients: 1,
        }
    }

    /// Feeds reads per second, and returns the length of the window once its end is known.
    fn length(shortest: u64, reads: &[u64]) -> Option<u64> {
        let mut watched = UntilSteady {
            shortest: second(shortest),
            series: Series {
                interval: Duration::from_secs(1),
                ..Series::default()
            },
        };
        for (index, &reads) in reads.iter().enumerate() {
            let mut recorder = Recorder::default();
            for _ in 0..reads {
                recorder.success(OpKind::Read, 4096, Nanos(1000));
            }
            let to = second(3 + index as u64);
            watched.add(&EndedInterval {
                interval: Interval {
                    from: to - second(1),
                    to,
                    place: Position::Window(index as u32),
                },
                recorder,
                populations: Vec::new(),
            });
            // It takes a moment until all workers have handed in their part.
            let now = to + Nanos(100_000_000);
            if let Some(ended) = watched.ended(schedule(), now) {
                assert_eq!((ended.begin, ended.open), (second(1), second(2)));
                assert_eq!(ended.stop - ended.close, second(1));
                return Some((ended.close - ended.open).0 / SECOND);
            }
        }
        None
    }

    #[test]
    fn a_window_ends_with_the_interval_after_the_one_that_made_it_steady() {
        assert_eq!(length(1, &[100; 20]), Some(6));
        assert_eq!(length(10, &[100; 20]), Some(10));
        assert_eq!(length(1, &[100; 4]), None);
        // The slow start counts less and less.
        let slow_start = [&[50][..], &[100; 30]].concat();
        assert_eq!(length(1, &slow_start), Some(26));
        let rising: Vec<u64> = (1..60).map(|second| second * 10).collect();
        assert_eq!(length(1, &rising), None);
    }
}
