//! The due instants of a replay that keeps the recorded times.

use std::sync::Arc;

use smbench_model::Nanos;
use smbench_model::trace::Trace;
use smbench_model::workload::Replay;

/// Due instants of the operations of a trace, pass after pass.
pub(crate) struct Instants {
    trace: Arc<Trace>,
    /// Start of this pass.
    began: Nanos,
    at: usize,
    /// Number of passes that have not ended; `None` is endless.
    left: Option<u32>,
    /// How many times as fast as recorded.
    speed: f64,
}

impl Instants {
    pub(crate) fn new(replay: &Replay, client: u32, starts: Nanos) -> Self {
        Self {
            trace: Arc::clone(replay.recording.track(client)),
            began: starts,
            at: 0,
            left: replay.loops,
            speed: replay.speed,
        }
    }

    /// Returns the next instant that has not been taken.
    pub(crate) fn next(&self) -> Nanos {
        self.began + self.scaled(self.trace.times[self.at])
    }

    /// Takes the next instant.
    pub(crate) fn take(&mut self) {
        self.at += 1;
        if self.at == self.trace.times.len() {
            (self.at, self.began) = (0, self.began + Nanos(self.turn()));
            self.left = self.left.map(|left| left.saturating_sub(1));
        }
    }

    /// Counts the instants at or after `from` and before `to` that have not been
    /// taken. Returns their number and the first of them; `None` if there are none.
    pub(crate) fn left_between(&self, from: Nanos, to: Nanos) -> Option<(u64, Nanos)> {
        let passed = self.left_before(from);
        match self.left_before(to).saturating_sub(passed) {
            0 => None,
            count => Some((count, self.ahead(passed))),
        }
    }

    /// Counts the instants before `until` that have not been taken. A short trace
    /// may have very many passes, so this computes the number instead of iterating.
    fn left_before(&self, until: Nanos) -> u64 {
        let times = &self.trace.times;
        let passed = until.since(self.began).0;
        if passed == 0 {
            return 0;
        }
        // A pass begins at the last instant of the one before.
        let whole = match (passed - 1).checked_div(self.turn()) {
            Some(whole) => whole,
            // All instants are equal; without a limit their number is infinite.
            None if self.left.is_none() => return 0,
            None => u64::MAX,
        };
        let all = match self.left.map(u64::from) {
            Some(left) if left <= whole => left.saturating_mul(times.len() as u64),
            _ => {
                let rest = passed - whole * self.turn();
                let of_last = times.partition_point(|&time| self.scaled(time).0 < rest);
                whole.saturating_mul(times.len() as u64) + of_last as u64
            }
        };
        all.saturating_sub(self.at as u64)
    }

    /// Returns the instant that is `skipped` places after the next one.
    fn ahead(&self, skipped: u64) -> Nanos {
        let records = self.trace.times.len() as u64;
        let at = self.at as u64 + skipped;
        let turns = Nanos((at / records).saturating_mul(self.turn()));
        self.began + turns + self.scaled(self.trace.times[(at % records) as usize])
    }

    /// Returns the time of the replay at a time of the recording.
    fn scaled(&self, time: u64) -> Nanos {
        Nanos((time as f64 / self.speed) as u64)
    }

    /// Returns the length of a pass in nanoseconds.
    fn turn(&self) -> u64 {
        self.scaled(self.trace.pass_ns()).0
    }
}

#[cfg(test)]
mod tests {
    use smbench_formats::loadfile;
    use smbench_formats::loadfile::Unknown;

    use super::*;

    /// A replay of a loadfile with these times, in seconds.
    fn recorded(times: &[&str], loops: Option<u32>) -> Instants {
        let lines = times
            .iter()
            .map(|time| format!("{time} Mkdir \"\\a\" NT_STATUS_OK\n"));
        let text = lines.collect::<String>();
        let trace = loadfile::parse("my.txt", text.as_bytes(), Unknown::Refuse).unwrap();
        let replay = Replay {
            loops,
            ..Replay::new(Arc::new(trace.into()))
        };
        Instants::new(&replay, 0, Nanos(1000))
    }

    /// The number left is the same as when taking one after the other.
    #[test]
    fn recorded_instants_that_are_left_are_counted_as_they_would_be_taken() {
        const MS: u64 = 1_000_000;
        let times = ["7.000", "7.000", "7.001", "7.004", "7.004"];
        let edges = [
            0,
            1000,
            1001,
            1000 + MS,
            1000 + 4 * MS,
            1001 + 4 * MS,
            60 * MS,
        ];
        for (loops, skipped) in [None, Some(1), Some(3)]
            .map(|loops| [0, 1, 4, 5, 7].map(|skipped| (loops, skipped)))
            .concat()
        {
            let begun = || {
                let mut instants = recorded(&times, loops);
                for _ in 0..skipped {
                    instants.take();
                }
                instants
            };
            for (from, to) in edges.map(|from| edges.map(|to| (from, to))).concat() {
                let mut walk = begun();
                let mut found = Vec::new();
                while walk.next() < Nanos(to) && walk.left != Some(0) {
                    if walk.next() >= Nanos(from) {
                        found.push(walk.next());
                    }
                    walk.take();
                }
                let expected = found.first().map(|first| (found.len() as u64, *first));
                let left = begun().left_between(Nanos(from), Nanos(to));
                assert_eq!(left, expected, "{loops:?} {skipped} {from} {to}");
            }
        }
    }

    #[test]
    fn a_trace_in_which_no_time_passes_has_no_end_of_instants() {
        let (from, to) = (Nanos(0), Nanos(5000));
        assert_eq!(recorded(&["7", "7"], None).left_between(from, to), None);
        let all = recorded(&["7", "7"], Some(3)).left_between(from, to);
        assert_eq!(all, Some((6, Nanos(1000))));
        // One pass for each microsecond of an hour, without iterating.
        let hour = Nanos(1000 + 3_600_000_000_000);
        let short = recorded(&["7", "7.000001"], None).left_between(from, hour);
        assert_eq!(short, Some((7_199_999_999, Nanos(1000))));
    }
}
