//! The delays of access patterns.

use std::sync::Arc;

use smbench_model::Nanos;
use smbench_model::operations::Mix;
use smbench_model::operations::pattern::{PatternStep, Walk};

/// The delays of a pattern. One delay passes before each burst, from the instant at
/// which its first request could be sent.
pub(crate) struct Bursts {
    mix: Arc<Mix>,
    key: u64,
    /// Position in the pattern, up to the next request.
    walk: Walk,
    /// Delay before the next request, if it has not started.
    rest: Nanos,
    /// Instant from which the next request may be sent; 0 if nothing delays it.
    pub(crate) opens: Nanos,
}

impl Bursts {
    /// Makes the delays of the client with this key, which could send from `starts`
    /// on.
    pub(crate) fn new(mix: &Arc<Mix>, key: u64, starts: Nanos) -> Self {
        let mut new = Self {
            mix: Arc::clone(mix),
            key,
            walk: Walk::default(),
            rest: Nanos(0),
            opens: Nanos(0),
        };
        new.opens = starts + new.step();
        new
    }

    /// Advances by one request; returns the delay before it.
    fn step(&mut self) -> Nanos {
        let step = self
            .mix
            .lines()
            .map(|lines| lines.step(self.key, &mut self.walk));
        match step {
            Some(PatternStep::Begins(delay)) => delay,
            Some(PatternStep::GoesOn | PatternStep::Replies) | None => Nanos(0),
        }
    }

    /// Leaves out a time until `now` in which no request can be sent.
    pub(crate) fn rest_until(&mut self, now: Nanos) {
        if self.opens > Nanos(0) {
            self.opens = self.opens.max(now);
        }
    }

    /// Returns the instant at which the next request became due. It must be allowed
    /// by `now`.
    pub(crate) const fn due(&self, now: Nanos) -> Nanos {
        match self.opens {
            Nanos(0) => now,
            opens => opens,
        }
    }

    /// Records that the next request has been sent. The delay before the following
    /// one starts at once if a request could be sent now. Otherwise
    /// [`Bursts::can_send`] starts it.
    pub(crate) fn sent(&mut self, can_send: bool, now: Nanos) {
        self.opens = Nanos(0);
        self.rest = self.step();
        if can_send {
            self.can_send(now);
        }
    }

    /// Records that a request could be sent from `now` on.
    pub(crate) fn can_send(&mut self, now: Nanos) {
        if self.rest > Nanos(0) {
            self.opens = now + self.rest;
            self.rest = Nanos(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use smbench_model::access::{Access, AccessLine};
    use smbench_model::files::{FileSet, Layout, Scope};
    use smbench_model::operations::client_key;
    use smbench_model::workload::{Requests, Workload};

    use super::*;

    /// Three requests in a burst, and 10 us before each burst.
    fn bursts() -> Bursts {
        let workload = Workload {
            sizes: Vec::new(),
            requests: Requests::Pattern(vec![AccessLine {
                size: 512,
                weight: 100.0,
                read_percent: 100.0,
                random_percent: 0.0,
                delay: Duration::from_micros(10),
                burst: 3,
                align: 512,
                reply: 0,
            }]),
            access: Access::Sequential,
            files: FileSet {
                scope: Scope::Private,
                count: 1,
                size: 4096,
                layout: Layout::Flat,
            },
        };
        Bursts::new(&Mix::new(&workload), client_key(1, 0), Nanos(1000))
    }

    #[test]
    fn a_delay_passes_before_each_burst_once_a_request_could_be_sent() {
        // One outstanding request, sent when due and answered 2 us later.
        let mut bursts = bursts();
        let (mut now, mut sent) = (Nanos(1000), Vec::new());
        for _ in 0..7 {
            now = now.max(bursts.opens);
            assert_eq!(bursts.due(now), now);
            sent.push(now.0);
            bursts.sent(false, now);
            now = now + Nanos(2000);
            bursts.can_send(now);
        }
        assert_eq!(
            sent,
            [11_000, 13_000, 15_000, 27_000, 29_000, 31_000, 43_000]
        );
    }

    #[test]
    fn with_further_slots_free_a_delay_begins_when_the_burst_has_been_sent() {
        let mut bursts = bursts();
        let now = Nanos(11_000);
        assert_eq!(bursts.opens, now);
        for left in [2, 1] {
            bursts.sent(true, now);
            assert_eq!((bursts.opens, bursts.due(now)), (Nanos(0), now), "{left}");
        }
        bursts.sent(true, now);
        assert_eq!(bursts.opens, Nanos(21_000));
        // An answer in the meantime starts no second delay.
        bursts.can_send(Nanos(15_000));
        assert_eq!(bursts.opens, Nanos(21_000));
        // The request stays due since this instant, even if it is sent late.
        assert_eq!(bursts.due(Nanos(30_000)), Nanos(21_000));
    }
}
