//! A client that is away from the server.

use std::cmp::Reverse;

use smbench_model::Nanos;

use super::Member;
use crate::worker::pace::Pace;
use crate::worker::supply::Supply;

impl<S: Supply> Member<S> {
    /// Leaves out the time until `now`, in which the client was away. Think times that ended
    /// meanwhile end now, and arrivals are not made up for.
    pub(in crate::worker) fn rest_until(&mut self, now: Nanos) {
        while let Some(mut next) = self.resting.peek_mut()
            && next.0.0 < now
        {
            *next = Reverse((now, next.0.1));
        }
        match &mut self.pace {
            Pace::Rate(arrivals) => {
                while arrivals.next() <= now {
                    arrivals.take();
                }
            }
            Pace::Bursts(bursts) => bursts.rest_until(now),
            Pace::Closed
            | Pace::Thinking(_)
            | Pace::Pausing(_)
            | Pace::Recorded(_)
            | Pace::Turns(_) => {}
        }
        if let Some(frames) = &mut self.frames {
            frames.rest();
        }
    }
}
