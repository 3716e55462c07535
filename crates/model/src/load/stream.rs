//! Streams: each client reads or writes a frame by each instant of a clock, as an editing
//! system plays or records pictures. Not here: the keys of a profile ([`crate::spec`]).
//!
//! Frame k of a client is due, so that its operation may begin, k frame times after the client
//! has begun. It must be done [`FrameStream::read_ahead`] frame times later, at its instant. A
//! reader then never holds more than these frames, and a writer never owes more. A frame in a file
//! of its own is done with the answer of the CLOSE.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The highest frame rate.
pub const FRAMES_PER_S_MAX: f64 = 10_000.0;
/// The most frames that a stream is ahead of its clock.
pub const READ_AHEAD_MAX: u32 = 1000;
/// Frames that a stream is ahead of its clock, if nothing else is asked for.
const READ_AHEAD: u32 = 4;

/// The streams of a population: each client is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameStream {
    /// Bytes of a frame.
    pub frame_bytes: u32,
    /// Frames per second, more than 0 and at most [`FRAMES_PER_S_MAX`].
    pub frames_per_s: f64,
    /// Frames that a stream is ahead of its clock at most, 1 to [`READ_AHEAD_MAX`].
    pub read_ahead: u32,
    /// Where the frames are.
    pub layout: StreamLayout,
    /// When the clocks of clients begin.
    pub start: StreamStart,
}

impl FrameStream {
    /// Returns the default number of frames that a stream is ahead of its clock.
    #[must_use]
    pub const fn usual_read_ahead() -> u32 {
        READ_AHEAD
    }

    /// Returns the nanoseconds from one frame to the next.
    #[must_use]
    pub fn frame_time_ns(&self) -> f64 {
        1e9 / self.frames_per_s
    }

    /// Returns the nanoseconds that a frame has, from when it is due to its instant.
    #[must_use]
    pub fn buffered_ns(&self) -> f64 {
        self.frame_time_ns() * f64::from(self.read_ahead)
    }
}

/// Where the frames of a stream are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StreamLayout {
    /// One after another in a file.
    #[default]
    #[serde(rename = "one file")]
    OneFile,
    /// Each in a file of its own, which is opened and closed for it.
    #[serde(rename = "file per frame")]
    FilePerFrame,
}

impl fmt::Display for StreamLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneFile => "one file",
            Self::FilePerFrame => "file per frame",
        })
    }
}

/// When the clocks of streams begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StreamStart {
    /// Evenly over one frame time.
    #[default]
    Spread,
    /// At the same time.
    Together,
}

impl fmt::Display for StreamStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Spread => "spread",
            Self::Together => "together",
        })
    }
}

/// The picture of a frame, which gives its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FrameFormat {
    /// 2048 x 1080.
    #[serde(rename = "2k")]
    TwoK,
    /// 3840 x 2160.
    Uhd,
    /// 4096 x 2160.
    #[serde(rename = "4k")]
    FourK,
}

impl FrameFormat {
    /// All formats with their names.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::TwoK, "2k"), (Self::Uhd, "uhd"), (Self::FourK, "4k")];

    /// Returns width and height in pixels.
    #[must_use]
    pub const fn pixels(self) -> (u32, u32) {
        match self {
            Self::TwoK => (2048, 1080),
            Self::Uhd => (3840, 2160),
            Self::FourK => (4096, 2160),
        }
    }

    /// Returns the bytes of a frame.
    #[must_use]
    pub const fn bytes(self, depth: FrameDepth) -> u32 {
        let (width, height) = self.pixels();
        width * height * depth.bytes_per_pixel()
    }
}

/// How each pixel of a frame is stored, uncompressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FrameDepth {
    /// Three bytes.
    #[serde(rename = "8 bit")]
    Eight,
    /// Three values of 10 bits in a word of four bytes, as in DPX.
    #[default]
    #[serde(rename = "10 bit")]
    Ten,
    /// Three half floats of two bytes, as in OpenEXR.
    #[serde(rename = "half float")]
    HalfFloat,
}

impl FrameDepth {
    /// All depths: the part of a profile's name, and the value in profiles.
    pub const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::Eight, "8bit", "8 bit"),
        (Self::Ten, "10bit", "10 bit"),
        (Self::HalfFloat, "half", "half float"),
    ];

    /// Returns the bytes of a pixel.
    #[must_use]
    pub const fn bytes_per_pixel(self) -> u32 {
        match self {
            Self::Eight => 3,
            Self::Ten => 4,
            Self::HalfFloat => 6,
        }
    }
}

/// A problem with a stream, and how to correct it.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum StreamProblem {
    /// Another key describes the same.
    #[error("stream and {0} are both given: drop one of them")]
    Beside(&'static str),
    /// There is no size of a frame, or there are two.
    #[error("a stream needs frame, such as \"25MiB\", or format, and not both")]
    Frame,
    /// A depth has no meaning without a format.
    #[error("depth means nothing without format: give that as well, or drop it")]
    Depth,
    /// The frame has no bytes.
    #[error("the frame is 0: it must be at least 1 byte")]
    FrameZero,
    /// The frame rate is out of bounds.
    #[error("fps is {0}: it must be more than 0 and at most {FRAMES_PER_S_MAX}")]
    Rate(f64),
    /// The number of frames ahead is out of bounds.
    #[error("read_ahead is {0}: give 1 to {READ_AHEAD_MAX} frames")]
    ReadAhead(u32),
    /// The number of frames in files is out of bounds.
    #[error("frames is {0}: give the frames of each client's files, 1 to {1}")]
    Frames(u32, u32),
    /// A client cannot read and write frames in files of their own.
    #[error(
        "read_percent is {0}: with a file per frame, give 100 to read all streams or 0 to write them"
    )]
    Mixed(f64),
    /// The window of a stream has a fixed length.
    #[error("a stream has a window of a fixed length: drop until_steady")]
    UntilSteady,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_frames_follow_from_pixels() {
        use FrameDepth::{Eight, HalfFloat, Ten};
        use FrameFormat::{FourK, TwoK, Uhd};
        for (format, depth, bytes) in [
            (TwoK, Eight, 6_635_520),
            (TwoK, Ten, 8_847_360),
            (TwoK, HalfFloat, 13_271_040),
            (Uhd, Eight, 24_883_200),
            (Uhd, Ten, 33_177_600),
            (Uhd, HalfFloat, 49_766_400),
            (FourK, Eight, 26_542_080),
            (FourK, Ten, 35_389_440),
            (FourK, HalfFloat, 53_084_160),
        ] {
            assert_eq!(format.bytes(depth), bytes);
        }
    }

    #[test]
    fn a_frame_has_the_time_of_the_frames_ahead() {
        let stream = FrameStream {
            frame_bytes: 1,
            frames_per_s: 25.0,
            read_ahead: 3,
            layout: StreamLayout::OneFile,
            start: StreamStart::Spread,
        };
        assert_eq!(stream.frame_time_ns(), 40e6);
        assert_eq!(stream.buffered_ns(), 120e6);
    }
}
