//! Whether actions began when they were due.

use std::ops::Add;

use serde::{Deserialize, Serialize};

use super::FrameTally;
use crate::Nanos;

/// Actions that were due by the clock in the window: at a rate, as recorded or
/// after a think time. It does not matter when they were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Punctuality {
    /// The number of actions.
    pub due: u64,
    /// Actions that ended in the window, whenever they were due.
    pub answered: u64,
    /// Begun more than a millisecond late: earlier ones of the client had not
    /// been answered, credits lacked, or the generator was slow.
    pub late: u64,
    /// Actions that ended in the window, in millionths of those that were due in it, of the client
    /// with the smallest share. `None` if no client had any due, and in stages.
    pub slowest_ppm: Option<u32>,
    /// Actions that never began.
    pub dropped: u64,
    /// Actions without an answer when the window closed, including those that never
    /// began.
    pub unanswered: u64,
    /// The longest wait of an unanswered action.
    pub unanswered_max: Nanos,
    /// The longest service time of a request that was in flight when the window closed.
    pub in_flight_max: Nanos,
    /// The longest delay of an action.
    pub delay_max: Nanos,
    /// The actions that are frames of streams.
    pub frames: FrameTally,
}

impl Add for Punctuality {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            due: self.due + other.due,
            answered: self.answered + other.answered,
            late: self.late + other.late,
            slowest_ppm: [self.slowest_ppm, other.slowest_ppm]
                .into_iter()
                .flatten()
                .min(),
            dropped: self.dropped + other.dropped,
            unanswered: self.unanswered + other.unanswered,
            unanswered_max: self.unanswered_max.max(other.unanswered_max),
            in_flight_max: self.in_flight_max.max(other.in_flight_max),
            delay_max: self.delay_max.max(other.delay_max),
            frames: self.frames + other.frames,
        }
    }
}
