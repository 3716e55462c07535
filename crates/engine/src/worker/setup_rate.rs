//! The instants at which workers begin groups, so that all together keep to a rate.

use smbench_model::Nanos;

/// Maximum lateness that is compensated. It covers late timers only: after a slow
/// server, the worker must not exceed the rate.
const MADE_UP: Nanos = Nanos(10_000_000);

/// Computes when a worker may begin its next group: at even distances, and not
/// earlier to compensate for lost time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SetupRate {
    pub(super) due: Nanos,
    interval: Nanos,
}

impl SetupRate {
    /// Makes the pace from `begin` on. All `workers` together take turns and begin
    /// `rate` sessions per second, with `sessions` in each group. Without a rate,
    /// groups are due at once.
    pub(crate) fn new(
        begin: Nanos,
        rate: Option<u32>,
        sessions: u32,
        worker: usize,
        workers: usize,
    ) -> Self {
        // A group takes the time of all its sessions.
        let turn = rate.map_or(0, |rate| {
            u64::from(sessions) * 1_000_000_000 / u64::from(rate)
        });
        Self {
            due: begin + Nanos(turn * worker as u64),
            interval: Nanos(turn * workers as u64),
        }
    }

    /// Returns the pace after a group began at `now`.
    pub(super) fn begun(self, now: Nanos) -> Self {
        Self {
            due: (self.due + self.interval).max(now - MADE_UP),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn workers_take_turns_at_even_distances() {
        for (rate, sessions, workers, starts) in [
            (None, 1, 2, [[5, 5, 5], [5, 5, 5]]),
            (Some(100), 1, 2, [[5, 25, 45], [15, 35, 55]]),
            (Some(1000), 1, 2, [[5, 7, 9], [6, 8, 10]]),
            // Groups of ten sessions each.
            (Some(1000), 10, 2, [[5, 25, 45], [15, 35, 55]]),
        ] {
            for (worker, expected) in starts.into_iter().enumerate() {
                let begin = Nanos(5 * MS);
                let mut pace = SetupRate::new(begin, rate, sessions, worker, workers);
                let due = expected.map(|_| {
                    let due = pace.due;
                    pace = pace.begun(due);
                    due.0 / MS
                });
                // Without a rate the next group is already due.
                let due = due.map(|due| due.max(5 * u64::from(rate.is_none())));
                assert_eq!(due, expected, "{rate:?}, worker {worker}");
            }
        }
    }

    #[test]
    fn what_a_timer_loses_is_made_up_for_and_what_a_server_loses_is_not() {
        let pace = SetupRate::new(Nanos(0), Some(500), 1, 0, 1);
        for (begun_at_ms, next_due_ms) in [(0, 2), (1, 2), (11, 2), (12, 2), (13, 3), (500, 490)] {
            let next = pace.begun(Nanos(begun_at_ms * MS));
            assert_eq!(next.due, Nanos(next_due_ms * MS), "{begun_at_ms}");
        }
    }
}
