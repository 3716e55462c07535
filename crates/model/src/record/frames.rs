//! Whether the frames of streams were there by their instants.

use std::ops::Add;

use serde::{Deserialize, Serialize};

use crate::Nanos;

/// Frames that were due in the window, so that their operations could begin. It does not matter
/// when they were done. Those that had not begun when the load ended, and whose instants came
/// after that, are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameTally {
    /// The number of frames.
    pub frames: u64,
    /// Frames that were not done by their instants, with those that never were.
    pub late: u64,
    /// Frames of these that failed, or were not done before the end of the load.
    pub missing: u64,
    /// Streams with a late frame.
    pub streams_late: u64,
    /// The longest time after its instant at which a frame was done.
    pub late_max: Nanos,
    /// The longest time of a stream without a new frame. A frame that is done before its instant
    /// is new at its instant.
    pub gap_max: Nanos,
    /// The shortest time before its instant at which a frame was done; 0 if one was late. `None`
    /// without frames.
    pub ahead_min: Option<Nanos>,
}

impl FrameTally {
    /// Returns the counts of one client, which is a stream.
    #[must_use]
    pub fn of_client(self) -> Self {
        Self {
            streams_late: u64::from(self.late > 0),
            ..self
        }
    }
}

impl Add for FrameTally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let ahead_min = self.ahead_min.into_iter().chain(other.ahead_min).min();
        Self {
            frames: self.frames.saturating_add(other.frames),
            late: self.late.saturating_add(other.late),
            missing: self.missing.saturating_add(other.missing),
            streams_late: self.streams_late.saturating_add(other.streams_late),
            late_max: self.late_max.max(other.late_max),
            gap_max: self.gap_max.max(other.gap_max),
            ahead_min,
        }
    }
}
