//! What an observer sees of a load point under way.

use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::contents::block::BLOCK_BYTES;
use smbench_model::progress::{MeasuredInterval, PointNumber, PopulationInterval, Progress};
use smbench_model::record::{FinalRead, Recorder};

use crate::run::Observer;
use crate::run::context::Context;
use crate::worker::schedule::{Interval, Position};
use crate::worker::timeline::EndedInterval;

/// Reports an interval of the window to the observer, and clients that came back in any interval.
pub(super) fn tell(
    context: &Context<'_>,
    point: PointNumber,
    over: &EndedInterval,
    observer: &mut dyn Observer,
) {
    if let Some(upstream) = context.role.upstream() {
        upstream.interval(over);
    }
    context.back_news.look_at(&over.recorder);
    let Interval { from, to, place } = over.interval;
    if let Position::Window(index) = place {
        let names = context.plan.work.populations.iter();
        let populations = names.zip(&over.populations);
        let populations = populations.map(|(population, ops)| PopulationInterval {
            name: population.name.as_deref().unwrap_or_default(),
            ops,
        });
        observer.interval_ended(&MeasuredInterval {
            point,
            index,
            start: context.started_wall + Duration::from(from.since(context.started)),
            length: to.since(from).into(),
            ops: &over.recorder,
            populations: &populations.collect::<Vec<_>>(),
        });
    }
}

/// How far clients are with what they read after their load.
#[derive(Default)]
pub(super) struct ReadBack(FinalRead);

impl ReadBack {
    /// Adds what was read in an interval.
    pub(super) fn add(&mut self, over: &Recorder) {
        let read = over.final_read();
        self.0 = self.0.and(read.unwrap_or_default());
    }

    /// Returns the progress at this time after the load; `None` if nothing is to be read. The rest
    /// has no estimate unless it is known when the load ended.
    pub(super) fn progress(
        &self,
        point: PointNumber,
        after_load: Option<Nanos>,
    ) -> Option<Progress> {
        let FinalRead { due, checked } = self.0;
        let bytes = |blocks: u64| blocks * BLOCK_BYTES as u64;
        let rest = due.saturating_sub(checked) as f64 / checked as f64;
        (due > 0).then(|| Progress::ReadingBack {
            point,
            done: bytes(checked),
            total: bytes(due),
            left: after_load
                .filter(|_| checked > 0)
                .map(|after_load| Duration::from(after_load).mul_f64(rest)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_read_takes_as_long_as_what_was_read() {
        let point = PointNumber {
            number: 1,
            of: 1,
            repeat: 1,
            clients: 1,
            rate: None,
        };
        let mut read_back = ReadBack::default();
        let mut over = Recorder::default();
        read_back.add(&over);
        assert_eq!(read_back.progress(point, None), None);
        let after_load = Some(Nanos(2_000_000_000));
        for (due, checked, after_load, done, left_s) in [
            (8, 0, after_load, 0, None),
            (0, 2, None, 2, None),
            (0, 0, after_load, 2, Some(6)),
            (0, 6, after_load, 8, Some(0)),
        ] {
            over.clear();
            over.read_finally(FinalRead { due, checked });
            read_back.add(&over);
            let expected = Progress::ReadingBack {
                point,
                done: done * 512,
                total: 8 * 512,
                left: left_s.map(Duration::from_secs),
            };
            assert_eq!(read_back.progress(point, after_load), Some(expected));
        }
    }
}
