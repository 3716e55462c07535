//! The `stream` table as written: frames that must be read or written by their instants.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::load::stream::{FrameDepth, FrameFormat, StreamLayout, StreamStart};
use crate::units::Size;

/// The `stream` table.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamSpec {
    /// Bytes of a frame. `format` may be given instead.
    pub frame: Option<Size>,
    /// The picture of a frame: `2k` (2048 x 1080), `uhd` (3840 x 2160) or `4k`
    /// (4096 x 2160).
    pub format: Option<FrameFormat>,
    /// How the pixels of a format are stored: `8 bit` (3 bytes), `10 bit` (4 bytes, when
    /// absent) or `half float` (6 bytes).
    pub depth: Option<FrameDepth>,
    /// Frames per second.
    pub fps: f64,
    /// `one file` (when absent) or `file per frame`.
    #[serde(default)]
    pub layout: StreamLayout,
    /// Frames that a stream is ahead of its clock at most; 4 when absent.
    pub read_ahead: Option<u32>,
    /// When the clocks of clients begin: `spread` over a frame time (when absent), or
    /// `together`.
    #[serde(default)]
    pub start: StreamStart,
    /// Frames in the files of a client, after which it begins again; those of a second when
    /// absent.
    pub frames: Option<u32>,
}
