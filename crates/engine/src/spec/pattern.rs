//! One `[[pattern]]` table as written: a line of an access specification, as in
//! Iometer's `.icf` files.

use std::time::Duration;

use serde::Deserialize;

use crate::units::Size;

/// One `[[pattern]]` table.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatternSpec {
    /// Bytes per request.
    pub size: Size,
    /// Percent of the bursts that are of this line.
    pub weight: f64,
    /// Share of reads, 0 to 100.
    pub reads: f64,
    /// Share of random places, 0 to 100.
    pub random: f64,
    /// What passes before each burst; nothing when absent.
    #[serde(default, deserialize_with = "super::duration")]
    pub delay: Option<Duration>,
    /// Requests of a burst; 1 when absent.
    #[serde(default)]
    pub burst: Option<u32>,
    /// What places are multiples of; 0 and absent is a sector of 512 bytes.
    #[serde(default)]
    pub align: Option<Size>,
    /// Bytes that answer each request in the other direction; none when absent.
    #[serde(default)]
    pub reply: Option<Size>,
}
