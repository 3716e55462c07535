//! Waits of a client that has a due operation but cannot send it.

use std::hint;

use smbench_model::Nanos;

use crate::drivers::driver::Busy;
use crate::worker::load_control::LoadControl;

/// Waits for credits and for the session.
pub(crate) struct Waits {
    /// Start of the current lack of credits.
    starved_since: Option<Nanos>,
    /// Sum of the lacks of credits within the window.
    pub(crate) starved: Nanos,
    /// Start of the time since when the session takes no requests.
    shut_out_since: Option<Nanos>,
    /// Start of the current wait for other clients.
    others_since: Option<Nanos>,
    /// When the member looks again whether other clients have come far enough.
    pub(super) looks_again: Option<Nanos>,
}

/// The shortest and the longest time in which a client of a replay looks again at other clients.
const LOOKS_AFTER: (Nanos, Nanos) = (Nanos(100_000), Nanos(20_000_000));
/// A wait ends late by at most this part of it. A client that waits for long would else need more
/// CPU than its operations.
const LATE_BY: u64 = 8;

/// Returns when a client looks again that has waited since `since`.
fn look_after(since: Nanos, now: Nanos) -> Nanos {
    let (soonest, latest) = LOOKS_AFTER;
    now + Nanos(now.since(since).0 / LATE_BY).clamp(soonest, latest)
}

impl Waits {
    /// No wait so far.
    pub(super) const NONE: Self = Self {
        starved_since: None,
        starved: Nanos(0),
        shut_out_since: None,
        others_since: None,
        looks_again: None,
    };

    /// Records why a due operation could not be sent at `now`.
    pub(crate) fn begin(&mut self, busy: Busy, now: Nanos, control: &LoadControl) {
        match busy {
            Busy::Room | Busy::Earlier | Busy::Over => self.end(now, control),
            Busy::Others => {
                let since = self.others_since.unwrap_or(now);
                self.end(now, control);
                self.others_since = Some(since);
                self.looks_again = Some(look_after(since, now));
            }
            Busy::Credits => {
                self.starved_since.get_or_insert(now);
                self.shut_out_since = None;
            }
            Busy::Session | Busy::Link => {
                self.end_starvation(now, control);
                self.shut_out_since.get_or_insert(now);
            }
        }
    }

    /// Ends all waits at `now`: an operation was sent, or none is due any more.
    #[inline]
    pub(crate) fn end(&mut self, now: Nanos, control: &LoadControl) {
        self.end_starvation(now, control);
        self.shut_out_since = None;
        self.others_since = None;
        self.looks_again = None;
    }

    #[inline]
    fn end_starvation(&mut self, now: Nanos, control: &LoadControl) {
        if let Some(since) = self.starved_since.take() {
            hint::cold_path();
            self.starved = self.starved + control.window_between(since, now);
        }
    }

    /// Returns the start of the current wait.
    pub(crate) fn since(&self) -> Option<Nanos> {
        self.starved_since.or(self.shut_out_since)
    }

    /// Returns whether the session takes no requests.
    pub(crate) const fn is_shut_out(&self) -> bool {
        self.shut_out_since.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looking costs as much as an operation. A wait of a minute has some thousand looks, and
    /// none of its ends is noticed late by more than 20 ms.
    #[test]
    fn a_client_looks_at_others_less_often_the_longer_it_waits() {
        let (start, end) = (Nanos(1_000), Nanos(60_000_001_000));
        let (mut now, mut looks) = (start, 0);
        while now < end {
            let next = look_after(start, now);
            let late = next.since(now);
            let allowed = (now.since(start).0 / 8).clamp(100_000, 20_000_000);
            assert_eq!(late, Nanos(allowed));
            (now, looks) = (next, looks + 1);
        }
        assert!(looks < 3_100, "{looks}");
        // The first waits are short: most other clients are a few operations behind.
        assert_eq!(look_after(start, start), Nanos(101_000));
    }
}
