//! Whether actions began when they were due.

use std::ops::Add;

use crate::clock::Nanos;

/// Actions that were due in the window by the clock, at a rate, as recorded or after a think
/// time, whenever they were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Punctuality {
    /// All of them.
    pub due: u64,
    /// Actions that were sent in the window, whenever they were due.
    pub sent: u64,
    /// Begun more than a millisecond late: earlier ones of the client had not
    /// been answered, credits lacked, or the generator was slow.
    pub late: u64,
    /// Never begun.
    pub dropped: u64,
    /// Not answered when the window closed, those that were dropped included.
    pub unanswered: u64,
    /// The longest that one of those waited.
    pub unanswered_max: Nanos,
    /// The most that one was late.
    pub delay_max: Nanos,
}

impl Punctuality {
    /// Of nothing.
    pub const NONE: Self = Self {
        due: 0,
        sent: 0,
        late: 0,
        dropped: 0,
        unanswered: 0,
        unanswered_max: Nanos(0),
        delay_max: Nanos(0),
    };
}

impl Add for Punctuality {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            due: self.due + other.due,
            sent: self.sent + other.sent,
            late: self.late + other.late,
            dropped: self.dropped + other.dropped,
            unanswered: self.unanswered + other.unanswered,
            unanswered_max: self.unanswered_max.max(other.unanswered_max),
            delay_max: self.delay_max.max(other.delay_max),
        }
    }
}
