//! The pace of a session: requests in flight, and the time from one to the next when none
//! is.

/// Pauses that a late answer may still fill.
const OPEN_PAUSES_MAX: usize = 256;

/// A time without a request in flight.
#[derive(Clone, Copy, Debug)]
struct IdleTime {
    begin_ns: u64,
    end_ns: u64,
}

/// The pace of a session, or of several.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionPace {
    /// The latest pauses. An answer that comes later may show that a request was in flight.
    open: Vec<IdleTime>,
    /// When the last request in flight was answered.
    idle_ns: Option<u64>,
    pauses: u64,
    sum_ns: f64,
    squares_ns: f64,
    took_ns: f64,
    busy_ns: f64,
}

impl SessionPace {
    /// Adds a frame of requests. They come in the order of their answers.
    pub(super) fn add(&mut self, sent_ns: u64, done_ns: u64) {
        self.took_ns += (done_ns - sent_ns) as f64;
        let Some(idle_ns) = self.idle_ns else {
            self.busy_ns += (done_ns - sent_ns) as f64;
            self.idle_ns = Some(done_ns);
            return;
        };
        if sent_ns >= idle_ns {
            self.open.push(IdleTime {
                begin_ns: idle_ns,
                end_ns: sent_ns,
            });
            self.busy_ns += (done_ns - sent_ns) as f64;
        } else {
            self.fill(sent_ns);
            self.busy_ns += done_ns.saturating_sub(idle_ns) as f64;
        }
        self.idle_ns = Some(idle_ns.max(done_ns));
        if self.open.len() > OPEN_PAUSES_MAX {
            let first = self.open.remove(0);
            self.count(first);
        }
    }

    /// A request was in flight from this time on.
    fn fill(&mut self, from_ns: u64) {
        while let Some(last) = self.open.last_mut() {
            if last.end_ns <= from_ns {
                return;
            }
            self.busy_ns += (last.end_ns - last.begin_ns.max(from_ns)) as f64;
            if last.begin_ns < from_ns {
                last.end_ns = from_ns;
                return;
            }
            self.open.pop();
        }
    }

    fn count(&mut self, pause: IdleTime) {
        let length = (pause.end_ns - pause.begin_ns) as f64;
        self.pauses += 1;
        self.sum_ns += length;
        self.squares_ns += length * length;
    }

    pub(super) fn finish(&mut self) {
        for pause in std::mem::take(&mut self.open) {
            self.count(pause);
        }
    }

    /// Adds the pace of another session, which is finished as well.
    pub(super) fn join(&mut self, other: &Self) {
        self.pauses += other.pauses;
        self.sum_ns += other.sum_ns;
        self.squares_ns += other.squares_ns;
        self.took_ns += other.took_ns;
        self.busy_ns += other.busy_ns;
    }

    /// Returns the sum of all pauses in nanoseconds.
    pub(super) const fn paused_ns(&self) -> f64 {
        self.sum_ns
    }

    /// Returns whether pauses vary as much as exponential ones, at least by half.
    pub(super) fn varies(&self) -> bool {
        let count = self.pauses as f64;
        let mean = self.sum_ns / count.max(1.0);
        let variance = self.squares_ns / count.max(1.0) - mean * mean;
        variance.max(0.0).sqrt() > mean / 2.0
    }

    /// Returns the mean number of requests in flight while there is one.
    pub(super) fn in_flight(&self) -> f64 {
        if self.busy_ns > 0.0 {
            self.took_ns / self.busy_ns
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_times_without_a_request_in_flight() {
        let mut pace = SessionPace::default();
        for (sent, done) in [(0, 10), (20, 30), (50, 60)] {
            pace.add(sent, done);
        }
        pace.finish();
        assert_eq!((pace.pauses, pace.paused_ns()), (2, 30.0));
        assert!((pace.in_flight() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_late_answer_shows_that_a_request_was_in_flight() {
        let mut pace = SessionPace::default();
        for (sent, done) in [(0, 10), (20, 30), (40, 50), (25, 60)] {
            pace.add(sent, done);
        }
        pace.finish();
        assert_eq!((pace.pauses, pace.paused_ns()), (1, 10.0));
        // 10, then from 20 to 60.
        assert_eq!(pace.busy_ns, 50.0);
        assert_eq!(pace.took_ns, 65.0);
    }
}
