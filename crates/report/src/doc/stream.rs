//! Streams in a document: what was asked for, and whether frames were there in time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::Nanos;
use smbench_model::load::stream::{FrameStream, StreamLayout, StreamStart};
use smbench_model::record::FrameTally;

use super::named::Named;

/// A stream of frames. Each client has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct StreamDoc {
    /// Bytes of a frame.
    pub frame_bytes: u32,
    /// Frames per second of each stream.
    pub frames_per_s: f64,
    /// Frames that a stream is ahead of its clock at most.
    pub read_ahead_frames: u32,
    /// Where the frames are: `one file` or `file per frame`.
    pub layout: Named<StreamLayout>,
    /// When the clocks began: `spread` over a frame time, or `together`.
    pub start: Named<StreamStart>,
}

impl StreamDoc {
    /// Returns how much is in a full buffer, in nanoseconds.
    pub(crate) fn full_ns(&self) -> f64 {
        f64::from(self.read_ahead_frames) / self.frames_per_s * 1e9
    }
}

impl From<&FrameStream> for StreamDoc {
    fn from(stream: &FrameStream) -> Self {
        Self {
            frame_bytes: stream.frame_bytes,
            frames_per_s: stream.frames_per_s,
            read_ahead_frames: stream.read_ahead,
            layout: Named::Known(stream.layout),
            start: Named::Known(stream.start),
        }
    }
}

/// Frames that were due in the window, so that their operations could begin. It does not matter
/// when they were done. A frame in a file of its own is done when the file is closed. A frame has
/// its instant `read_ahead_frames` frame times after it is due.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamsDoc {
    /// Number of frames, without those that had not begun when the load ended and whose instants
    /// came after that.
    pub frames: u64,
    /// Frames that were not done by their instants, with those that never were.
    pub late: u64,
    /// The late frames as a share of all, 0 to 1. Absent without frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_share: Option<f64>,
    /// Late frames that failed, or were not done before the end of the load.
    pub missing: u64,
    /// Streams with a late frame.
    pub streams_late: u64,
    /// Longest time after its instant at which a frame was done, in nanoseconds. 0 if no
    /// frame was late.
    pub longest_late_ns: u64,
    /// Longest time of a stream without a new frame, in nanoseconds. A frame that is done before
    /// its instant is new at its instant.
    pub longest_gap_ns: u64,
    /// Shortest time before its instant at which a frame was done, in nanoseconds: what was left
    /// in the emptiest buffer. 0 if a frame was late. Absent without frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_buffered_ns: Option<u64>,
}

impl From<FrameTally> for StreamsDoc {
    fn from(tally: FrameTally) -> Self {
        let FrameTally {
            frames,
            late,
            missing,
            streams_late,
            late_max,
            gap_max,
            ahead_min,
        } = tally;
        Self {
            frames,
            late,
            late_share: (frames > 0).then(|| late as f64 / frames as f64),
            missing,
            streams_late,
            longest_late_ns: late_max.0,
            longest_gap_ns: gap_max.0,
            least_buffered_ns: ahead_min.map(|ahead| ahead.0),
        }
    }
}

impl StreamsDoc {
    /// Returns the frames of several load points together; `None` if there are none.
    #[must_use]
    pub(crate) fn of_all(parts: impl IntoIterator<Item = Self>) -> Option<Self> {
        let parts = parts.into_iter().map(|part| FrameTally {
            frames: part.frames,
            late: part.late,
            missing: part.missing,
            streams_late: part.streams_late,
            late_max: Nanos(part.longest_late_ns),
            gap_max: Nanos(part.longest_gap_ns),
            ahead_min: part.least_buffered_ns.map(Nanos),
        });
        parts.reduce(|one, other| one + other).map(Self::from)
    }
}
