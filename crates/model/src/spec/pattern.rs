//! One `[[pattern]]` table as written: a line of an access specification, as in
//! Iometer's `.icf` files.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::units::Size;

/// One `[[pattern]]` table.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatternSpec {
    /// Bytes per request.
    pub size: Size,
    /// Percent of the bursts that use this line.
    pub weight: f64,
    /// Percent of the requests that read, 0 to 100.
    pub reads: f64,
    /// Percent of the requests that go to a random offset, 0 to 100.
    pub random: f64,
    /// Pause before each burst; none when absent.
    #[serde(default, deserialize_with = "crate::options::duration")]
    #[schemars(with = "Option<String>")]
    pub delay: Option<Duration>,
    /// Requests in a burst; 1 when absent.
    #[serde(default)]
    pub burst: Option<u32>,
    /// Alignment of offsets. When 0 or absent it is a sector of 512 bytes.
    #[serde(default)]
    pub align: Option<Size>,
    /// Bytes of the reply to each request, in the other direction; no reply when
    /// absent.
    #[serde(default)]
    pub reply: Option<Size>,
}
