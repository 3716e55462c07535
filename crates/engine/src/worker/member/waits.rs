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
    /// When the member looks again whether other clients have come far enough.
    pub(super) looks_again: Option<Nanos>,
}

/// How long a client of a replay waits before it looks again at other clients.
const LOOKS_EACH: Nanos = Nanos(100_000);

impl Waits {
    /// No wait so far.
    pub(super) const NONE: Self = Self {
        starved_since: None,
        starved: Nanos(0),
        shut_out_since: None,
        looks_again: None,
    };

    /// Records why a due operation could not be sent at `now`.
    pub(crate) fn begin(&mut self, busy: Busy, now: Nanos, control: &LoadControl) {
        match busy {
            Busy::Room | Busy::Earlier | Busy::Over => self.end(now, control),
            Busy::Others => {
                self.end(now, control);
                self.looks_again = Some(now + LOOKS_EACH);
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
